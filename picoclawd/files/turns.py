"""Turns at something that there is too little of, dealt out fairly: those who wait take one each, round and round.

In the order of asking alone, who asks for a thousand turns at once has everybody else wait for all of them.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import trio

# Who the running task works for: a connection, None for the daemon itself. For fairness alone: nothing else may ask.
_asker: ContextVar[object] = ContextVar("asker", default=None)


@contextmanager
def working_for(asker: object) -> Iterator[None]:
    """Have all that is waited for in the body, and in the tasks that it starts, count as this asker's."""
    token = _asker.set(asker)
    try:
        yield
    finally:
        _asker.reset(token)


class FairTurns:
    """`total` turns, a limiter for `trio.to_thread.run_sync`. One asker's calls keep their order. On the loop only."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken = 0
        self._waiting: dict[object, deque[trio.lowlevel.Task]] = {}
        self._round: deque[object] = deque()  # the keys of `_waiting`: whose turn it is first

    @property
    def waiting(self) -> int:
        """How many calls wait for a turn."""
        return sum(map(len, self._waiting.values()))

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        """Take a turn, or wait for one. A call that is cancelled while it waits has none."""
        await trio.lowlevel.checkpoint_if_cancelled()
        if self.taken < self.total:
            self.taken += 1
            return
        asker, task = _asker.get(), trio.lowlevel.current_task()
        if asker not in self._waiting:
            self._waiting[asker] = deque()
            self._round.append(asker)
        self._waiting[asker].append(task)

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            self._waiting[asker].remove(task)
            if not self._waiting[asker]:
                del self._waiting[asker]
                self._round.remove(asker)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    def release_on_behalf_of(self, borrower: object) -> None:
        """Give a turn back: it goes to the next asker's first call."""
        if not self._round:
            self.taken -= 1
            return
        asker = self._round.popleft()
        queue = self._waiting[asker]
        task = queue.popleft()
        if queue:
            self._round.append(asker)
        else:
            del self._waiting[asker]
        trio.lowlevel.reschedule(task)
