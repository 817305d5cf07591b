"""One set of watches that was made at one time, and when to make one of several: the child's half of the watcher.

watchfiles cannot add a directory to what it watches. To watch everything anew for each new directory would cost 14 us
for each of all the others, and a gap in which events are missed. So new directories get a set of watches of their own,
a generation, and small generations are made one again as they gather: there are few, and every directory is watched
anew only as often as the sets have grown fourfold.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

_SMALL = 256  # directories; to watch so many anew takes 4 ms
_GROWTH = 4

# watchfiles.Change: added and deleted are said of moves, too; 2, modified, matters to nobody here.
ADDED = 1
DELETED = 3
Changes: TypeAlias = set[tuple[int, str]]


class BadName(Exception):
    """A name that the backend cannot read came up in `directory`; what it had to tell besides is lost."""

    def __init__(self, directory: bytes) -> None:
        super().__init__(directory)
        self.directory = directory


class Failed(Exception):
    """The backend cannot watch, or has stopped watching; the message says why and what helps."""


class Backend(Protocol):
    """A running set of watches."""

    def watch(self, stop: threading.Event) -> Changes | None:
        """Block until there is something to tell, and return it; None soon after `stop` is set.

        Raises: BadName; Failed. Nothing more comes from the backend after that.
        """

    def close(self) -> None:
        """Give the watches back."""


@dataclass(eq=False, slots=True)
class Generation:
    """Directories that one backend watches, and the thread that hears it.

    `cookie` is the highest cookie number that came up here; the owner changes it under its lock.
    """

    backend: Backend
    directories: frozenset[bytes]
    cookie: int
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(
        self, heard: Callable[["Generation", Changes], None], broken: Callable[["Generation", Exception], None]
    ) -> None:
        """Hear the backend in a thread of its own: `heard` for each batch, `broken` once, at its end."""
        self._thread = threading.Thread(target=self._hear, args=(heard, broken), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and the watches. Blocks until a batch that is being told has been told."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.backend.close()

    def _hear(
        self, heard: Callable[["Generation", Changes], None], broken: Callable[["Generation", Exception], None]
    ) -> None:
        try:
            while (changes := self.backend.watch(self._stop)) is not None:
                heard(self, changes)
        except (BadName, Failed) as exc:
            broken(self, exc)


def to_absorb(generations: Iterable[Generation], new: int, told: Callable[[bytes], bool]) -> Sequence[Generation]:
    """Choose the generations that a new one of `new` directories takes in.

    The small ones, those less than four times what has gathered, and those of which more than half is no longer told.
    """
    chosen = []
    gathered = new
    for generation in sorted(generations, key=lambda each: len(each.directories)):
        size = len(generation.directories)
        live = sum(map(told, generation.directories))
        if size <= max(_SMALL, _GROWTH * gathered) or 2 * live < size:
            chosen.append(generation)
            gathered += live
    return chosen
