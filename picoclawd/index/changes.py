"""What came and went in the tree since somebody last asked: the source of `file.changed`, and of what is watched."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from picoclawd.index.listing import Kind, Listing, is_visible, kind_of

CHANGES_MAX = 200_000  # names kept while nobody asks: more than that is told in one word


class Found(NamedTuple):
    """A name of the tree, relative to the root, and what it is."""

    path: bytes
    kind: Kind


class Difference(msgspec.Struct, frozen=True):
    """The visible entries that are there and were not, and the other way round: net, in no order.

    A file that became a directory is in both. `passing` are files that came and went, or went and came back: no
    difference, but one half of it may have been told already, and they may be other files. `rules_changed`: some may
    have come or gone by an ignore rule or the policy, with nothing done to them. Not `complete`: there was more than
    could be kept, so look at everything.
    """

    created: tuple[Found, ...] = ()
    removed: tuple[Found, ...] = ()
    passing: tuple[bytes, ...] = ()
    rules_changed: bool = False
    complete: bool = True


class Changes:
    """Collect what comes and goes. Not safe between threads by itself."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._created: dict[bytes, Kind] = {}
        self._removed: dict[bytes, Kind] = {}
        self._passing: dict[bytes, None] = {}
        self._complete = True
        self.rules_changed = False

    def replaced(self, directory: bytes, old: Listing, new: Listing) -> None:
        """Note that a directory holds other entries than it did."""
        before, after = set(old.entries()), set(new.entries())
        self._note(_visible(directory, before - after), self._created, self._removed)
        self._note(_visible(directory, after - before), self._removed, self._created)

    def take(self) -> Difference:
        """Give everything since the last call."""
        difference = Difference(
            tuple(Found(path, kind) for path, kind in self._created.items()),
            tuple(Found(path, kind) for path, kind in self._removed.items()),
            tuple(self._passing),
            self.rules_changed,
            self._complete,
        )
        self._begin()
        return difference

    def _note(self, found: Iterable[Found], undone: dict[bytes, Kind], done: dict[bytes, Kind]) -> None:
        for path, kind in found:
            if undone.get(path) is kind:
                del undone[path]
                if kind is Kind.FILE:
                    self._passing[path] = None
            else:
                done[path] = kind
        if len(done) > CHANGES_MAX or len(self._passing) > CHANGES_MAX:
            self._created, self._removed, self._passing, self._complete = {}, {}, {}, False


def _visible(directory: bytes, entries: Iterable[tuple[bytes, int]]) -> Iterator[Found]:
    prefix = directory + b"/" if directory else b""
    return (Found(prefix + name, kind_of(mark)) for name, mark in entries if is_visible(mark))
