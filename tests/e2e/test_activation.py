"""The bridge on a socket that an activator holds: connecting starts the daemon."""

import json
import sys
from pathlib import Path

import mcp_types
import pytest
import trio
from mcp import Client, StdioServerParameters

from tests.conftest import needs
from tests.e2e.daemon import Daemon


@pytest.fixture
def tmp_path(short_path: Path) -> Path:
    """Sockets are made below it."""
    return short_path


async def test_the_bridge_starts_the_daemon_of_its_project(tmp_path: Path) -> None:
    """systemd-socket-activate stands for systemd: the daemon is its child, started by the first connection."""
    activate = needs("systemd-socket-activate")
    daemon = Daemon(tmp_path)  # its directories and environment; it is not started
    daemon.write("x.txt", "hello\n")
    config = tmp_path / "config" / "picoclawd" / "work.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"agents": {"defaults": {"workspace": str(daemon.root)}}}))
    directory = daemon.runtime / "picoclawd" / "work" / "agent"
    directory.mkdir(parents=True, mode=0o700)
    for each in (directory.parent, directory.parent.parent):
        each.chmod(0o700)
    env = {**daemon.env, "XDG_CONFIG_HOME": str(tmp_path / "config"), "CLAUDE_PROJECT_DIR": str(daemon.root)}
    serve = [sys.executable, "-P", "-m", "picoclawd", "serve", "--instance", "work"]
    passed = [f"--setenv={key}={value}" for key, value in env.items() if value]
    command = [activate, f"--listen={directory / 'sock'}", "--fdname=agent", *passed, *serve]
    with trio.fail_after(100):
        async with trio.open_nursery() as nursery:
            process = await nursery.start(trio.run_process, command)
            try:
                while not (directory / "sock").exists():  # noqa: ASYNC110 - another process makes it
                    await trio.sleep(0.02)
                bridge = ["-P", "-m", "picoclawd.client", "mcp"]
                server = StdioServerParameters(command=sys.executable, args=bridge, env=env, cwd=tmp_path)
                async with Client(server) as client:
                    result = await client.call_tool("read_file", {"path": "x.txt"})
                block = result.content[0]
                assert isinstance(block, mcp_types.TextContent) and "hello" in block.text
            finally:
                process.terminate()
