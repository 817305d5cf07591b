"""`picoclawctl mcp` as an MCP host starts it: a process, stdin and stdout, the official client."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import mcp_types
import pytest
import trio
from mcp import Client, StdioServerParameters

from picoclawd.client.main import main
from picoclawd.client.scratch import Scratch
from tests.client.fake import FakeDaemon

CODE = "import sys; from picoclawd.client.main import main; sys.exit(main())"


@asynccontextmanager
async def host(socket: str, *options: str) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable, args=["-c", CODE, "mcp", *options], env={**os.environ, "PICOCLAWD_SOCKET": socket}
    )
    with trio.fail_after(60):
        async with Client(server) as client:
            yield client


def text(result: mcp_types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


async def test_a_host_lists_and_calls_over_stdio(daemon: FakeDaemon) -> None:
    daemon.handlers["read_file"] = lambda _: {"content": "hello\n", "data": {"size": 6}}
    async with host(daemon.path, "--subagent") as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"read_file", "remove_file"}
        result = await client.call_tool("read_file", {"path": "x"})
        assert (text(result), result.structured_content) == ("hello\n", {"size": 6})
    assert [params["kind"] for params in daemon.asked("session.open")] == ["subagent"]


async def test_the_bridge_ends_when_the_host_closes_stdin(daemon: FakeDaemon) -> None:
    with trio.fail_after(30):
        done = await trio.run_process(
            [sys.executable, "-c", CODE, "mcp"],
            stdin=b"",
            capture_stdout=True,
            capture_stderr=True,
            env={**os.environ, "PICOCLAWD_SOCKET": daemon.path},
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_without_a_daemon_it_says_so_at_once(lonely: object) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, "mcp"], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (3, "")
    assert "picoclawd serve" in done.stderr


def test_without_the_extra_it_says_what_to_install(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert main(["mcp"]) == 2
    assert "pip install 'picoclawd[mcp]'" in capsys.readouterr().err


async def test_a_host_works_on_real_files() -> None:
    with Scratch() as scratch:
        async with host(scratch.socket("agent")) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"read_file", "write_file", "edit_file", "append_file", "list_dir"} <= set(tools)
            assert all(tool.input_schema["type"] == "object" for tool in tools.values())
            written = await client.call_tool("write_file", {"path": "x.txt", "content": "hello mcp\n"})
            assert (written.is_error, written.structured_content) == (False, None)
            read = await client.call_tool("read_file", {"path": "x.txt"})
            assert "hello mcp" in text(read)
            assert "hello mcp" not in str(read.structured_content)
            missing = await client.call_tool("read_file", {"path": "nope"})
            assert missing.is_error and text(missing).startswith("[not_found] ")
