"""`picoclawctl sessions`: who is connected."""

from picoclawd.client import table
from picoclawd.client.desk import Desk
from picoclawd.client.failures import OK
from picoclawd.client.table import Column

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse

_COLUMNS = (
    Column("session", lambda row: str(row["session_id"]), who=lambda row: str(row["session_id"])),
    Column("role", lambda row: str(row["role"])),
    Column("kind", lambda row: str(row["kind"])),
    Column("pid", lambda row: str(row["pid"]), right=True),
    Column("client (as it says)", lambda row: str(row["client"] or "-")),
)


def run(args: "argparse.Namespace") -> int:
    """Print every live session but this command's own."""
    with Desk(args) as desk:
        own = desk.call("session.info")["session_id"]
        found = desk.call("workspace.status")["data"]["sessions"]
    rows = [row for row in found if row["session_id"] != own]
    table.show(rows, _COLUMNS, args.json, "nobody else is connected")
    return OK
