"""Locks on places: one holder a place, the others in the order of their arrival, over all connections."""

from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import trio

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.waits import Waits

# (st_dev and st_ino of the parent directory, name): what a path means once it is resolved.
LockKey = tuple[int, int, bytes]


class LockStatistics(msgspec.Struct, frozen=True):
    """Who holds a place, for how long, how many wait for it, and how long the first of them has waited."""

    key: LockKey
    holder: str
    held_s: float
    waiters: int
    waited_s: float


@dataclass(slots=True, eq=False)
class _Caller:
    holder: str
    since_s: float
    turn: trio.Event = field(default_factory=trio.Event)


@dataclass(slots=True, eq=False)
class _Lock:
    owner: _Caller
    waiters: deque[_Caller] = field(default_factory=deque)


class LockTable:
    """The locks in use. A free place has no entry, so the table is as large as what goes on, not as the workspace.

    The rule: a lock in the table has an owner, and it passes from the owner to the first waiter in one step, so
    nobody can come between and no wake-up can be lost. Whoever leaves, by its end or by cancellation, leaves the
    same way: an owner passes on, a waiter steps out of the queue.
    """

    def __init__(self, max_waiters: int = limits.LOCK_WAITERS_MAX) -> None:
        self._max_waiters = max_waiters
        self._locks: dict[LockKey, _Lock] = {}

    @asynccontextmanager
    async def hold(self, keys: Iterable[LockKey], holder: str, waits: Waits | None = None) -> AsyncIterator[None]:
        """Hold all of `keys` for the body of the `async with`; equal keys count once.

        They are taken in sorted order, so that two calls on the same places cannot each wait for the other. Entering
        is no checkpoint while all are free: who comes first, holds. `holder` is shown in `statistics`; `waits` is told
        how long it took.

        Raises: overloaded, when too many already wait for one of them.
        """
        entered: list[tuple[LockKey, _Caller]] = []
        try:
            for key in sorted(set(keys)):
                caller = self._enter(key, holder)
                entered.append((key, caller))
                if not caller.turn.is_set():
                    with (waits or Waits()).for_locks():
                        await caller.turn.wait()
            yield
        finally:
            for key, caller in reversed(entered):
                self._leave(key, caller)

    def _enter(self, key: LockKey, holder: str) -> _Caller:
        caller = _Caller(holder, trio.current_time())
        lock = self._locks.get(key)
        if lock is None:
            self._locks[key] = _Lock(owner=caller)
            caller.turn.set()
        elif len(lock.waiters) < self._max_waiters:
            lock.waiters.append(caller)
        else:
            raise _overloaded(len(lock.waiters))
        return caller

    def _leave(self, key: LockKey, caller: _Caller) -> None:
        lock = self._locks[key]
        if lock.owner is not caller:
            lock.waiters.remove(caller)
        elif lock.waiters:
            lock.owner = lock.waiters.popleft()
            lock.owner.since_s = trio.current_time()
            lock.owner.turn.set()
        else:
            del self._locks[key]

    def statistics(self) -> list[LockStatistics]:
        """Describe every lock in use, longest held first. Ages are in seconds of trio's clock."""
        now_s = trio.current_time()
        rows = [_describe(key, lock, now_s) for key, lock in self._locks.items()]
        return sorted(rows, key=lambda row: -row.held_s)


def _describe(key: LockKey, lock: _Lock, now_s: float) -> LockStatistics:
    waited_s = now_s - lock.waiters[0].since_s if lock.waiters else 0.0
    return LockStatistics(key, lock.owner.holder, now_s - lock.owner.since_s, len(lock.waiters), waited_s)


def _overloaded(waiters: int) -> Fault:
    return Fault(
        Slug.OVERLOADED,
        f"{waiters} calls already wait for this path; nothing was done. Wait for their answers, then call again",
        waiters=waiters,
    )
