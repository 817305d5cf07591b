"""How results name files: `path` as the tools take it, `path_bytes` where it is not UTF-8, and where it led."""

from typing import Any

from picoclawd.files.paths import WsPath
from picoclawd.text import display


def names_of(path: WsPath, real: bytes) -> dict[str, Any]:
    """The members `path`, `resolved_path` and, where the name is not valid UTF-8, `path_bytes` of a result's data.

    `path` is relative to the workspace, absolute outside of it.
    """
    shown = path.absolute if path.relative is None else path.relative or b"."
    name, path_bytes = display.data_name(shown)
    names: dict[str, Any] = {"path": name, "resolved_path": display.data_name(real)[0]}
    return names if path_bytes is None else names | {"path_bytes": path_bytes}
