"""Decide whether a session knows the file that it is about to change, and say all that helps where it does not.

Pure but for reading the file that it is given: call it under the path's lock, in the thread that will write.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files import stamps
from picoclawd.files.stamps import Stamp
from picoclawd.text import diff
from picoclawd.text.diff import DiffLine
from picoclawd.workspace.events import By
from picoclawd.workspace.ledger import Entry

RANGES_MAX = 20  # of the rows that an error names: more would help nobody to choose

Setting = Literal["content", "mtime", "anchors", "off"]


class File(Protocol):
    """The file as it is now; `change.Old` is one. `stamp` is None where there is no file."""

    @property
    def stamp(self) -> Stamp | None:
        """The facts of its stat."""

    @property
    def data(self) -> bytes:
        """All bytes."""

    def sha256(self) -> str:
        """The hash of all bytes."""


class LastChange(msgspec.Struct, frozen=True):
    """Who changed a file last; `at` is in seconds of the epoch, None where nobody saw it happen."""

    by: By
    at: float | None = None


def _unknown() -> LastChange | None:
    return None


class Guard(msgspec.Struct, frozen=True):
    """One call, and what its session knows of the file.

    `anchors` are the old strings of the `targets` form as bytes, empty for a form that replaces the whole file.
    `last_change` is only asked where the file is not fresh; it may answer None for not known. `if_match` is the
    sha256 that the caller passed. `read_tool` is the tool that the error names as the next call.
    """

    given: str
    setting: Setting
    entry: Entry | None
    ledger_is_empty: bool = False
    if_match: str | None = None
    anchors: Sequence[bytes] = ()
    last_change: Callable[[], LastChange | None] = _unknown
    read_tool: Literal["read_files", "read_file"] = "read_files"


class Fresh(msgspec.Struct, frozen=True):
    """The call may go on. `changed` is the diff of what else changed since the session's read, bounded: file text,
    for the answer; empty where nothing did."""

    changed: tuple[DiffLine, ...] = ()


_FRESH = Fresh()


def check(guard: Guard, file: File) -> Fresh:
    """Let an edit go on whose session has read the file as it is now: `targets`, and `content` over a file.

    A sha256 in `if_match` that is the file's counts as a read. Where there is no file, nothing can be stale.

    Raises: not_fresh, with `sha256`, and where it is known `changed_by`, `rows` (1-based ranges to read again) and
    the diff since the session's read as the excerpt.
    """
    if guard.setting == "off" or file.stamp is None or _is_named(guard, file):
        return _FRESH
    if guard.entry is None:
        raise _not_read(guard, file)
    if not is_unchanged(guard.entry, file):
        return _beside_the_change(guard, guard.entry, file)
    if guard.setting == "mtime" and guard.entry.stamp.mtime_ns != file.stamp.mtime_ns:
        raise _touched(guard, file)
    return _FRESH


def check_overwrite(guard: Guard, file: File) -> None:
    """Refuse to overwrite a file that the session has read and that changed since; one never read may be.

    The setting is not looked at: ask only where `tools.write_file.refuse_known_stale` is on.

    Raises: not_fresh, as `check`.
    """
    known = guard.entry is not None and file.stamp is not None and not _is_named(guard, file)
    if known and guard.entry is not None and not is_unchanged(guard.entry, file):
        raise _stale(guard, guard.entry, file)


def is_unchanged(entry: Entry, file: File) -> bool:
    """Tell whether a file holds what the session read: the same bytes; over limits.SHA256_MAX_BYTES, the same inode,
    size and mtime. A touch is no change."""
    stamp = file.stamp
    if stamp is None or stamp.size != entry.stamp.size:
        return False
    if entry.sha256 is not None and stamp.size <= limits.SHA256_MAX_BYTES:
        return file.sha256() == entry.sha256
    return stamps.same_content(entry.stamp, stamp)


def _is_named(guard: Guard, file: File) -> bool:
    return guard.if_match is not None and guard.if_match == file.sha256()


def _beside_the_change(guard: Guard, entry: Entry, file: File) -> Fresh:
    """What else changed, where the setting is "anchors" and every anchor lies beside it.

    Raises: not_fresh.
    """
    if guard.setting != "anchors" or not guard.anchors or entry.data is None:
        raise _stale(guard, entry, file)
    spans = [_span(anchor, entry.data, file.data) for anchor in guard.anchors]
    changes = _changes(entry.data, file.data)
    if not all(span is not None and changes.spare(*span) for span in spans):
        raise _stale(guard, entry, file)
    return Fresh(_shown(guard.given, entry.data, file.data))


def _span(anchor: bytes, before: bytes, after: bytes) -> tuple[int, int] | None:
    """The first and last line, 0-based, that the anchor covers in `after`; None unless both hold it exactly once.

    One that is written with LF may mean CRLF, as when it is applied.
    """
    for form in (anchor, anchor.replace(b"\n", b"\r\n")):
        if form and _occurs_once(form, before) and _occurs_once(form, after):
            start = after.find(form)
            return after.count(b"\n", 0, start), after.count(b"\n", 0, start + len(form) - 1)
    return None


def _occurs_once(form: bytes, text: bytes) -> bool:
    """Counted with overlaps: of two places that share bytes neither is the one that is meant."""
    start = text.find(form)
    return start >= 0 and text.find(form, start + 1) < 0


class _Changes(msgspec.Struct, frozen=True):
    """What differs, in lines of the newer text, 0-based: those that are new, and those before which some are gone."""

    new: frozenset[int]
    gone_before: frozenset[int]

    def spare(self, first: int, last: int) -> bool:
        """Whether nothing changed from line `first` to line `last`, nor between them."""
        inside = range(first, last + 1)
        return self.new.isdisjoint(inside) and self.gone_before.isdisjoint(inside[1:])

    def ranges(self) -> list[list[int]]:
        """The rows to read again, 1-based with both ends: the new ones, and where there are gone ones the next."""
        ranges: list[list[int]] = []
        for index in sorted(self.new | self.gone_before):
            if ranges and ranges[-1][1] == index:
                ranges[-1][1] = index + 1
            else:
                ranges.append([index + 1, index + 1])
        return ranges


def _changes(before: bytes, after: bytes) -> _Changes:
    new: set[int] = set()
    gone: set[int] = set()
    index = 0
    for row in diff.unified("", before, after, context=before.count(b"\n") + after.count(b"\n") + 2):
        if row.kind == "removed":
            gone.add(index)
        elif row.kind != "header":
            if row.kind == "added":
                new.add(index)
            index += 1
    return _Changes(frozenset(new), frozenset(gone))


def _shown(given: str, before: bytes, after: bytes) -> tuple[DiffLine, ...]:
    rows, _ = diff.bounded(diff.unified(given, before, after), limits.DIFF_MODEL_MAX_CHARS)
    return rows


def _not_read(guard: Guard, file: File) -> Fault:
    restarted = (
        " (The session has read nothing yet. What was read before the daemon was restarted, or on another connection, "
        "does not count.)"
        if guard.ledger_is_empty
        else ""
    )
    return _fault(
        guard, file, f"this session has not read the file, so it cannot know what it would change.{restarted}"
    )


def _touched(guard: Guard, file: File) -> Fault:
    what = (
        "its modification time has moved since this session read it, though its bytes are the same "
        '(tools.edit_file.freshness is "mtime").'
    )
    return _fault(guard, file, what, **_who(guard.last_change()))


def _stale(guard: Guard, entry: Entry, file: File) -> Fault:
    last = guard.last_change()
    what = f"the file changed since this session read it{_by(last)}."
    if entry.data is None or not _is_small_text(file):
        return _fault(guard, file, what, **_who(last), **_all_rows(file))
    if b"\0" in entry.data[: limits.BINARY_SNIFF_BYTES]:
        return _fault(guard, file, what, **_who(last))
    rows = _shown(guard.given, entry.data, file.data)
    ranges = _changes(entry.data, file.data).ranges()[:RANGES_MAX]
    text = "\n".join(row.text for row in rows)
    return _fault(guard, file, f"{what} The diff since then is below.", text, **_who(last), rows=ranges)


def _fault(guard: Guard, file: File, what: str, excerpt: str = "", **data: Any) -> Fault:
    rows = data.get("rows")
    where = ""
    if rows and not excerpt:
        where = f"rows {rows[0][0]} to {rows[-1][1]} of "
    sha256 = file.sha256()
    other = "read_file" if guard.read_tool == "read_files" else "read_files"
    return Fault(
        Slug.NOT_FRESH,
        f"{guard.given}: {what} Nothing was written. Read {where}it with {guard.read_tool} or {other}, decide on what "
        f"it holds now, then call again (or, if you know these bytes, with if_match={sha256}).",
        excerpt=excerpt,
        next_call=_next_call(guard),
        sha256=sha256,
        **data,
    )


def _next_call(guard: Guard) -> NextCall:
    if guard.read_tool == "read_files":
        return NextCall("read_files", {"files": [{"path": guard.given}]})
    return NextCall("read_file", {"path": guard.given})


def _by(last: LastChange | None) -> str:
    if last is None:
        return ""
    if isinstance(last.by, str):
        return ", by a program outside picoclawd (an editor, a formatter, a command)"
    client = f"{last.by.client!r} " if last.by.client else ""
    return f", by {last.by.tool} of {client}session {last.by.session_id}"


def _who(last: LastChange | None) -> dict[str, Any]:
    if last is None:
        return {}
    by = last.by
    who = by if isinstance(by, str) else {"session_id": by.session_id, "client": by.client, "tool": by.tool}
    return {"changed_by": who} if last.at is None else {"changed_by": who, "changed_at": last.at}


def _is_small_text(file: File) -> bool:
    """Whether the file is one to make a diff of, and not of a size that no longer can be read whole."""
    size = 0 if file.stamp is None else file.stamp.size
    return size <= limits.SHA256_MAX_BYTES and b"\0" not in file.data[: limits.BINARY_SNIFF_BYTES]


def _all_rows(file: File) -> dict[str, Any]:
    """All rows of a text are to be read again, where nobody can tell which of them changed."""
    if not _is_small_text(file):
        return {}
    row_count = file.data.count(b"\n") + (not file.data.endswith(b"\n"))
    return {"rows": [[1, row_count]]} if file.data else {}
