"""`picoclawctl mcp`: serve the daemon's tools to an MCP host over stdin and stdout."""

import importlib.util
import os
import signal
from typing import TYPE_CHECKING

from picoclawd.client import discover
from picoclawd.client.failures import OK, UsageFault

if TYPE_CHECKING:
    import argparse


def run(args: "argparse.Namespace") -> int:
    """Serve until the host closes stdin.

    Raises:
        UsageFault: the extra [mcp] is not installed.
        NoDaemon: no daemon answers at the start; one that goes away later is looked for again at the next call.
    """
    if importlib.util.find_spec("mcp") is None:
        raise UsageFault("picoclawctl mcp needs the MCP package.\nInstall it with:  pip install 'picoclawd[mcp]'")
    start = start_directory(args.workspace)
    connection, _ = discover.connect("agent", start)
    connection.close()
    import trio  # with the next import 0.8 s: only this command pays for it

    from picoclawd.client import bridge

    # A thread that reads stdin cannot be interrupted, so Python's own handler would wait for the next line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    kind: bridge.Kind = "subagent" if args.subagent else "agent"
    wishes = bridge.Wishes(kind, args.structured, args.tools, _operator_socket(args.operator_socket, start))
    trio.run(bridge.serve, start, wishes)
    return OK


def start_directory(workspace: str | None) -> str | None:
    """The directory whose daemon is meant: `--workspace`, else the host's project, else the current directory (None).

    Claude Code starts servers with CLAUDE_PROJECT_DIR set, and in a directory that need not be the project's.
    """
    return workspace or os.environ.get("CLAUDE_PROJECT_DIR") or None


def _operator_socket(wanted: str | None, start: str | None) -> str | None:
    """The path of the operator's socket: as given, or that of the daemon that runs (`auto`)."""
    if wanted != "auto":
        return wanted
    found = discover.candidates("operator", start)
    if not found:
        raise UsageFault("no operator's socket was found: give its path, --operator-socket PATH")
    return found[0].path
