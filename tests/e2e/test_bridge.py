"""The whole way: the official MCP client, the bridge as a process, a real daemon; with and without a handshake."""

import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types
import pytest
import trio
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from tests.e2e.daemon import Daemon

PATIENCE_S = 100
MODES = ["legacy", "auto"]  # with the handshake of the protocols up to 2025-11-25, and without


@asynccontextmanager
async def host(
    daemon: Daemon, mode: str, *options: str, env: dict[str, str] | None = None, **keys: Any
) -> AsyncIterator[Client]:
    """An MCP host with a bridge to `daemon`."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "picoclawd.client", "mcp", *options],
        env=env or {**daemon.env, "PICOCLAWD_SOCKET": str(daemon.agent_socket)},
        cwd=daemon.directory,
    )
    info = mcp_types.Implementation(name="tester", version="1")
    with trio.fail_after(PATIENCE_S):
        async with Client(server, client_info=info, mode=mode, **keys) as client:
            yield client


def text(result: mcp_types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, mcp_types.TextContent)
    return block.text


CALLS: dict[str, dict[str, Any]] = {
    "write_file": {"path": "new.txt", "content": "one\ntwo\n"},
    "read_file": {"path": "new.txt"},
    "edit_file": {"path": "new.txt", "old_text": "two", "new_text": "2"},
    "append_file": {"path": "new.txt", "content": "three\n"},
    "list_dir": {"path": "."},
    "search_files": {"pattern": "three"},
    "find_files": {"queries": [{"dir": "."}]},
    "read_files": {"files": [{"path": "new.txt"}, {"path": "table.csv"}]},
    "file_history": {"path": "new.txt"},
    "remove_file": {"path": "table.csv"},
    "restore_file": {"version": "1"},
    "open_file": {"path": "new.txt"},
}


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_can_be_called(tmp_path: Path, mode: str) -> None:
    """The client itself holds structured content to the output schema. Nothing is on a screen here to open files."""
    with Daemon(tmp_path, {"daemon.approvals": {"mode": "allow"}}) as daemon:
        daemon.write("table.csv", "a,b\n1,2\n")
        async with host(daemon, mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == set(CALLS)
            for name, arguments in CALLS.items():
                result = await client.call_tool(name, arguments)
                if name != "open_file":
                    assert not result.is_error, f"{name}: {text(result)}"
                hints = tools[name].annotations
                assert hints is not None
                has_schema = tools[name].output_schema is not None
                assert has_schema is hints.read_only_hint
                assert result.is_error or (result.structured_content is not None) >= has_schema
        assert (daemon.root / "new.txt").read_text() == "one\ntwo\n", "restored"


@pytest.mark.parametrize("mode", MODES)
async def test_what_the_text_says_is_not_said_again(tmp_path: Path, mode: str) -> None:
    with Daemon(tmp_path) as daemon:
        daemon.write("x.txt", "a needle in it\n")
        async with host(daemon, mode) as client:
            for name, arguments in (("read_file", {"path": "x.txt"}), ("search_files", {"pattern": "needle"})):
                result = await client.call_tool(name, arguments)
                assert "needle" in text(result) and "needle" not in json.dumps(result.structured_content)


@pytest.mark.parametrize("mode", MODES)
async def test_a_host_that_asks_is_told_of_progress(tmp_path: Path, mode: str) -> None:
    told: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total == 3
        told.append(progress)

    with Daemon(tmp_path) as daemon:
        for number in range(3):
            daemon.write(f"{number}.csv", "a,b\n" * 2000)
        async with host(daemon, mode) as client:
            arguments = {"files": [{"path": f"{number}.csv"} for number in range(3)]}
            await client.call_tool("read_files", arguments, progress_callback=note)
            assert told and told == sorted(set(told))


@pytest.mark.parametrize("mode", MODES)
async def test_files_are_resources(tmp_path: Path, mode: str) -> None:
    with Daemon(tmp_path) as daemon:
        daemon.write("src/a b%.txt", "hello\n")
        daemon.write(".env", "TOKEN=x\n")
        async with host(daemon, mode) as client:
            listed = (await client.list_resources()).resources
            assert [(each.uri, each.name) for each in listed] == [("workspace:///src/a%20b%25.txt", "src/a b%.txt")], (
                "and what is protected is not shown"
            )
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "workspace:///{+path}"
            (contents,) = (await client.read_resource(listed[0].uri)).contents
            assert isinstance(contents, mcp_types.TextResourceContents)
            assert "hello" in contents.text and contents.mime_type == "text/plain"
            for uri, words in (
                ("workspace:///nope", "not_found"),
                ("workspace:///.env", "protected_path"),
                ("workspace:///../x", "outside_workspace"),
                ("file:///etc/passwd", "no resource of this server"),
            ):
                with pytest.raises(MCPError, match=words):
                    await client.read_resource(uri)


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_a_host_with_a_handshake_hears_of_changes(tmp_path: Path) -> None:
    sent, heard = trio.open_memory_channel[Any](100)

    async def note(message: Any) -> None:
        sent.send_nowait(message)

    with Daemon(tmp_path) as daemon:
        daemon.write("x.txt", "one\n")
        async with host(daemon, "legacy", message_handler=note) as client:
            await client.subscribe_resource("workspace:///x.txt")
            await client.call_tool("append_file", {"path": "x.txt", "content": "two\n"})
            assert await _first(heard, mcp_types.ResourceUpdatedNotification) == "workspace:///x.txt"
            daemon.write("y.txt", "new, and from outside\n")
            await _first(heard, mcp_types.ResourceListChangedNotification)
            await trio.to_thread.run_sync(daemon.stop)
            await trio.to_thread.run_sync(daemon.start)
            await client.call_tool("append_file", {"path": "x.txt", "content": "three\n"})
            assert await _first(heard, mcp_types.ResourceUpdatedNotification) == "workspace:///x.txt"


async def _first(heard: "trio.MemoryReceiveChannel[Any]", kind: type[Any]) -> str:
    """The URI of the first message of this kind."""
    async for message in heard:
        if isinstance(message, kind):
            return str(getattr(message.params, "uri", ""))
    raise AssertionError("the channel was closed")


async def test_a_host_without_a_handshake_listens(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        daemon.write("x.txt", "one\n")
        async with (
            host(daemon, "auto") as client,
            client.listen(resources_list_changed=True, resource_subscriptions=["workspace:///x.txt"]) as changes,
        ):
            await client.call_tool("append_file", {"path": "x.txt", "content": "two\n"})
            await client.call_tool("write_file", {"path": "y.txt", "content": "new\n"})
            seen: set[Any] = set()
            async for change in changes:
                seen.add(change)
                if len(seen) == 2:
                    break
    assert seen == {ResourceUpdated("workspace:///x.txt"), ResourcesListChanged()}


class Asked:
    """A host's person: answers what it is asked."""

    def __init__(self, action: str, answer: str | None = None) -> None:
        self.action = action
        self.answer = answer
        self.messages: list[str] = []
        self.was_asked = trio.Event()

    async def __call__(self, _ctx: Any, params: Any) -> mcp_types.ElicitResult:
        self.was_asked.set()
        self.messages.append(params.message)
        content = None if self.answer is None else {"answer": self.answer}
        return mcp_types.ElicitResult.model_validate({"action": self.action, "content": content})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("action", "answer", "removed"), [("accept", "allow", True), ("accept", "deny", False), ("decline", None, False)]
)
async def test_the_person_is_asked_in_the_host(
    tmp_path: Path, mode: str, action: str, answer: str | None, removed: bool
) -> None:
    person = Asked(action, answer)
    with Daemon(tmp_path) as daemon:
        daemon.write("x.txt", "one\n")
        options = ("--operator-socket", str(daemon.operator_socket))
        async with host(daemon, mode, *options, elicitation_callback=person) as client:
            result = await client.call_tool("remove_file", {"path": "x.txt"})
        assert (daemon.root / "x.txt").exists() is not removed
        audit = "".join(path.read_text() for path in (tmp_path / "state").rglob("audit.ndjson"))
    assert result.is_error is not removed
    if not removed:
        assert text(result).startswith("[confirmation_denied]")
    (message,) = person.messages
    assert "Remove(x.txt)" in message
    answers = [row for row in map(json.loads, audit.splitlines()) if row["kind"] == "approval"]
    assert [(row["answer"], row["via"]) for row in answers] == [("once" if removed else "deny", "elicitation")]


@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_given_elsewhere_counts_too(tmp_path: Path, mode: str) -> None:
    """The person dismisses the host's question, and answers in a shell."""
    person = Asked("cancel")
    with Daemon(tmp_path) as daemon:
        daemon.write("x.txt", "one\n")
        options = ("--operator-socket", str(daemon.operator_socket))
        async with host(daemon, mode, *options, elicitation_callback=person) as client, trio.open_nursery() as nursery:

            async def approve() -> None:
                await person.was_asked.wait()
                done = await trio.to_thread.run_sync(lambda: daemon.control("approve", "a", "--yes"))
                assert done.returncode == 0, done.stderr

            nursery.start_soon(approve)
            result = await client.call_tool("remove_file", {"path": "x.txt"})
        assert not result.is_error, text(result)
        assert not (daemon.root / "x.txt").exists()


@pytest.mark.parametrize("mode", MODES)
async def test_without_the_operators_socket_nobody_is_asked(tmp_path: Path, mode: str) -> None:
    person = Asked("accept", "allow")
    with Daemon(tmp_path, {"daemon.approvals": {"timeout_s": 1}}) as daemon:
        daemon.write("x.txt", "one\n")
        async with host(daemon, mode, elicitation_callback=person) as client:
            result = await client.call_tool("remove_file", {"path": "x.txt"})
        assert text(result).startswith("[confirmation_pending]")
        assert person.messages == [] and (daemon.root / "x.txt").exists()


@pytest.mark.parametrize("options", [("--workspace", "{root}"), ()])
async def test_the_workspace_is_the_one_that_the_host_means(tmp_path: Path, options: tuple[str, ...]) -> None:
    """`--workspace`, then CLAUDE_PROJECT_DIR, wherever the bridge is started. Two daemons run side by side."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    shared = {"XDG_RUNTIME_DIR": str(runtime)}
    with Daemon(tmp_path / "one", env=shared) as one, Daemon(tmp_path / "two", env=shared) as two:
        end = time.monotonic() + 20
        while len(list(runtime.glob("picoclawd/*/info.json"))) < 2:  # their sockets come a moment before
            assert time.monotonic() < end
            await trio.sleep(0.01)
        one.write("x.txt", "of the first\n")
        two.write("x.txt", "of the second\n")
        meant, other = (one, two) if options else (two, one)
        env = {**one.env, "CLAUDE_PROJECT_DIR": str(other.root if options else meant.root)}
        given = [each.format(root=meant.root) for each in options]
        async with host(one, "auto", *given, env=env) as client:
            result = await client.call_tool("read_file", {"path": "x.txt"})
        assert ("of the first" if options else "of the second") in text(result)
