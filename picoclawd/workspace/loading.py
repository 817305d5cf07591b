"""Load texts in the background, in small steps and without hurry, so that the first search finds them there.

Where there is no room for more, files are read all the same, for their trigrams.
"""

import time
from collections.abc import Callable
from typing import Literal

import msgspec
import trio

from picoclawd import limits
from picoclawd.files import closing
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.contents import Allowance, Large, Trouble
from picoclawd.index.corpus import Corpus

JOIN_AT_BYTES = 16 * limits.MIB  # joining copies: little at a time, so that memory does not double
STEP_S = 0.004  # of a thread, and of the GIL in between: others hardly notice
_PAUSE_MIN_S = 0.001
_PAUSE_SHARE = 0.3  # of the time that a step took
_MISSES_MAX = 64  # files in a row that do not fit any more: the budget is as good as full
_NO_LIMIT = 1 << 62


class Progress(msgspec.Struct, frozen=True):
    """How far the load is: of `done` of `total` files the text is loaded, or the trigrams are noted, or there is
    nothing to keep. Where there are more files than can be kept account of, `total` leaves them out in the end.
    """

    done: int
    total: int


class Loader:
    """Fill `contents` from the files that `names` gives, whenever that is due. `names` blocks; None: not known yet."""

    def __init__(self, contents: Corpus, threads: Threads, names: Callable[[], list[bytes] | None]) -> None:
        self._contents = contents
        self._threads = threads
        self._names = names
        self._due = trio.Event()
        self._progress = Progress(0, 0)
        self._trigrams: Literal["cold", "building", "ready"] = "cold"

    def due(self) -> None:
        """Ask for another round: there are new names. On the loop."""
        self._due.set()

    def progress(self) -> Progress:
        """How far the last round is."""
        return self._progress

    async def run(self) -> None:
        """Load until cancelled."""
        while True:
            await self._due.wait()
            self._due = trio.Event()
            files = await self._threads.run(Lane.INDEX, self._names)
            if files is not None:
                await self._load(files)
                await self._index()
                await self._note(files)

    def trigrams(self) -> Literal["cold", "building", "ready"]:
        """How far the trigrams of what was loaded are."""
        return self._trigrams

    async def _index(self) -> None:
        """Join what was loaded, and note its trigrams, in small steps too."""
        self._trigrams = "building"
        await self._threads.run(Lane.READ, self._contents.join)
        while True:
            if await self._threads.run(Lane.READ, self._index_step):
                break
            await trio.sleep(_PAUSE_MIN_S)

    def _index_step(self) -> bool:
        end = time.monotonic() + STEP_S
        return self._contents.index_trigrams(lambda: time.monotonic() > end)

    async def _note(self, files: list[bytes]) -> None:
        """Note the trigrams of all files whose text was not loaded."""
        missing = await self._threads.run(Lane.READ, self._contents.start_noting, files)
        while True:
            self._progress = Progress(len(files) - missing, len(files))
            began = trio.current_time()
            looked = await self._threads.run(Lane.READ, self._note_step)
            if not looked:
                break
            missing -= looked
            await self._pause(began)
        self._progress = Progress(len(files) - missing, len(files) - missing)
        self._trigrams = "ready"

    def _note_step(self) -> int:
        """How many files were looked at, 0 at the end."""
        end = time.monotonic() + STEP_S
        looked = last = self._contents.note()
        while last and time.monotonic() < end:
            last = self._contents.note()
            looked += last
        return looked

    async def _load(self, files: list[bytes]) -> None:
        done = misses = 0
        while done < len(files) and misses < _MISSES_MAX:
            began = trio.current_time()
            done, misses = await self._threads.run(Lane.READ, self._step, files, done, misses)
            self._progress = Progress(done - misses, len(files))
            if self._contents.loose_bytes() > JOIN_AT_BYTES:
                await self._threads.run(Lane.READ, self._contents.join)
            await self._pause(began)

    async def _pause(self, began: float) -> None:
        await trio.sleep(max(_PAUSE_MIN_S, (trio.current_time() - began) * _PAUSE_SHARE))

    def _step(self, files: list[bytes], done: int, misses: int) -> tuple[int, int]:
        """Load some files; how many are done then, and how many of the last in a row did not fit."""
        end = time.monotonic() + STEP_S
        while done < len(files) and misses < _MISSES_MAX and time.monotonic() < end:
            path = files[done]
            done += 1
            if self._contents.has(path):
                continue
            found = self._contents.text(path, Allowance(_NO_LIMIT, self._contents.room()))
            if isinstance(found, Large):
                closing.close(found.fd)
            misses = misses + 1 if found is Trouble.OVER_BUDGET else 0
        return done, misses
