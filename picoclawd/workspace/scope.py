"""Where a search begins, and the files that it is to look at."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from picoclawd.files import paths
from picoclawd.index.listing import Skipped

Consistency = Literal["verified", "watched"]

# Called now and then with how much was looked at; what it raises ends the work.
Poll = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a search begins. `base` is the absolute path that `directory` is relative to: the workspace, or the named
    directory itself where that is outside. `file` is the one file that was named, relative to `base`."""

    base: bytes
    directory: bytes
    inside: bool
    file: bytes | None = None

    def absolute(self, relative: bytes) -> bytes:
        """The absolute path of a candidate."""
        return paths.join(self.base, relative)


@dataclass(slots=True)
class Candidates:
    """Files to search, relative to the place's base, in order, and what was left out before."""

    place: Place
    files: list[bytes]
    consistency: Consistency
    skipped: Skipped = field(default_factory=Skipped)
    generation: int = 0
    degraded: str | None = None
