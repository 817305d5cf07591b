"""`picoclawctl mcp-config HOST`: what to paste where, so that an MCP host starts the bridge.

The formats are those that the hosts document: Claude Code `claude mcp add` and `.mcp.json`, Cursor `.cursor/mcp.json`,
VS Code `.vscode/mcp.json`, Zed `context_servers` in its settings.
"""

import importlib.util
import json
import os
import shlex
import shutil
import sys

from picoclawd.client import discover, output
from picoclawd.client.failures import OK

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from typing import Any

NAME = "picoclaw"  # what the host calls the server, and with it each tool
HOSTS = ("claude", "cursor", "vscode", "zed")

# Cursor and VS Code put the folder that is open in place of this.
_OPEN_FOLDER = "${workspaceFolder}"

_WHERE = {
    "claude": "Run this command in the project's directory; with --scope user before the name it is for all of them.\n"
    "Claude Code tells the bridge which project is open. See it with:  claude mcp list",
    "cursor": "Put this into .cursor/mcp.json of the project, or into ~/.cursor/mcp.json for all of them.",
    "vscode": "Put this into .vscode/mcp.json of the project, or into the file of `MCP: Open User Configuration`.",
    "zed": "Put this into .zed/settings.json of the project (`zed: open project settings`): it names the directory.",
}


def run(args: "argparse.Namespace") -> int:
    """Print the snippet to stdout and where it belongs to stderr, so that it can be redirected into the file."""
    shown = snippet(args.host, args.tools, args.workspace, as_json=args.json)
    output.show_text(shown)
    if args.json and args.host == "claude":
        output.complain("Put this into .mcp.json of the project.")
    else:
        output.complain(_WHERE[args.host])
    if os.path.exists(_file(args.host)):
        output.complain(f"{_file(args.host)} exists: add the entry to it.")
    if importlib.util.find_spec("mcp") is None:
        output.complain("The bridge needs one more package:  pip install 'picoclawd[mcp]'")
    return OK


def snippet(host: str, tools: str, workspace: str | None, *, as_json: bool = False) -> str:
    """What the host takes: JSON, but for Claude Code a command, unless `as_json`."""
    argv = [*program(), "mcp", "--tools", tools, *_workspace(host, workspace)]
    if host == "claude" and not as_json:
        return shlex.join(["claude", "mcp", "add", NAME, "--", *argv])
    return json.dumps({_KEYS[host]: {NAME: _server(host, argv)}}, indent=2)


def program() -> list[str]:
    """The words that start picoclawctl from anywhere: hosts have a PATH of their own."""
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own) == "picoclawctl" and os.access(own, os.X_OK):
        return [own]
    beside = os.path.join(os.path.dirname(sys.executable), "picoclawctl")
    if os.access(beside, os.X_OK):
        return [beside]
    found = shutil.which("picoclawctl")
    return [found] if found else [sys.executable, "-m", "picoclawd.client"]


_KEYS = {"claude": "mcpServers", "cursor": "mcpServers", "vscode": "servers", "zed": "context_servers"}


def _server(host: str, argv: list[str]) -> "dict[str, Any]":
    server: dict[str, Any] = {"command": argv[0], "args": argv[1:]}
    return {**server, "env": {}} if host == "zed" else {"type": "stdio", **server}


def _workspace(host: str, given: str | None) -> list[str]:
    if given is not None:
        return ["--workspace", os.path.abspath(given)]
    if host == "claude":
        return []  # it says by CLAUDE_PROJECT_DIR which project is open
    return ["--workspace", discover.start_directory(None) if host == "zed" else _OPEN_FOLDER]


def _file(host: str) -> str:
    names = {"claude": ".mcp.json", "cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json"}
    return names.get(host, ".zed/settings.json")
