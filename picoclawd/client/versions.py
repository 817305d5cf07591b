"""The `version` command."""

import importlib.metadata
from typing import TYPE_CHECKING

from picoclawd.client import discover, output
from picoclawd.client.failures import OK, Failure

if TYPE_CHECKING:
    import argparse


def client_version() -> str:
    """The version of this installation."""
    return importlib.metadata.version("picoclawd")


def run(args: "argparse.Namespace") -> int:
    """`picoclawctl version`: never fails for want of a daemon."""
    found = {"client": client_version(), "daemon": _daemon_version()}
    if args.json:
        output.show_json(found)
    else:
        output.show_text(f"picoclawctl {found['client']}, daemon {found['daemon'] or 'not running here'}")
    return OK


def _daemon_version() -> str | None:
    try:
        connection, _ = discover.connect("agent")
        with connection:
            return str(connection.call("workspace.status")["data"]["version"])
    except Failure:
        return None
