"""`picoclawctl mcp`: serve the daemon's tools to an MCP host over stdin and stdout."""

import importlib.util
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
    connection, _ = discover.connect("agent", args.workspace)
    connection.close()
    import trio  # with the next import 0.8 s: only this command pays for it

    from picoclawd.client import bridge

    # A thread that reads stdin cannot be interrupted, so Python's own handler would wait for the next line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    wishes = bridge.Wishes("subagent" if args.subagent else "agent", args.structured, args.tools)
    trio.run(bridge.serve, args.workspace, wishes)
    return OK
