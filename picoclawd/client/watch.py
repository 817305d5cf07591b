"""`picoclawctl status --watch`: show how far the index is until it is ready."""

import json
import sys
import time

from picoclawd.client import discover, output
from picoclawd.client.failures import OK, Failure

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

INTERVAL_S = 0.25  # often enough to look alive, and nothing that the daemon would notice
_BAR_CELLS = 30


def run(args: "argparse.Namespace") -> int:
    """Redraw until the index is ready, then print the status; with `--json` a line of JSON for each look."""
    connection, _ = discover.connect("agent")
    with connection:
        looks = until_ready(connection.call("workspace.status", {}, args.timeout) for _ in _forever())
        if args.json:
            _stream(looks)
            return OK
        last = _draw(looks)
    output.show_result(last, False)
    return OK


def until_ready(looks: "Iterator[dict[str, Any]]") -> "Iterator[dict[str, Any]]":
    """Each status up to the first that says ready, with a pause between them."""
    for look in looks:
        if not isinstance(look["data"].get("index"), dict):
            raise Failure("this daemon does not tell how far its index is: restart it with this version")
        yield look
        if look["data"]["index"]["state"] == "ready":
            return
        time.sleep(INTERVAL_S)


def progress_line(index: "dict[str, Any]") -> str:
    """How far the index is, as one line without escapes."""
    done, total = index.get("done") or 0, index.get("total") or 0
    cells = _BAR_CELLS * min(done, total) // total if total else 0
    bar = "#" * cells + "-" * (_BAR_CELLS - cells)
    return f"index {index['state']} [{bar}] {done}/{total or '?'}"


def _stream(looks: "Iterator[dict[str, Any]]") -> None:
    for look in looks:
        sys.stdout.write(json.dumps(look["data"], ensure_ascii=False) + "\n")
        sys.stdout.flush()


def _draw(looks: "Iterator[dict[str, Any]]") -> "dict[str, Any]":
    if not sys.stdout.isatty():
        return _print_changes(looks)
    try:
        from rich import progress
    except ImportError:
        return _redraw(looks)
    columns = (
        progress.TextColumn("index {task.fields[state]}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    last: dict[str, Any] = {}
    with progress.Progress(*columns) as bar:
        task = bar.add_task("index", total=None, state="cold")
        for last in looks:
            index = last["data"]["index"]
            done, total = index.get("done") or 0, index.get("total") or None
            bar.update(task, completed=done, total=total, state=output.escape(str(index["state"])))
    return last


def _redraw(looks: "Iterator[dict[str, Any]]") -> "dict[str, Any]":
    """Draw over the same line of a terminal."""
    last: dict[str, Any] = {}
    for last in looks:
        sys.stdout.write(f"\r\x1b[K{output.escape(progress_line(last['data']['index']))}")
        sys.stdout.flush()
    sys.stdout.write("\n")
    return last


def _print_changes(looks: "Iterator[dict[str, Any]]") -> "dict[str, Any]":
    """A line for each change: into a log or a pipe."""
    last: dict[str, Any] = {}
    said = ""
    for last in looks:
        line = progress_line(last["data"]["index"])
        if line != said:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        said = line
    return last


def _forever() -> "Iterator[None]":
    while True:
        yield None
