"""Fetch the pages of a search, and end its command as rg would: exit codes 0, 1 and 2, and a footer on stderr."""

import sys

from picoclawd.client import output
from picoclawd.client.rows import Printer
from picoclawd.client.wire import CALL_TIMEOUT_S, Connection

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Page = dict[str, Any]

MATCHED = 0
NOTHING_MATCHED = 1
ANY_ERROR = 2

DEFAULT_RESULTS = 50  # a screen or two; the footer says how to get more
PAGE_MAX = {"search_files": 200, "find_files": 1000}  # what the tools clamp `limit` to

# What the daemon's footer says in terms of calls; ours says it in terms of options.
_SAID_ANEW = ("more: ", "next offset=", "last page")


class Request:
    """One search: the call, the first result wanted, and how many; `wanted` None: all."""

    __slots__ = ("method", "offset", "params", "timeout_s", "wanted")

    def __init__(
        self,
        method: str,
        params: "dict[str, Any]",
        *,
        offset: int = 0,
        wanted: int | None = DEFAULT_RESULTS,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> None:
        self.method = method
        self.params = params
        self.offset = offset
        self.wanted = wanted
        self.timeout_s = timeout_s


def run(connection: Connection, request: Request, printer: Printer | None) -> int:
    """Fetch and print page by page, the footer last; without a printer everything at once, as JSON."""
    seen: list[Page] = []
    rows: list[Any] = []
    for page in pages(connection, request):
        seen.append(page)
        rows += page["data"]["results"]
        if printer is not None:
            printer.show([row for row in page["data"]["results"] if "error" not in row])
    if printer is None:
        output.show_json(seen[0] if len(seen) == 1 else merged(seen, rows, request.offset))
    else:
        sys.stdout.flush()  # on a terminal the rows come first
        output.complain(footer(seen, rows, request.offset))
    return exit_code(seen[-1]["data"], rows)


def pages(connection: Connection, request: Request) -> "Iterator[Page]":
    """Each page as the daemon answers it, until enough or all results are there."""
    offset, wanted, most = request.offset, request.wanted, PAGE_MAX[request.method]
    while True:
        limit = most if wanted is None else min(wanted, most)
        params = {**request.params, "offset": offset, "limit": limit}
        page: Page = connection.call(request.method, params, request.timeout_s)
        yield page
        following = page["data"]["next_offset"]
        if wanted is not None:
            wanted -= len(page["data"]["results"])
        if following is None or following <= offset or wanted == 0:
            return
        offset = following


def merged(seen: "list[Page]", rows: "list[Any]", offset: int) -> "Page":
    """Several pages as the `data` of one."""
    last = {name: value for name, value in seen[-1]["data"].items() if name != "rows_cut"}
    return {"data": {**last, "results": rows, "offset": offset}}


def exit_code(last: "dict[str, Any]", rows: "list[Any]") -> int:
    """0 for any result, 1 for none, 2 where something went wrong: what was not searched to the end proves nothing."""
    if not last["complete"] or any("error" in row for row in rows):
        return ANY_ERROR
    return MATCHED if rows else NOTHING_MATCHED


def footer(seen: "list[Page]", rows: "list[Any]", offset: int) -> str:
    """Which results these were, how to get more, and what the daemon says of the search."""
    data = seen[-1]["data"]
    errors = [f"{row['path']}: {row['error']}" for row in rows if "error" in row]
    parts = [_which(data, len(rows) - len(errors), offset), *_notes(seen)]
    return "\n".join([*errors, f"[{'; '.join(parts)}]"])


def _which(data: "dict[str, Any]", found: int, offset: int) -> str:
    total, following = data["total"], data["next_offset"]
    if not found:
        beyond = offset and total
        return f"no result at offset {offset}: there are {total} in all" if beyond else "no match"
    span = f"results {offset + 1}-{offset + found}" + (f" of {total}" if total is not None else "")
    return span if following is None else f"{span}; more: --offset {following}, or --all"


def _notes(seen: "list[Page]") -> list[str]:
    """What the daemon's footers say beside the count: once each, as the last page has it."""
    notes: dict[str, str] = {}
    for page in seen:
        foot = str(page.get("content", "")).rsplit("\n", 1)[-1]
        said = foot[1:-1].split("; ")[1:] if foot.startswith("[") and foot.endswith("]") else []
        notes.update({note.partition(":")[0]: note for note in said if not note.startswith(_SAID_ANEW)})
    return list(notes.values())
