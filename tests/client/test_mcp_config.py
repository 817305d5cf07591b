"""What is printed for each host is what it takes, and the command in it starts a bridge that answers."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
import trio
from mcp import Client, StdioServerParameters

from picoclawd.client import mcp_config
from picoclawd.client.main import main
from tests.client.fake import FakeDaemon

KEYS = {"claude": "mcpServers", "cursor": "mcpServers", "vscode": "servers", "zed": "context_servers"}


def entry(host: str, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """The one server that the printed JSON configures."""
    assert main(["mcp-config", host, "--json", *options]) == 0
    printed = json.loads(capsys.readouterr().out)
    (server,) = printed[KEYS[host]].items()
    assert list(printed) == [KEYS[host]] and server[0] == "picoclaw"
    return dict(server[1])


def test_the_hosts_are_those_of_the_command_line() -> None:
    assert set(mcp_config.HOSTS) == set(KEYS)


@pytest.mark.parametrize("host", KEYS)
async def test_the_command_in_it_starts(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], host: str) -> None:
    server = entry(host, capsys)
    assert os.path.isabs(server["command"]), "hosts have a PATH of their own"
    args = [arg.replace("${workspaceFolder}", os.getcwd()) for arg in server["args"]]
    parameters = StdioServerParameters(command=server["command"], args=args, env=dict(os.environ))
    with trio.fail_after(60):
        async with Client(parameters) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["read_file"], "only picoclaw's"


def test_for_claude_it_is_a_command(lonely: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp-config", "claude"]) == 0
    printed = capsys.readouterr()
    words = shlex.split(printed.out)
    assert words[:5] == ["claude", "mcp", "add", "picoclaw", "--"]
    assert words[6:] == ["mcp", "--tools", "picoclaw"]
    assert "project's directory" in printed.err


@pytest.mark.parametrize(
    ("host", "workspace"),
    [("cursor", "${workspaceFolder}"), ("vscode", "${workspaceFolder}"), ("zed", "{here}"), ("claude", None)],
)
def test_the_workspace_is_the_project_that_is_open(
    lonely: Path, capsys: pytest.CaptureFixture[str], host: str, workspace: str | None
) -> None:
    args = entry(host, capsys)["args"]
    assert args[3:] == ([] if workspace is None else ["--workspace", workspace.replace("{here}", str(lonely))])
    assert entry(host, capsys, "--workspace", ".")["args"][3:] == ["--workspace", str(lonely)]


def test_it_says_where_to_put_it(lonely: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (lonely / ".vscode").mkdir()
    (lonely / ".vscode/mcp.json").write_text("{}")
    main(["mcp-config", "vscode"])
    said = capsys.readouterr().err
    assert ".vscode/mcp.json of the project" in said
    assert ".vscode/mcp.json exists: add the entry to it" in said


def test_a_program_that_is_nowhere_is_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["pytest"])
    monkeypatch.setattr("sys.executable", str(tmp_path / "python3"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert mcp_config.program() == [str(tmp_path / "python3"), "-m", "picoclawd.client"]
