"""The commands `history`, `history purge` and `blame`: what is recorded of every change."""

import posixpath

from picoclawd.client import discover, output, table, times
from picoclawd.client.desk import Desk
from picoclawd.client.failures import OK, Failure, UsageFault
from picoclawd.client.table import OUTSIDE, Column

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

    Version = dict[str, Any]

PAGE_MAX = 1000  # what file_history clamps an operator's `limit` to
_PURGE = "purge"


def who(version: "Version") -> str:
    """Whose colour a version has: its session, or `outside`."""
    return str(version["session_id"]) if version.get("session_id") else OUTSIDE


def who_text(version: "Version") -> str:
    """Who made a version, as its client calls itself; not yet escaped."""
    return str(version.get("client") or version.get("session_id") or OUTSIDE)


def run(args: "argparse.Namespace") -> int:
    """`picoclawctl history [PATH...]`, and `picoclawctl history purge PATH`; a file named `purge` is `./purge`."""
    if args.arguments[:1] == [_PURGE]:
        return _purge(args, args.arguments[1:])
    with Desk(args) as desk:
        rows = []
        for version in versions(desk, _wanted(args, desk), args.before):
            if args.session is None or version.get("session_id") == args.session:
                rows.append(version)
            if len(rows) == args.limit:
                break
        table.show(rows, _columns(desk), args.json, "no such change is recorded")
    return OK


def versions(
    desk: Desk, params: "dict[str, Any]", before: int | None = None, page: int = PAGE_MAX
) -> "Iterator[Version]":
    """Recorded changes, newest first, page after page as they are asked for."""
    while True:
        bound = {} if before is None else {"before": before}
        data = desk.call("file_history", {**params, **bound, "limit": page})["data"]
        yield from data["versions"]
        before = data["next_before"]
        if before is None:
            return


def blame(args: "argparse.Namespace") -> int:
    """`picoclawctl blame PATH`."""
    with Desk(args) as desk:
        found = desk.call("history.blame", desk.path_params(args.path))["data"]["lines"]
    rows = [{"line_no": line_no, **row} for line_no, row in enumerate(found, 1)]
    table.show(rows, _BLAME, args.json, f"{args.path} is empty")
    return OK


def _wanted(args: "argparse.Namespace", desk: Desk) -> "dict[str, Any]":
    params: dict[str, Any] = {"mode": "list"}
    if args.arguments:
        params["path"] = [desk.path(path) for path in args.arguments]
    given = {"task_id": args.task, "from": args.from_time, "to": args.to_time}
    return {**params, **{key: value for key, value in given.items() if value is not None}}


def _columns(desk: Desk) -> tuple[Column, ...]:
    return (
        Column("version", lambda row: f"v{row['version']}", right=True),
        Column("when", lambda row: times.shown(row["changed_at"])),
        Column("who", who_text, who=who),
        Column("tool", lambda row: str(row.get("tool") or "-")),
        Column("action", lambda row: str(row["action"])),
        Column("size", lambda row: "-" if row.get("size") is None else str(row["size"]), right=True),
        Column(
            "path", lambda row: desk.shown(str(row["path"])) + ("" if row.get("restorable", True) else " (not kept)")
        ),
        Column("objective", lambda row: str(row.get("objective") or "-")),
    )


_BLAME = (
    Column("version", lambda row: "-" if row["version"] is None else f"v{row['version']}", right=True),
    Column("who", lambda row: str(row["client"] or "-"), who=lambda row: str(row["client"] or OUTSIDE)),
    Column("task", lambda row: str(row["task_id"] or "-")),
    Column("line", lambda row: str(row["line_no"]), right=True),
    Column("text", lambda row: str(row["line"])),
)


def _purge(args: "argparse.Namespace", paths: list[str]) -> int:
    """Forget all versions of a path and below it, after asking: nothing brings them back."""
    if len(paths) != 1:
        raise UsageFault("history purge takes one PATH")
    with Desk(args) as desk:
        count = _recorded(desk, desk.path(paths[0]))
        preview = f"{count} recorded versions of {output.one_line(paths[0])} and below it"
        if args.dry_run:
            output.show_rows([f"would forget {preview}"])
            return OK
        desk.confirm(f"{preview}: what is forgotten cannot be restored", "forget them")
        told = desk.call("history.purge", desk.path_params(paths[0]))
    if args.json:
        output.show_json(told)
    else:
        output.show_rows([f"forgot {told['purged']} versions of {output.one_line(paths[0])}"])
    return OK


def _recorded(desk: Desk, path: str) -> int:
    """How many versions there are of a path and below it."""
    root = desk.workspace()
    below = discover.within(posixpath.normpath(posixpath.join(root, path)), root)
    if below is None:
        raise Failure(f"{path} is not in the workspace {root}: nothing is recorded of it here")
    every = versions(desk, {"mode": "list"})
    return sum(not below or row["path"] == below or str(row["path"]).startswith(f"{below}/") for row in every)
