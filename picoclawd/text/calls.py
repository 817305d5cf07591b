"""The one line that a call is known by, wherever a person meets it: in a chat, in approvals, in lists."""

from collections.abc import Mapping
from typing import Any

from picoclawd.errors import Fault
from picoclawd.text import display


def call_line(method: str, params: Mapping[str, Any], target: bytes) -> str:
    """Write a call as `Remove(<path>)`, `Restore(<path> | version N | task ID)`, else as `method(<path>)`.

    `params` are the call's as they were given; `target` is what it comes down to, for a call that names no path.
    """
    named = _path(params)
    match method:
        case "remove_file":
            return f"Remove({named or display.name(target)})"
        case "restore_file" if params.get("version") is not None:
            return f"Restore(version {display.name(str(params['version']).encode('utf-8', 'replace'))})"
        case "restore_file":
            return f"Restore({named or display.name(target)})"
        case _:
            return f"{method}({named or display.name(target)})"


def _path(params: Mapping[str, Any]) -> str:
    """The path that the call names, for one row; empty where it names none."""
    encoded, path = params.get("path_bytes"), params.get("path")
    if isinstance(encoded, str):
        try:
            return display.name(display.from_path_bytes(encoded))
        except Fault:
            return display.name(encoded.encode("utf-8", "replace"))
    return display.name(path.encode("utf-8", "replace")) if isinstance(path, str) else ""
