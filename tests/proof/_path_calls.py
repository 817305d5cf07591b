"""A call of every method that takes a path, aimed at each trap of `_traps`."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tests.proof._traps import INSIDE

Named = tuple[str, dict[str, Any]]

FILES = ("p/f.txt", "f", "r", "m/f.txt", "m/up", "m/sub/up", "m/sub/back/ok.txt", "q/f.txt", "g", "pipe")
DIRECTORIES = (".", "p", "m", "m/sub", "m/sub/back", "q")
# What a file may be removed from: `f`, `r` and the links have to stay, or nothing is swapped any more.
REMOVED = ("p/f.txt", "m/f.txt", "p/new.txt", "m/new.txt", "m/sub/back/new.txt")
# What a call is found by in a schema, if it takes a path.
PATH_PARAMETERS = frozenset({"path", "path_bytes", "files", "queries", "dir"})

_PATTERN = "sings|inside"
_HUNK = f"@@\n-{INSIDE}+{INSIDE}"


def reads(turn: int) -> list[Named]:
    """Calls that change nothing, for agents."""
    file, directory = FILES[turn % len(FILES)], DIRECTORIES[turn % len(DIRECTORIES)]
    return [
        ("read_file", {"path": file}),
        ("read_file", {"path": file, "mode": "lines"}),
        ("read_files", {"files": [{"path": each} for each in FILES]}),
        ("list_dir", {"path": directory}),
        ("search_files", {"pattern": _PATTERN, "path": directory}),
        ("search_files", {"pattern": _PATTERN, "path": file}),
        ("search_files", {"pattern": "*", "target": "files", "path": directory}),
        ("find_files", {"queries": [{"dir": directory}]}),
        ("find_files", {"queries": [{"dir": directory, "pattern": "*.txt"}]}),
        (
            "find_files",
            {"queries": [{"dir": directory, "pattern": _PATTERN, "file_pattern": "*"}], "output": "content"},
        ),
        ("file_history", {"path": file}),
        ("file_history", {"path": file, "mode": "read"}),
        ("open_file", {"path": file, "_meta": {"dry_run": True}}),
    ]


def writes(turn: int) -> list[Named]:
    """Calls that change something, for agents."""
    file, gone = FILES[turn % len(FILES)], REMOVED[turn % len(REMOVED)]
    new = ("p/made{}/new.txt", "m/made{}/new.txt", "m/sub/back/made{}/new.txt", "q/new{}.txt")[turn % 4].format(
        turn % 50
    )
    return [
        ("write_file", {"path": file, "content": INSIDE, "overwrite": True}),
        ("write_file", {"path": file, "content": f"{INSIDE}{turn}\n", "overwrite": True}),
        ("write_file", {"path": new, "content": INSIDE}),
        ("write_file", {"path": gone, "content": INSIDE, "overwrite": True}),
        ("append_file", {"path": file, "content": f"{turn}\n"}),
        ("append_file", {"path": new, "content": INSIDE}),
        ("edit_file", {"path": file, "old_text": INSIDE, "new_text": f"{INSIDE}{turn}\n"}),
        ("edit_file", {"path": file, "patch": _HUNK}),
        ("edit_file", {"path": file, "targets": [{"old_string": INSIDE, "new_string": f"{turn}\n{INSIDE}"}]}),
        ("edit_file", {"path": file, "content": INSIDE}),
        ("remove_file", {"path": gone}),
        ("remove_file", {"path": new}),
        ("restore_file", {"version": 1 + turn % 20, "force": True}),
        ("restore_file", {"task_id": "raced", "path": gone, "force": True}),
    ]


def of_people(turn: int) -> list[Named]:
    """Calls that only an operator may make."""
    file, gone = FILES[turn % len(FILES)], REMOVED[turn % len(REMOVED)]
    return [
        ("read_file", {"path": file, "encoding": "base64"}),
        ("workspace.why", {"path": file}),
        ("history.blame", {"path": file}),
        ("history.diff", {"from": "2020-01-01", "path": file}),
        ("history.undo", {"task_id": "raced", "path": gone, "force": True}),
        ("history.purge", {"path": f"p/made{turn % 50}/new.txt"}),
        ("editor.dirty", {"path": f"p/made{turn % 50}/none.txt"}),
        ("editor.dirty", {"path": "m/sub/back/none.txt"}),
        ("editor.clean", {"path": f"p/made{turn % 50}/none.txt"}),
        ("editor.clean", {"path": "m/sub/back/none.txt"}),
    ]


def endless(*parts: Any) -> Iterator[Named]:
    """All calls of these parts, over and over, each time with other paths."""
    for turn in itertools.count():
        for part in parts:
            yield from part(turn)


def forgotten(methods: Sequence[dict[str, Any]]) -> set[str]:
    """Which methods of an OpenRPC document take a path and are not called here."""
    taking = {
        method["name"] for method in methods if PATH_PARAMETERS & {parameter["name"] for parameter in method["params"]}
    }
    called = {name for part in (reads, writes, of_people) for name, _ in part(0)}
    return taking - called
