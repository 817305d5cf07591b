"""The one way to leave the loop: blocking work runs in threads, in lanes, so that fsyncs do not starve reads."""

import os
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar, TypeVarTuple, cast

import msgspec
import trio

from picoclawd.files.turns import FairTurns

ResultT = TypeVar("ResultT")
ArgsT = TypeVarTuple("ArgsT")


class Lane(StrEnum):
    """Which threads a piece of blocking work may occupy."""

    READ = "read"
    COMMIT = "commit"
    SCAN = "scan"
    INDEX = "index"
    HISTORY = "history"
    SPILL = "spill"


class LaneStatistics(msgspec.Struct, frozen=True):
    """How many threads of a lane are at work, of how many, and how many calls wait for one."""

    threads: int
    busy: int
    waiting: int


class Threads:
    """Own the thread lanes, whose turns go to the connection that had least. `history` is 1 because SQLite has one
    writer, `index` because two threads that stat were slower than one, and names must not queue behind scans; `scan`
    None means a core each, at least 2; `spill` is apart because answers that are put on disk are synced, so neither
    reads nor commits may wait for them."""

    def __init__(
        self,
        *,
        read: int = 8,
        commit: int = 8,
        scan: int | None = None,
        index: int = 1,
        history: int = 1,
        spill: int = 2,
    ) -> None:
        sizes = {
            Lane.READ: read,
            Lane.COMMIT: commit,
            Lane.SCAN: max(2, len(os.sched_getaffinity(0))) if scan is None else scan,
            Lane.INDEX: index,
            Lane.HISTORY: history,
            Lane.SPILL: spill,
        }
        self._limiters = {lane: FairTurns(size) for lane, size in sizes.items()}

    async def run(self, lane: Lane, work: Callable[[*ArgsT], ResultT], *args: *ArgsT) -> ResultT:
        """Run `work(*args)` in a thread of `lane` and return what it returns, or raise what it raises.

        Cancellation counts while the call waits for a thread; once the work runs, it is waited for, whatever
        happens, and its real outcome comes back: no thread is ever abandoned with a half-made change.
        """
        limiter = cast(trio.CapacityLimiter, self._limiters[lane])  # all that run_sync asks of one, by its docs
        return await trio.to_thread.run_sync(work, *args, limiter=limiter, abandon_on_cancel=False)

    def statistics(self) -> dict[Lane, LaneStatistics]:
        """Count each lane's threads, busy threads and waiting calls."""
        return {lane: LaneStatistics(turns.total, turns.taken, turns.waiting) for lane, turns in self._limiters.items()}
