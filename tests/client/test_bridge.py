"""The bridge inside this process, with the official client, against a fake daemon."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types
import pytest
import trio
from mcp import Client, MCPError

from picoclawd.client import bridge
from picoclawd.client.bridge import Bridge, Kind, Structured, Tools, Wishes
from picoclawd.tools._registry import discover
from tests.client.fake import TOOLS, FakeDaemon, Refusal, Vanish


@asynccontextmanager
async def host(
    kind: Kind = "agent",
    structured: Structured = "auto",
    name: str = "test-host",
    mode: str = "legacy",
    tools: Tools = "all",
) -> AsyncIterator[Client]:
    """An MCP host that is connected to a bridge."""
    info = mcp_types.Implementation(name=name, version="1")
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            server = bridge.make_server(Bridge(nursery, None, Wishes(kind, structured, tools)))
            async with Client(server, client_info=info, mode=mode) as client:
                yield client
            nursery.cancel_scope.cancel()


def text(result: mcp_types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


@pytest.fixture
def reading(daemon: FakeDaemon) -> FakeDaemon:
    data = {"path": "x", "size": 6, "results": [{"path": "x", "line": 1, "text": "hello"}]}
    daemon.handlers["read_file"] = lambda params: {"content": "hello\n", "display": None, "data": data}
    return daemon


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_every_tool_comes_with_schema_and_hints(daemon: FakeDaemon, mode: str) -> None:
    async with host(mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"read_file", "remove_file"}
    read, remove = tools["read_file"], tools["remove_file"]
    assert read.input_schema["type"] == "object"
    assert read.input_schema["required"] == ["path"]
    assert (read.title, read.description) == ("Read a file", "Read a file. Then go on.\n\nMore about it.")
    assert read.annotations is not None and remove.annotations is not None
    assert (read.annotations.read_only_hint, read.annotations.open_world_hint) == (True, False)
    assert (remove.annotations.read_only_hint, remove.annotations.destructive_hint) == (False, True)


@pytest.mark.parametrize(
    ("tools", "offered"),
    [
        ("all", {"read_file", "remove_file", "edit_file", "new_tool"}),
        ("picoclaw", {"read_file", "edit_file"}),
        ("agenvoy", {"remove_file", "edit_file"}),
    ],
)
async def test_a_host_is_offered_the_tools_that_were_asked_for(
    daemon: FakeDaemon, tools: Tools, offered: set[str]
) -> None:
    rows = [*TOOLS, *({**TOOLS[0], "name": name} for name in ("edit_file", "new_tool"))]
    daemon.handlers["tools.list"] = lambda _: {"tools": rows}
    for name in ("read_file", "remove_file", "edit_file", "new_tool"):
        daemon.handlers[name] = lambda _: {"content": "done", "data": {}}
    async with host(tools=tools) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == offered
        for row in rows:
            if row["name"] in offered:
                assert text(await client.call_tool(row["name"], {"path": "x"})) == "done"
            else:
                with pytest.raises(MCPError, match="no tool named"):
                    await client.call_tool(row["name"], {"path": "x"})


def test_every_tool_of_the_daemon_belongs_to_a_family() -> None:
    known = frozenset().union(*bridge.FAMILIES.values())
    assert set(discover()) <= known


@pytest.mark.parametrize("kind", ["agent", "subagent"])
async def test_the_session_carries_the_hosts_name_and_kind(daemon: FakeDaemon, kind: Kind) -> None:
    async with host(kind=kind, name="my\nhost") as client:
        await client.list_tools()
        await client.list_tools()
    assert daemon.asked("session.open") == [{"client": "mcp:myhost", "kind": kind}]


async def test_a_result_is_text_and_the_facts_beside_it(reading: FakeDaemon) -> None:
    async with host() as client:
        result = await client.call_tool("read_file", {"path": "x"})
    assert text(result) == "hello\n"
    assert result.structured_content == {"path": "x", "size": 6}, "the rows stand in the text already"
    assert not result.is_error
    assert reading.asked("read_file") == [{"path": "x"}]


async def test_content_that_is_the_data_is_not_sent_twice(daemon: FakeDaemon) -> None:
    daemon.handlers["remove_file"] = lambda _: {"content": '{"success":true}', "data": {"success": True}}
    async with host() as client:
        result = await client.call_tool("remove_file", {"path": "x"})
    assert (text(result), result.structured_content) == ('{"success":true}', None)


@pytest.mark.parametrize(
    ("name", "structured", "shown"),
    [
        ("claude-code", "auto", False),
        ("codex-mcp-client", "auto", False),
        ("claude-code", "always", True),
        ("other", "never", False),
    ],
)
async def test_a_host_that_hides_the_text_gets_text_alone(
    reading: FakeDaemon, name: str, structured: Structured, shown: bool
) -> None:
    async with host(name=name, structured=structured) as client:
        result = await client.call_tool("read_file", {"path": "x"})
    assert text(result) == "hello\n"
    assert (result.structured_content is not None) is shown


async def test_an_error_is_a_result_with_its_slug(daemon: FakeDaemon) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32002, "file not found", error="not_found", retryable=False)

    daemon.handlers["read_file"] = refuse
    async with host() as client:
        result = await client.call_tool("read_file", {"path": "x"})
    assert result.is_error
    assert text(result) == "[not_found] file not found"
    assert result.structured_content == {"error": "not_found", "retryable": False}


async def test_only_tools_can_be_called(daemon: FakeDaemon) -> None:
    async with host() as client:
        with pytest.raises(MCPError, match=r"no tool named session\.close"):
            await client.call_tool("session.close", {})
    assert daemon.asked("session.close") == []


async def test_a_cancelled_call_is_cancelled_at_the_daemon(daemon: FakeDaemon) -> None:
    started = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def slow(_: Any) -> Any:
        token.run_sync_soon(started.set)
        daemon.cancelled.wait(10)
        raise Refusal(-32800, "cancelled", error="cancelled")

    daemon.handlers["read_file"] = slow
    async with host() as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "read_file", {"path": "x"})
            await started.wait()
            nursery.cancel_scope.cancel()
        assert await trio.to_thread.run_sync(daemon.cancelled.wait, 10)
        assert {tool.name for tool in (await client.list_tools()).tools} == {"read_file", "remove_file"}


async def test_calls_run_side_by_side(daemon: FakeDaemon) -> None:
    """The slow call is answered only after the quick one was."""
    daemon.handlers["read_file"] = lambda _: {"content": f"released: {daemon.cancelled.wait(10)}", "data": {}}

    def quick(_: Any) -> Any:
        daemon.cancelled.set()
        return {"content": "quick", "data": {}}

    daemon.handlers["remove_file"] = quick
    texts: list[str] = []

    async def ask(client: Client, name: str) -> None:
        texts.append(text(await client.call_tool(name, {"path": "x"})))

    async with host() as client, trio.open_nursery() as nursery:
        nursery.start_soon(ask, client, "read_file")
        await trio.to_thread.run_sync(_wait_for, daemon, "read_file")
        nursery.start_soon(ask, client, "remove_file")
    assert sorted(texts) == ["quick", "released: True"]


def _wait_for(daemon: FakeDaemon, method: str) -> None:
    for _ in range(1000):
        if daemon.asked(method):
            return
        daemon.cancelled.wait(0.01)
    raise AssertionError(f"{method} was never called")


async def test_a_daemon_that_dies_in_a_call_is_said_and_found_again(daemon: FakeDaemon) -> None:
    def die(_: Any) -> Any:
        raise Vanish

    daemon.handlers["read_file"] = die
    async with host() as client:
        lost = await client.call_tool("read_file", {"path": "x"})
        assert lost.is_error
        assert text(lost).startswith("[connection_lost] read_file: the daemon went away")
        assert "picoclawd serve --workspace" in text(lost)
        daemon.handlers["read_file"] = lambda _: {"content": "back", "data": {}}
        assert text(await client.call_tool("read_file", {"path": "x"})) == "back"
    assert len(daemon.asked("session.open")) == 2


async def test_no_daemon_any_more_is_said(daemon: FakeDaemon) -> None:
    async with host() as client:
        await client.list_tools()
        await trio.to_thread.run_sync(daemon.stop)
        first = await client.call_tool("read_file", {"path": "x"})
        second = await client.call_tool("read_file", {"path": "x"})
        assert first.is_error and second.is_error
        assert text(second).startswith("[no_daemon] ")
        with pytest.raises(MCPError, match="picoclawd serve"):
            await client.list_tools()


async def test_a_session_that_is_refused_is_tried_again(daemon: FakeDaemon) -> None:
    answers = [Refusal(-32011, "too many", error="overloaded"), None]

    def open_session(_: Any) -> Any:
        if refusal := answers.pop(0):
            raise refusal
        return {}

    daemon.handlers["session.open"] = open_session
    daemon.handlers["read_file"] = lambda _: {"content": "ok", "data": {}}
    async with host() as client:
        assert text(await client.call_tool("read_file", {"path": "x"})) == "[overloaded] too many"
        assert text(await client.call_tool("read_file", {"path": "x"})) == "ok"


async def test_pictures_are_image_content_and_not_in_the_structured_one(daemon: FakeDaemon) -> None:
    image = {"mime": "image/png", "width": 1, "height": 2, "base64": "aaaa"}
    files = [{"path": "a.txt", "image": None}, {"path": "b.png", "image": image}]
    answer = {"content": "two files", "display": None, "data": {"files": files}}
    daemon.handlers["read_file"] = lambda params: answer
    async with host() as client:
        result = await client.call_tool("read_file", {"path": "b.png"})
    words, picture = result.content
    assert isinstance(words, mcp_types.TextContent)
    assert isinstance(picture, mcp_types.ImageContent)
    assert (words.text, picture.data, picture.mime_type) == ("two files", "aaaa", "image/png")
    assert result.structured_content == {"files": [{"path": "a.txt"}, {"path": "b.png"}]}


async def test_an_older_daemon_without_events_is_explained(daemon: FakeDaemon) -> None:
    async with host() as client:
        with pytest.raises(MCPError, match="older than this client"):
            await client.list_resources()
        assert {tool.name for tool in (await client.list_tools()).tools} == {"read_file", "remove_file"}


async def test_only_tools_that_read_have_an_output_schema_and_keep_to_it(daemon: FakeDaemon) -> None:
    """Also where the daemon has nothing to say beside the text."""
    daemon.handlers["read_file"] = lambda _: {"content": "{", "data": {"results": []}}
    async with host() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["read_file"].output_schema == {"type": "object", "properties": {}, "required": []}
        assert tools["remove_file"].output_schema is None
        assert (await client.call_tool("read_file", {"path": "x"})).structured_content == {}
    async with host(name="claude-code") as client:
        assert {tool.output_schema for tool in (await client.list_tools()).tools} == {None}


async def test_the_operators_socket_that_is_gone_is_said(daemon: FakeDaemon, tmp_path: Path) -> None:
    async def never(context: Any, params: Any) -> mcp_types.ElicitResult:
        raise AssertionError("nobody is to be asked")

    wishes = Wishes(operator_socket=str(tmp_path / "gone"))
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            server = bridge.make_server(Bridge(nursery, None, wishes))
            async with Client(server, elicitation_callback=never) as client:
                result = await client.call_tool("read_file", {"path": "x"})
            nursery.cancel_scope.cancel()
    assert text(result).startswith("[no_daemon] no daemon listens at") and "--operator-socket" in text(result)
