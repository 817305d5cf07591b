"""What one directory holds, each entry with its verdict: the one meaning of ignored, protected and too deep.

Pure. The cached tree and the fresh walk both judge here, so that they cannot differ.
"""

from bisect import bisect_left
from collections.abc import Iterator
from enum import IntEnum
from typing import Protocol

import msgspec

from picoclawd import limits
from picoclawd.index.ignore import Scope


class Hiding(Protocol):
    """What no tool may show, whatever the ignore rules say; paths are relative to the root."""

    def hides(self, path: bytes, is_directory: bool) -> bool:
        """Tell whether an entry, of a directory that is not hidden itself, is left out."""
        ...

    def may_hide(self, directory: bytes, names: tuple[bytes, ...]) -> bool:
        """Tell whether `hides` could say so of any of these entries of `directory`. It must not miss one."""
        ...


class Kind(IntEnum):
    """What an entry is; a link is a link, wherever it points."""

    FILE = 0
    DIRECTORY = 1
    SYMLINK = 2
    SPECIAL = 3


# A mark is a kind with at most one of these; without one the entry is visible.
IGNORED = 4
PROTECTED = 8
TOO_DEEP = 16

_KIND_BITS = 3
_TO_KINDS = bytes(mark & _KIND_BITS for mark in range(256))


class Seen(msgspec.Struct, frozen=True):
    """The names of a directory, sorted as bytes, and their kinds: one byte each, a `Kind`."""

    names: tuple[bytes, ...]
    kinds: bytes


class Listing(msgspec.Struct, frozen=True):
    """The names of a directory, sorted as bytes, and their marks: one byte each."""

    names: tuple[bytes, ...] = ()
    marks: bytes = b""

    @property
    def seen(self) -> Seen:
        """The listing without its verdicts."""
        return Seen(self.names, self.marks.translate(_TO_KINDS))

    def entries(self) -> Iterator[tuple[bytes, int]]:
        """Give each name with its mark, in order."""
        return zip(self.names, self.marks, strict=True)

    def directories(self) -> set[bytes]:
        """The names of the visible directories."""
        if Kind.DIRECTORY not in self.marks:
            return set()
        return {name for name, mark in self.entries() if mark == Kind.DIRECTORY}

    def mark(self, name: bytes) -> int | None:
        """The mark of a name, None where there is no such entry."""
        index = bisect_left(self.names, name)
        return self.marks[index] if self.names[index : index + 1] == (name,) else None

    def with_entry(self, name: bytes, mark: int | None) -> "Listing":
        """The listing with one entry set, or with it gone where `mark` is None."""
        index = bisect_left(self.names, name)
        after = index + (self.names[index : index + 1] == (name,))
        added = (name,) if mark is not None else ()
        added_mark = bytes((mark,)) if mark is not None else b""
        return Listing(
            self.names[:index] + added + self.names[after:],
            self.marks[:index] + added_mark + self.marks[after:],
        )


def kind_of(mark: int) -> Kind:
    """Give the kind that a mark holds."""
    return Kind(mark & _KIND_BITS)


def is_visible(mark: int) -> bool:
    """Tell whether a mark bears no verdict against its entry."""
    return mark <= _KIND_BITS


class Skipped(msgspec.Struct, frozen=True):
    """How many entries a search leaves out, and why. A directory counts once, whatever lies below it."""

    ignored: int = 0
    protected: int = 0
    special: int = 0
    unreadable: int = 0
    too_deep: int = 0

    def plus(self, other: "Skipped") -> "Skipped":
        """Add the counts of two places. `NONE_SKIPPED` itself costs nothing."""
        if self is NONE_SKIPPED:
            return other
        if other is NONE_SKIPPED:
            return self
        return Skipped(
            self.ignored + other.ignored,
            self.protected + other.protected,
            self.special + other.special,
            self.unreadable + other.unreadable,
            self.too_deep + other.too_deep,
        )


NONE_SKIPPED = Skipped()


def skipped_in(listing: Listing) -> Skipped:
    """Count what a listing itself leaves out."""
    if not listing.marks or max(listing.marks) < Kind.SPECIAL:
        return NONE_SKIPPED
    return Skipped(
        ignored=_count(listing.marks, IGNORED),
        protected=_count(listing.marks, PROTECTED),
        special=listing.marks.count(Kind.SPECIAL),
        too_deep=_count(listing.marks, TOO_DEEP),
    )


def _count(marks: bytes, verdict: int) -> int:
    return sum(marks.count(verdict | kind) for kind in Kind)


class Judge:
    """The verdicts on the entries of one directory, `directory` being its path relative to the root."""

    def __init__(self, directory: bytes, scope: Scope, hiding: Hiding) -> None:
        self._directory = directory
        self._scope = scope
        self._hiding = hiding
        self._prefix = directory + b"/" if directory else b""
        depth = self._prefix.count(b"/")
        self._may_descend = depth + 1 < limits.PATH_DEPTH_MAX  # what lies in a subdirectory must have a usable path
        self._name_max_bytes = limits.PATH_MAX_BYTES - 1 - len(self._prefix)

    def judge(self, seen: Seen) -> Listing:
        """Mark every entry."""
        hides = self._hiding.may_hide(self._directory, seen.names)
        mark = self.mark if hides else self._mark_shown
        return Listing(seen.names, bytes(map(mark, seen.names, seen.kinds)))

    def mark(self, name: bytes, kind: int) -> int:
        """Mark one entry. A protected name counts as such also where a rule ignores it: to name it helps nobody."""
        if self._hiding.hides(self._prefix + name, kind == Kind.DIRECTORY):
            return kind | PROTECTED
        return self._mark_shown(name, kind)

    def _mark_shown(self, name: bytes, kind: int) -> int:
        is_directory = kind == Kind.DIRECTORY
        if self._scope.verdict(name, is_directory):
            return kind | IGNORED
        if (is_directory and not self._may_descend) or len(name) > self._name_max_bytes:
            return kind | TOO_DEEP
        return kind
