"""V11, what agents do: scenes of a few calls each, every tool in every form, every answer the one that is expected.

Whether an answer is right in every detail is for the tools' own tests; here it is the same one in the thousandth hour.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.daemon import Client, Daemon, RpcError

DENIED, UNANSWERED = "denied", "unanswered"  # what a person says no or nothing to has this in its name
_TIMEOUT_S = 60.0
_LINES = "".join(f"line {number}\n" for number in range(30))


class Agent:
    """One client with a directory of its own; `step` is called before each call, `done` counts them."""

    def __init__(self, daemon: Daemon, name: str, step: Callable[[], None], done: Counter[str]) -> None:
        self.daemon = daemon
        self.name = name
        self._step = step
        self._done = done
        self._count = 0
        self.client = self.connect()
        (daemon.root / name).mkdir(exist_ok=True)

    def close(self) -> None:
        """Leave."""
        self.client.close()

    def connect(self) -> Client:
        """A further connection, which its user closes."""
        return Client(self.daemon.agent_socket, _TIMEOUT_S)

    def fresh(self, suffix: str = ".txt") -> str:
        """A name that nothing ever had, in this agent's directory."""
        self._count += 1
        return f"{self.name}/{self.name}-{self._count}{suffix}"

    def on_disk(self, path: str) -> Path:
        """Where that is."""
        return self.daemon.root / path

    def ok(self, method: str, **params: Any) -> dict[str, Any]:
        """A call that must succeed."""
        self._step()
        answer = self.client.call(method, **params)
        self._done["calls"] += 1
        return answer

    def data(self, method: str, **params: Any) -> dict[str, Any]:
        """The data of a tool's call that must succeed."""
        data = self.ok(method, **params)["data"]
        assert isinstance(data, dict)
        return data

    def refused(self, slug: str, method: str, **params: Any) -> RpcError:
        """A call that must be refused with this slug."""
        self._step()
        error = self.client.error(method, **params)
        assert error.slug == slug, f"{method}: {slug} was expected, not {error}"
        self._done["refusals"] += 1
        return error

    def started(self, client: Client, method: str, **params: Any) -> int:
        """A call that is not waited for."""
        self._step()
        return client.start(method, params)

    def until_asked(self, path: str) -> None:
        """Wait until a person sees the request about a path."""
        end = time.monotonic() + _TIMEOUT_S
        with Client(self.daemon.operator_socket, _TIMEOUT_S) as operator:
            while not any(row["path"].endswith(path) for row in operator.call("approvals.list")["pending"]):
                assert time.monotonic() < end, f"nobody is asked about {path}"
                time.sleep(0.01)


def write(agent: Agent) -> None:
    """write_file in each of its ways, read back in both modes."""
    path = agent.fresh()
    assert agent.data("write_file", path=path, content="one\n")["action"] == "created"
    assert agent.data("write_file", path=path, content="one\n")["action"] == "unchanged"
    assert agent.data("write_file", path=path, content="one\ntwo\n")["action"] == "appended"
    agent.refused("file_exists", "write_file", path=path, content="else\n")
    assert agent.data("write_file", path=path, content=_LINES, overwrite=True)["action"] == "overwritten"
    agent.refused("conflict", "write_file", path=path, content="x", overwrite=True, if_match="0" * 64)
    assert agent.ok("read_file", path=path)["content"].endswith(_LINES)
    assert agent.data("read_file", path=path, mode="lines", start_line=29)["end_line"] == 30
    assert agent.data("read_file", path=path, offset=5, length=5)["next"] == 10
    agent.on_disk(path).unlink()
    agent.refused("not_found", "read_file", path=path)


def edit(agent: Agent) -> None:
    """edit_file in its four forms, and what it refuses."""
    path = agent.fresh()
    agent.ok("edit_file", path=path, content=_LINES)
    agent.ok("edit_file", path=path, old_text="line 7\n", new_text="seven\n")
    agent.ok("edit_file", path=path, patch="@@\n line 8\n-line 9\n+nine\n line 10\n")
    targets = [{"old_string": "seven", "new_string": "7"}, {"old_string": "line 2", "new_string": "2nd"}]
    agent.refused("ambiguous_match", "edit_file", path=path, targets=targets)
    targets[1]["replace_all"] = True  # type: ignore[assignment]
    agent.ok("edit_file", path=path, targets=targets)
    agent.refused("no_match", "edit_file", path=path, old_text="line 2\n", new_text="")
    agent.refused("patch_rejected", "edit_file", path=path, patch="@@\n-not there\n+x\n")
    agent.refused(
        "would_empty",
        "edit_file",
        path=path,
        targets=[{"old_string": agent.on_disk(path).read_text(), "new_string": ""}],
    )
    found = agent.on_disk(path)
    assert found.read_text() == _LINES.replace("line 2", "2nd").replace("line 7", "7").replace("line 9\n", "nine\n")
    found.write_text("saved by somebody else\n")
    assert agent.refused("not_fresh", "edit_file", path=path, content="x\n").data["changed_by"] == "outside"
    agent.ok("read_files", files=[{"path": path}])
    agent.ok("edit_file", path=path, content="x\n")
    found.unlink()


def append(agent: Agent) -> None:
    """append_file, also to a file with a second name."""
    path = agent.fresh(".log")
    sizes = [agent.data("append_file", path=path, content="entry\n")["size"] for _ in range(3)]
    assert sizes == [6, 12, 18]
    found = agent.on_disk(path)
    os.link(found, found.with_suffix(".twin"))
    agent.refused("hardlink_refused", "append_file", path=path, content="entry\n")
    found.with_suffix(".twin").unlink()
    found.unlink()


def look_around(agent: Agent) -> None:
    """list_dir, of what stays."""
    names = [entry["name"] for entry in agent.data("list_dir", path="standing")["entries"]]
    assert names == ["dot.png", "letter.docx", "table.csv", "wide.txt"]
    page = agent.data("list_dir", path="tree/t1/u1", limit=3, offset=2)
    assert (len(page["entries"]), page["total"], page["next_offset"]) == (3, 20, 5)
    agent.refused("not_found", "list_dir", path="nowhere")
    agent.refused("not_a_directory", "list_dir", path=".gitignore")


def search(agent: Agent) -> None:
    """search_files, contents and names, in its ways to tell."""
    found = agent.data("search_files", pattern="^landmark line 0 ", path="tree", limit=200)
    assert len(found["results"]) == 60 and found["complete"], found
    assert len(agent.data("search_files", pattern="line 0 of file 77$", context=2)["results"]) == 1
    counted = agent.data(
        "search_files", pattern="landmark", path="tree/t0", output_mode="count", order="modified", limit=99
    )
    assert sum(row["count"] for row in counted["results"]) == sum(5 + number % 40 for number in range(0, 3000, 50))
    named = agent.data("search_files", pattern="f77.txt", target="files", consistency="watched")
    assert [row["path"] for row in named["results"]] == ["tree/t7/u7/f77.txt"]
    only = agent.data("search_files", pattern="line 1 ", file_glob="f1?.txt", output_mode="files_only", path="tree")
    assert len(only["results"]) == 10
    agent.refused("invalid_params", "search_files", pattern="(")


def own_word(agent: Agent) -> None:
    """A search sees what was written before it was asked, and no more what was removed."""
    path = agent.fresh()
    word = path.rsplit("/", 1)[1].replace(".txt", "-word")
    agent.ok("write_file", path=path, content=f"here is {word}\n")
    for consistency in ("verified", "watched"):
        found = agent.data("search_files", pattern=word, consistency=consistency)["results"]
        assert [row["path"] for row in found] == [path], found
    agent.on_disk(path).unlink()
    assert agent.data("search_files", pattern=word)["results"] == []


def find(agent: Agent) -> None:
    """find_files in its three modes, and a page after the first."""
    listed = agent.data("find_files", queries=[{"dir": "standing"}])
    assert (listed["mode"], listed["total"]) == ("list", 4)
    assert agent.data("find_files", queries=[{"dir": "tree", "pattern": "f12*.txt"}])["total"] == 111
    query = {"dir": "tree", "pattern": "landmark", "file_pattern": "*.txt"}
    first = agent.data("find_files", queries=[query], limit=40)
    rest = agent.data("find_files", queries=[query], limit=40, offset=40)
    assert (first["total"], len(first["results"]), len(rest["results"])) == (60, 40, 20)
    spanning = {"dir": "tree/t0", "pattern": "line 0 of file 0\nlandmark", "file_pattern": "*"}
    rows = agent.data("find_files", queries=[spanning], multiline=True, output="content", context=1)["results"]
    assert [row["line"] for row in rows if not row.get("context")] == [1, 2], rows
    agent.refused("invalid_params", "find_files", queries=[{"pattern": "**/*"}])


def read_many(agent: Agent) -> None:
    """read_files, of a text, a table, a document, a picture, and what is not there."""
    names = ("tree/t7/u7/f77.txt", "table.csv", "letter.docx", "dot.png", "gone.txt")
    paths = [name if "/" in name else f"standing/{name}" for name in names]
    files = agent.data("read_files", files=[{"path": path} for path in paths])["files"]
    assert [file["format"] for file in files] == ["text", "csv", "docx", "png", None], files
    assert [bool(file["error"]) for file in files] == [False] * 4 + [True], files
    around = agent.ok("read_files", files=[{"path": "standing/wide.txt", "around": [5, 300], "context": 1}])
    assert "wide 299 " in around["content"] and "wide 100 " not in around["content"]


def spill(agent: Agent) -> None:
    """An answer that is too long goes to a file, which can be read."""
    data = agent.data("search_files", pattern="^wide", path="standing", limit=200)
    assert data["spilled"] is True
    agent.ok("read_file", path=data["artifact"])


def remove(agent: Agent) -> None:
    """remove_file and restore_file, which a person allows, and one that the person denies."""
    path = agent.fresh()
    agent.ok("write_file", path=path, content="precious\n")
    removed = agent.data("remove_file", path=path)
    assert removed["restorable"] and not agent.on_disk(path).exists()
    (row,) = agent.data("restore_file", version=removed["version"])["files"]
    assert row.get("error") is None and agent.on_disk(path).read_text() == "precious\n", row
    kept = agent.fresh(f".{DENIED}")
    agent.ok("write_file", path=kept, content="stays\n")
    agent.refused("confirmation_denied", "remove_file", path=kept)
    agent.on_disk(kept).unlink()
    agent.ok("remove_file", path=path)
    agent.refused("unknown_version", "restore_file", version=1 << 50)


def task(agent: Agent) -> None:
    """A task is begun, asked about, undone and ended."""
    begun = agent.ok("task.begin", objective="soak a file")
    paths = [agent.fresh(), agent.fresh(".asked")]
    for path in paths:
        agent.ok("write_file", path=path, content="by a task\n")
    agent.ok("edit_file", path=paths[0], old_text="by a", new_text="by one")
    listed = agent.data("file_history", task_id="current")["versions"]
    assert [row["action"] for row in listed] == ["modify", "create", "create"], listed
    undone = agent.data("restore_file", task_id="current")["files"]
    assert [row.get("error") for row in undone] == [None, None], undone
    assert not any(agent.on_disk(path).exists() for path in paths)
    assert agent.ok("task.end")["task_id"] == begun["task_id"]
    agent.refused("unknown_task", "task.end")


def history(agent: Agent) -> None:
    """file_history, as a list and against the disk."""
    path = agent.fresh()
    agent.ok("write_file", path=path, content="first\n")
    version = agent.data("edit_file", path=path, old_text="first", new_text="second")["version"]
    rows = agent.data("file_history", path=path)["versions"]
    assert [row["action"] for row in rows] == ["modify", "create"] and rows[0]["version"] == version
    agent.on_disk(path).write_text("third\n")
    drifted = agent.ok("file_history", mode="read", path=path)
    assert "-second" in drifted["content"] and "+third" in drifted["content"]
    created = agent.ok("file_history", mode="read", path=path, version=rows[1]["version"], content=True)
    assert "first" in created["content"]
    agent.on_disk(path).unlink()


def subscribe(agent: Agent) -> None:
    """Events come, can be asked for later, and end."""
    path = agent.fresh()
    begun = agent.ok("events.subscribe", kinds=["file.changed"], paths=[path.rsplit("/", 1)[1]])
    agent.ok("write_file", path=path, content="new\n")
    agent.on_disk(path).unlink()
    while len(agent.client.notes) < 2:
        agent.client.notes.append(agent.client.line())
    assert [note["params"]["action"] for note in agent.client.notes] == ["create", "delete"]
    page = agent.ok("changes.since", cursor=begun["cursor"])
    assert path in [change["path"] for change in page["changes"]]
    agent.ok("events.unsubscribe", subscription=begun["subscription"])
    agent.client.notes.clear()


def resume(agent: Agent) -> None:
    """A session outlives its connection, and knows what it has read; then it is closed for good."""
    path = agent.fresh()
    agent.on_disk(path).write_text("read before\n")
    opened = agent.ok("session.open", client=agent.name)
    agent.ok("read_file", path=path)
    agent.client.close()
    agent.client = agent.connect()
    end = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            resumed = agent.ok("session.open", resume=opened["resume"])
            break
        except RpcError as error:
            assert error.slug == "session_in_use" and time.monotonic() < end, error
    assert resumed["session_id"] == opened["session_id"]
    agent.ok("edit_file", path=path, content="known\n")
    agent.ok("session.close")
    agent.refused("unknown_session", "session.open", resume=opened["resume"])
    agent.on_disk(path).unlink()


def leave(agent: Agent) -> None:
    """Clients go in the middle of calls; what became of a change can be asked, and is true."""
    for method, params in (("search_files", {"pattern": "line"}), ("read_files", {"files": [{"path": "."}]})):
        with agent.connect() as client:
            agent.started(client, method, **params)
    path = agent.fresh()
    with agent.connect() as client:
        agent.started(client, "write_file", path=path, content="half gone\n", _meta={"op": path})
    end = time.monotonic() + _TIMEOUT_S
    while (outcome := agent.ok("outcome.get", op=path)["outcome"]) == "unknown":
        assert time.monotonic() < end, f"nobody knows what became of {path}"
    assert agent.on_disk(path).exists() == (outcome == "applied")
    agent.on_disk(path).unlink(missing_ok=True)
    with agent.connect() as client:
        agent.ok("ping")
        client.send(b'{"jsonrpc":"2.0","id":1,"method":"write_file","params":{"pa')


def cancel(agent: Agent) -> None:
    """A search is cancelled, a call that waits for a person too, and another such call is left by its client."""
    number = agent.started(agent.client, "search_files", pattern="line")
    answer = cancelled(agent.client, number)
    assert "result" in answer or answer["error"]["code"] == -32800, answer
    path = agent.fresh(f".{UNANSWERED}")
    agent.ok("write_file", path=path, content="stays\n")
    with agent.connect() as client:
        number = agent.started(client, "remove_file", path=path)
        agent.until_asked(path)
        assert cancelled(client, number)["error"]["code"] == -32800
        agent.started(client, "remove_file", path=path)
    assert agent.on_disk(path).read_text() == "stays\n"
    agent.on_disk(path).unlink()


def cancelled(client: Client, number: int) -> dict[str, Any]:
    """The answer of a call that its client wants no more."""
    client.send(b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}\n' % number)
    return client.answer(number)


def editor(agent: Agent) -> None:
    """A person's editor has unsaved text, then none."""
    path = agent.fresh()
    agent.ok("write_file", path=path, content="open\n")
    with Client(agent.daemon.operator_socket, _TIMEOUT_S) as person:
        person.call("editor.dirty", path=path)
        agent.refused("open_in_editor", "append_file", path=path, content="x\n")
        person.call("editor.clean", path=path)
        agent.ok("append_file", path=path, content="x\n")
        person.call("history.diff", path=path, **{"from": "2020-01-01"})
        person.call("workspace.status")
        person.call("metrics")
    agent.on_disk(path).unlink()


def mistakes(agent: Agent) -> None:
    """What is no request, or not allowed."""
    agent.refused("outside_workspace", "read_file", path="../out/x")
    agent.refused("protected_path", "write_file", path=".env", content="x")
    agent.refused("invalid_params", "read_file", path="x", colour="red")
    agent.refused("operator_only", "approvals.list")
    agent.client.send(b"no JSON\n")
    assert agent.client.line()["error"]["code"] == -32700
    batch = [{"jsonrpc": "2.0", "id": f"b{number}", "method": "ping"} for number in range(3)]
    agent.client.send(json.dumps(batch).encode() + b"\n")
    assert len(agent.client.line()) == 3
    assert agent.client.error("no_such_method").code == -32601
    agent.ok("tools.list")
    agent.ok("rpc.discover")


def open_for_person(agent: Agent) -> None:
    """open_file, of a file and, after a question, of a URL."""
    assert agent.data("open_file", path="standing/table.csv")["finished"] is True
    assert agent.data("open_file", url=f"https://example.org/{agent.fresh()}")["opener"] == "xdg-open"


SCENES: tuple[Callable[[Agent], None], ...] = (
    write,
    edit,
    append,
    look_around,
    search,
    own_word,
    find,
    read_many,
    spill,
    remove,
    task,
    history,
    subscribe,
    resume,
    leave,
    cancel,
    editor,
    mistakes,
    open_for_person,
)
