"""Several agents on one workspace: order, sharing, cancellation, and a real source tree."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Daemon


def together(workers: int, work: Callable[[int], None]) -> None:
    """Run `work(0..workers-1)` in threads; the first failure is raised."""
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work, number) for number in range(workers)]:
            done.result(timeout=100)


def test_requests_on_one_path_take_effect_in_the_order_sent(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        numbers = []
        for index in range(300):
            spelling = ("o.txt", "./o.txt", "d/../o.txt", str(daemon.root / "o.txt"))[index % 4]
            numbers.append(client.start("append_file", {"path": spelling, "content": f"{index}\n"}))
            if index % 50 == 0:
                numbers.append(client.start("read_file", {"path": spelling}))
        answers = {number: client.line() for number in numbers}
        assert all("result" in answer for answer in answers.values())
        assert (daemon.root / "o.txt").read_text().split() == [str(index) for index in range(300)]


def test_a_read_sent_before_a_write_does_not_see_it(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        daemon.write("f.txt", "old")
        for round_no in range(100):
            before = f"old{round_no}"
            daemon.write("f.txt", before)
            read = client.start("read_file", {"path": "f.txt"})
            write = client.start("write_file", {"path": "f.txt", "content": "new", "overwrite": True})
            answers = {message["id"]: message for message in (client.line(), client.line())}
            assert answers[read]["result"]["content"].endswith(before)
            assert answers[write]["result"]["data"]["success"]


def test_a_read_after_an_answered_write_sees_it_on_any_connection(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as writer, daemon.client() as reader:
        for round_no in range(200):
            writer.call("write_file", path="f.txt", content=f"{round_no:04}", overwrite=True)
            assert reader.call("read_file", path="f.txt")["content"].endswith(f"{round_no:04}")


def test_twenty_clients_editing_one_file_lose_nothing(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        daemon.write("m.txt", "".join(f"slot {number} = empty;\n" for number in range(20)))

        def work(number: int) -> None:
            with daemon.client() as client:
                client.call(
                    "edit_file", path="m.txt", old_text=f"slot {number} = empty;", new_text=f"slot {number} = full;"
                )
                for line in range(10):
                    client.call("append_file", path="log.txt", content=f"{number}-{line} {'x' * 200}\n")

        together(20, work)
        assert (daemon.root / "m.txt").read_text().count("full;") == 20
        lines = (daemon.root / "log.txt").read_text().splitlines()
        assert len(set(lines)) == len(lines) == 200


def test_a55_two_connections_edit_one_file_at_once(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        clients = [daemon.client() for _ in range(2)]
        for _ in range(100):
            path = daemon.write("f.txt", "a\nb\nc\n")
            begun = [
                (client, client.start("edit_file", {"path": "f.txt", "old_text": old, "new_text": old.upper()}))
                for client, old in zip(clients, "ac", strict=True)
            ]
            answers = [client.answer(number) for client, number in begun]
            assert all("result" in answer for answer in answers), answers
            assert path.read_text() == "A\nb\nC\n"


def test_a51_a_lone_surrogate_is_refused_before_the_file_is_touched(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        path = daemon.write("f.txt", "keep")
        client.send(
            b'{"jsonrpc":"2.0","id":1,"method":"write_file","params":'
            b'{"path":"f.txt","content":"\\ud83d","overwrite":true}}\n'
        )
        assert client.line()["error"]["code"] in (-32700, -32602)
        assert path.read_text() == "keep"
        assert client.call("ping")


def test_a40_escapes_are_literal(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        path = daemon.write("f.txt", "a &amp; \\u003c b\n")
        client.call("edit_file", path="f.txt", old_text="&amp; \\u003c", new_text="&lt; \\u003e $1 \\1")
        assert path.read_text() == "a &lt; \\u003e $1 \\1 b\n"


def test_a54_each_cause_has_its_own_error(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        daemon.write("file.txt", "x")
        (daemon.root / "dir").mkdir()
        (daemon.root / "a").symlink_to("b")
        (daemon.root / "b").symlink_to("a")
        slugs = {
            path: client.error("write_file", path=path, content="y").slug
            for path in ("file.txt/x", "dir", "a", "n" * 300, "file.txt")
        }
        assert list(slugs.values()) == ["not_a_directory", "not_a_file", "symlink_loop", "invalid_path", "file_exists"]


def test_an_internal_error_is_a_short_id_and_no_path(tmp_path: Path) -> None:
    """The one guard, seen from outside: nothing a client sends makes a traceback."""
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        params: Any
        for params in ({"path": 1}, {"path": None}, {"path": []}, {"path": {}}, ["f", 1, 2, 3, 4, 5, 6, 7, 8, 9]):
            number = client.start("read_file", params)
            answer = client.answer(number)
            assert answer["error"]["code"] == -32602, answer
        assert "Traceback" not in daemon.log()


def test_three_clients_work_on_a_real_source_tree_and_one_of_them_speaks_mcp(tmp_path: Path) -> None:
    mcp = pytest.importorskip("mcp")
    assert mcp
    source = Path(os.path.dirname(json.__file__)).parent
    root = tmp_path / "ws"
    shutil.copytree(source, root, ignore=shutil.ignore_patterns("__pycache__", "site-packages", "test", "*.so"))
    with Daemon(tmp_path, root=root) as daemon:
        stop = threading.Event()

        def patch(number: int) -> None:
            names = sorted(path.relative_to(root) for path in (root / "json").glob("*.py"))
            with daemon.client() as client:
                for name in names:
                    first = (root / name).read_text().splitlines()[0]
                    client.call("read_file", path=str(name), mode="lines", max_lines=5)
                    result = client.call("edit_file", path=str(name), patch=f"@@\n-{first}\n+# {number}\n+{first}\n")
                    assert f"+# {number}" in result["content"]
                    client.call("append_file", path="NOTES.txt", content=f"{number} {name}\n")
                    assert f"{name}".split("/")[-1] in client.call("list_dir", path="json")["content"]

        together(2, patch)
        stop.set()
        _with_mcp(daemon)
        for path in (root / "json").glob("*.py"):
            compile(path.read_text(), str(path), "exec")
            assert path.read_text().count("# 0\n") == path.read_text().count("# 1\n") == 1
        notes = (root / "NOTES.txt").read_text().splitlines()
        assert len(notes) == len(set(notes)) == 2 * len(list((root / "json").glob("*.py"))) + 1


def _with_mcp(daemon: Daemon) -> None:
    """Read, patch, append and list through the official MCP client and the bridge."""
    import trio

    from tests.e2e.mcp_session import bridge_session

    async def session() -> None:
        async with bridge_session(daemon) as client:
            read = await client.call_tool("read_file", {"path": "json/tool.py", "mode": "lines", "max_lines": 3})
            assert not read.is_error
            edit = await client.call_tool(
                "edit_file", {"path": "json/tool.py", "patch": "@@\n-import json\n+import json  # by mcp\n"}
            )
            assert "by mcp" in str(edit.content)
            await client.call_tool("append_file", {"path": "NOTES.txt", "content": "mcp\n"})
            listed = await client.call_tool("list_dir", {"path": "json"})
            assert "tool.py" in str(listed.content)

    trio.run(session)
