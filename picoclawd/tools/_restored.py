"""What became of files that were restored, as rows for whoever asked."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.text import display
from picoclawd.tools._diffs import shown_diff
from picoclawd.tools._failure import ChangeFailure, change_failure_of
from picoclawd.tools._spec import Cleaner
from picoclawd.workspace.restoring import Restored

_ACTIONS: dict[str, Literal["created", "modified", "removed", "unchanged"]] = {
    "created": "created",
    "replaced": "modified",
    "removed": "removed",
    "unchanged": "unchanged",
}


class FileData(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file. `version` is the restore's own, which history lists."""

    path: str
    path_bytes: str | UnsetType = UNSET
    action: Literal["created", "modified", "removed", "unchanged", "failed"]
    version: int | None
    restorable: bool | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    error: ChangeFailure | UnsetType = UNSET


def text_of(done: Sequence[Restored], cleaner: Cleaner, *, dry_run: bool) -> str:
    """A line for each file; of a dry run with what would change in it."""
    rows: list[str] = []
    for each in done:
        rows.append(_row(each, dry_run))
        if dry_run and each.sides is not None and each.fault is None:
            rows += filter(None, [shown_diff(cleaner, each.path.given, *each.sides)])
    return "\n".join(rows) if rows else "There is nothing to undo: no file was changed."


def answer_of(done: Sequence[Restored], cleaner: Cleaner, *, dry_run: bool) -> tuple[str, dict[str, Any]]:
    """The text, and what `data` says of each file."""
    data: dict[str, Any] = {"files": [msgspec.to_builtins(file_data(each)) for each in done]}
    if dry_run:
        data["dry_run"] = True
    return text_of(done, cleaner, dry_run=dry_run), data


def _row(each: Restored, dry_run: bool) -> str:
    name = each.path.given
    if each.fault is not None:
        return f"[{each.fault.slug.value}] {name}: " + " ".join(each.fault.message.splitlines())
    assert each.changed is not None  # one of the two is always there
    action = _ACTIONS[each.changed.action]
    if action == "unchanged":
        return f"unchanged {name}: it is in that state already"
    if dry_run:
        return f"would be {action}: {name}"
    if each.changed.version is None or not each.changed.restorable:
        return f"{action} {name} (this cannot be undone: {each.changed.reason})"
    return f"{action} {name} (version {each.changed.version})"


def file_data(each: Restored) -> FileData:
    """One file's member of `data.files`."""
    relative = each.path.absolute if each.path.relative is None else each.path.relative
    name, path_bytes = display.data_name(relative)
    encoded = UNSET if path_bytes is None else path_bytes
    if each.changed is None or each.fault is not None:
        failure = UNSET if each.fault is None else change_failure_of(each.fault)
        return FileData(path=name, path_bytes=encoded, action="failed", version=None, error=failure)
    changed = each.changed
    recorded_now = changed.version is not None
    return FileData(
        path=name,
        path_bytes=encoded,
        action=_ACTIONS[changed.action],
        version=changed.version,
        restorable=changed.restorable if recorded_now else UNSET,
        reason=changed.reason or UNSET,
    )
