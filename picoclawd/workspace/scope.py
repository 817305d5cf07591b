"""Where a search begins, and the files that it is to look at."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from picoclawd.files import paths
from picoclawd.index.listing import NONE_SKIPPED, Skipped

Consistency = Literal["verified", "watched"]

# Called now and then with how much was looked at; what it raises ends the work.
Poll = Callable[[int], None]


class OutOfTimeError(Exception):
    """What a poll raises at a deadline: half of the names are better than none where they can be told apart."""


class Place(msgspec.Struct, frozen=True):
    """Where a search begins. `base` is the absolute path that `directory` is relative to: the workspace, or the named
    directory itself where that is outside. `file` is the one file that was named, relative to `base`."""

    base: bytes
    directory: bytes
    inside: bool
    file: bytes | None = None

    def absolute(self, relative: bytes) -> bytes:
        """The absolute path of a candidate."""
        return paths.join(self.base, relative)

    def shown(self, relative: bytes) -> bytes:
        """The path of a candidate in results: relative to the workspace, absolute outside it."""
        return relative if self.inside else self.absolute(relative)


@dataclass(slots=True)
class Candidates:
    """Files to search, relative to the place's base, in order, and what was left out before.

    `key`, where there is one, is equal for equal files. Not `complete`: the time was over before all names
    were known. `vanished` counts names that were gone again.
    """

    place: Place
    files: list[bytes]
    consistency: Consistency
    skipped: Skipped = NONE_SKIPPED
    degraded: str | None = None
    complete: bool = True
    vanished: int = 0
    key: object = None

    @property
    def identity(self) -> int:
        """Equal for equal names: whether the scope of a search is what it was."""
        return hash(tuple(self.files))
