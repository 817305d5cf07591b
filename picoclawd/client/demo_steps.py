"""The steps of `picoclawctl demo`: two scripted agents at work, each step checking what it promises.

To extend the demo, write a function like those below and add it to `STEPS`. A step says what happens, lets the
agents act through `Stage`, and calls `stage.check` for each promise.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from picoclawd.client.failures import RpcError
from picoclawd.client.scratch import Scratch
from picoclawd.client.wire import Connection

CALL_TIMEOUT_S = 20.0  # nothing here takes a tenth of a second
_POLL_S = 0.02


class BrokenPromise(Exception):
    """A step's check that did not hold."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One scripted agent: its name and its own connection."""

    name: str
    connection: Connection

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """Call one method as this agent."""
        return self.connection.call(method, params, CALL_TIMEOUT_S)


@dataclass(slots=True)
class Stage:
    """Where the steps play: the daemon, the agents, and `say(who, text)`, which shows what happens."""

    scratch: Scratch
    ada: Agent
    bob: Agent
    say: Callable[[str, str], None]
    checks: int = field(default=0)

    def does(self, agent: Agent, method: str, **params: Any) -> Any:
        """Show a call, make it, show its content, and return the result."""
        self.say(agent.name, call_line(method, params))
        result = agent.call(method, params)
        self.say("", str(result["content"]))
        return result

    def is_refused(self, agent: Agent, slug: str, method: str, **params: Any) -> RpcError:
        """Show a call that must fail with `slug`, and return its error."""
        self.say(agent.name, call_line(method, params))
        try:
            agent.call(method, params)
        except RpcError as error:
            self.say("refused", f"[{error.slug}] {error.message}")
            self.check(error.slug == slug, f"refused as {slug}, not {error.slug}")
            return error
        raise BrokenPromise(f"refused as {slug}; it was allowed")

    def check(self, holds: bool, promise: str) -> None:
        """Count a promise that held.

        Raises:
            BrokenPromise: it did not.
        """
        if not holds:
            raise BrokenPromise(promise)
        self.checks += 1

    def write(self, name: str, text: str) -> None:
        """Put a file into the workspace as a person would, past the daemon."""
        with open(os.path.join(self.scratch.workspace, name), "w", encoding="utf-8") as file:
            file.write(text)

    def text(self, name: str) -> str:
        """What a file of the workspace holds on disk."""
        with open(os.path.join(self.scratch.workspace, name), encoding="utf-8") as file:
            return file.read()


def call_line(method: str, params: dict[str, Any]) -> str:
    """A call on one line, long values cut."""
    shown = (f"{key}={str(value)[:40]!r}" for key, value in params.items())
    return f"{method}({', '.join(shown)})"


def edit_with_diff(stage: Stage) -> None:
    """An edit answers with its diff"""
    stage.write("server.py", "HOST = 'localhost'\nPORT = 8000\nDEBUG = True\n")
    result = stage.does(stage.ada, "edit_file", path="server.py", old_text="PORT = 8000", new_text="PORT = 8443")
    stage.check("-PORT = 8000" in result["content"], "the diff shows the removed line")
    stage.check("+PORT = 8443" in result["content"], "the diff shows the added line")
    stage.check(stage.text("server.py") == "HOST = 'localhost'\nPORT = 8443\nDEBUG = True\n", "the file is edited")


def stale_edit(stage: Stage) -> None:
    """Bob edits what he read before Ada changed it: refused, nothing lost"""
    read = stage.does(stage.bob, "read_file", path="server.py")
    stage.does(stage.ada, "edit_file", path="server.py", old_text="DEBUG = True", new_text="DEBUG = False")
    before = stage.text("server.py")
    edit = {"path": "server.py", "old_text": "DEBUG = True", "new_text": "DEBUG = None"}
    stage.is_refused(stage.bob, "conflict", "edit_file", **edit, if_match=read["data"]["sha256"])
    stage.is_refused(stage.bob, "no_match", "edit_file", **edit)
    stage.check(stage.text("server.py") == before, "Ada's edit is untouched")


def edit_after_a_stale_read(stage: Stage) -> None:
    """Bob's edit would fit, but what he has read is stale: he is told who changed it, and how"""
    stage.does(stage.bob, "read_files", files=[{"path": "server.py"}])
    stage.does(stage.ada, "edit_file", path="server.py", old_text="'localhost'", new_text="'0.0.0.0'")
    before = stage.text("server.py")
    target = {"old_string": "DEBUG = False", "new_string": "DEBUG = None"}
    error = stage.is_refused(stage.bob, "not_fresh", "edit_file", path="server.py", targets=[target])
    stage.check("demo:ada" in str(error.data) + error.message, "he is told that it was Ada")
    stage.check("+HOST = '0.0.0.0'" in error.message, "and what she changed")
    stage.check(stage.text("server.py") == before, "nothing is written")
    stage.does(stage.bob, "read_files", files=[{"path": "server.py"}])
    stage.does(stage.bob, "edit_file", path="server.py", targets=[target])
    stage.check("'0.0.0.0'" in stage.text("server.py"), "read again, his edit goes through and hers stays")


def overwrite_asked_for(stage: Stage) -> None:
    """A file is not overwritten unless that is asked for"""
    before = stage.text("server.py")
    stage.is_refused(stage.bob, "file_exists", "write_file", path="server.py", content="print('hello')\n")
    stage.check(stage.text("server.py") == before, "the file is untouched")


def escape(stage: Stage) -> None:
    """A link out of the workspace leads nowhere"""
    outside = stage.scratch.outside
    with open(os.path.join(outside, "diary.txt"), "w", encoding="utf-8") as file:
        file.write("dear diary\n")
    os.symlink(outside, os.path.join(stage.scratch.workspace, "shortcut"))
    stage.is_refused(stage.bob, "outside_workspace", "read_file", path="shortcut/diary.txt")
    stage.is_refused(stage.bob, "outside_workspace", "write_file", path="shortcut/new.txt", content="hello")
    stage.is_refused(stage.bob, "outside_workspace", "append_file", path="../outside/diary.txt", content="hello")
    stage.check(os.listdir(outside) == ["diary.txt"], "nothing was created outside")


def masked_secret(stage: Stage) -> None:
    """A secret in a file is masked for agents, not for the person"""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3  # the shape of a token, not a token
    stage.write("deploy.cfg", f"token = {secret}\nregion = north\n")
    seen = stage.does(stage.ada, "read_file", path="deploy.cfg")
    stage.check(secret not in seen["content"] and "[FILTERED]" in seen["content"], "the agent sees no secret")
    stage.check("region = north" in seen["content"], "the agent sees the rest")
    with stage.scratch.connect("operator") as person:
        verbatim = person.call("read_file", {"path": "deploy.cfg"}, CALL_TIMEOUT_S)
    stage.check(secret in verbatim["content"], "the person's socket shows the file as it is")
    stage.does(stage.ada, "edit_file", path="deploy.cfg", old_text="region = north", new_text="region = south")
    stage.check(stage.text("deploy.cfg") == f"token = {secret}\nregion = south\n", "an edit keeps the secret")


def shared_log(stage: Stage) -> None:
    """Both append to one file: every line is there, once"""
    for agent in (stage.ada, stage.bob):
        stage.does(agent, "append_file", path="log.txt", content=f"{agent.name} was here\n")
    stage.check(stage.text("log.txt") == "ada was here\nbob was here\n", "both lines are there")


def fresh_search(stage: Stage) -> None:
    """Bob's search finds what Ada wrote a moment ago, and what a person saved past the daemon"""
    stage.does(stage.ada, "write_file", path="notes/plan.md", content="first\nthe harbour at noon\n")
    found = stage.does(stage.bob, "search_files", pattern="harbour")
    row = {"path": "notes/plan.md", "line": 2, "text": "the harbour at noon"}
    stage.check(found["data"]["results"] == [row], "Bob finds the line")
    named = stage.does(stage.bob, "search_files", pattern="plan", target="files")
    stage.check(named["data"]["results"] == [{"path": "notes/plan.md"}], "and the file by its name")
    stage.does(stage.ada, "edit_file", path="notes/plan.md", old_text="harbour", new_text="station")
    gone = stage.does(stage.bob, "search_files", pattern="harbour")
    stage.check(gone["data"]["results"] == [], "once Ada edited it, it is found no more")
    stage.write("letter.txt", "see you at the harbour\n")
    again = stage.does(stage.bob, "search_files", pattern="harbour", output_mode="files_only")
    stage.check(again["data"]["results"] == [{"path": "letter.txt"}], "what a person saved is found at once")


def asked_first(stage: Stage) -> None:
    """Ada wants to remove a file: nothing happens until the person allows it, here from a second connection"""
    stage.write("old.log", "nobody needs this\n")
    stage.write("thesis.txt", "three years of work\n")
    for name, answer in (("old.log", "once"), ("thesis.txt", "deny")):
        with ThreadPoolExecutor(1) as pool, stage.scratch.connect("operator") as person:
            call = pool.submit(stage.ada.call, "remove_file", {"path": name})
            stage.say("ada", call_line("remove_file", {"path": name}))
            request = _asked(stage, person)
            is_there = os.path.exists(os.path.join(stage.scratch.workspace, name))
            stage.say("person", f"{answer}: {request['call']} for {request['client']}")
            given = {"id": request["id"], "digest": request["digest"], "answer": answer}
            person.call("approvals.answer", given, CALL_TIMEOUT_S)
            failure = call.exception(CALL_TIMEOUT_S)
        stage.check(is_there, "while it is asked for, the file is there")
        if failure is None:
            stage.say("", str(call.result()["content"]))
        else:
            stage.say("refused", f"[{getattr(failure, 'slug', '?')}] {failure}")
        stage.check((failure is None) is (answer == "once"), "what the person says is what happens")
    stage.check(sorted(_names(stage, ("old.log", "thesis.txt"))) == ["thesis.txt"], "the allowed one is in the trash")


def undone(stage: Stage) -> None:
    """Bob makes a mess in three files; the person undoes his whole task"""
    stage.write("poem.txt", "roses are red\n")
    stage.write("song.txt", "la la la\n")
    task = stage.bob.call("task.begin", {"objective": "improve the poem"})["task_id"]
    stage.does(stage.bob, "edit_file", path="poem.txt", old_text="roses", new_text="rockets")
    stage.does(stage.bob, "write_file", path="song.txt", content="beep\n", overwrite=True)
    stage.does(stage.bob, "write_file", path="notes.bak", content="temporary\n")
    with stage.scratch.connect("operator") as connection:
        person = Agent("person", connection)
        stage.does(person, "file_history", task_id=task)
        stage.does(person, "restore_file", task_id=task)
    stage.check(stage.text("poem.txt") == "roses are red\n", "the poem is back")
    stage.check(stage.text("song.txt") == "la la la\n", "so is the song")
    stage.check(_names(stage, ("notes.bak",)) == [], "what he created is gone")
    stage.bob.call("task.end", {})


def _asked(stage: Stage, person: Connection) -> Any:
    """The one request that waits for the person, as soon as it is there."""
    deadline = time.monotonic() + CALL_TIMEOUT_S
    while time.monotonic() < deadline:
        if pending := person.call("approvals.list", {}, CALL_TIMEOUT_S)["pending"]:
            stage.check(len(pending) == 1, "one request waits")
            return pending[0]
        time.sleep(_POLL_S)
    raise BrokenPromise("the person is asked")


def _names(stage: Stage, names: tuple[str, ...]) -> list[str]:
    """Those of these files that are there."""
    return [name for name in names if os.path.lexists(os.path.join(stage.scratch.workspace, name))]


STEPS: tuple[Callable[[Stage], None], ...] = (
    edit_with_diff,
    stale_edit,
    edit_after_a_stale_read,
    overwrite_asked_for,
    escape,
    masked_secret,
    shared_log,
    fresh_search,
    asked_first,
    undone,
)
