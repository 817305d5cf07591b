"""Turns at something that there is too little of, dealt out fairly: the next goes to who had least of it lately.

In the order of asking, who asks for a thousand turns at once has everybody else wait for all of them; with one turn
each, round and round, who asks now and then waits for each of those who ask all the time. So it is time that is shared,
by start-time fair queueing (Goyal, Vin and Cheng, 1996), and who had nothing for a while has saved a little up, as
with Linux's scheduler: so he is served next. Waiting makes up for what one had, slowly: however many newcomers there
are, nobody waits for ever.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import trio

# Who the running task works for: a connection, None for the daemon itself. For fairness alone: nothing else may ask.
_asker: ContextVar[object] = ContextVar("asker", default=None)

_TURN_S = 0.0001  # what a turn costs besides the time that it is held: two switches between threads
_SAVED_MAX_S = 0.1
_WAITING_PAYS = 0.1  # seconds had that a second of waiting makes up for


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
        self._waiting: dict[object, deque[tuple[object, trio.lowlevel.Task]]] = {}
        self._since: dict[object, float] = {}  # of who waits: since when he has waited, or got a turn the last time
        self._held: dict[object, tuple[object, float]] = {}  # by borrower: whose it is, and since when
        self._had: dict[object, float] = {}  # seconds, since there last was a turn for everybody
        self._reached = 0.0  # the most that anybody had had who was served: who had less saves up to _SAVED_MAX_S

    @property
    def taken(self) -> int:
        """How many turns are taken."""
        return len(self._held)

    @property
    def waiting(self) -> int:
        """How many calls wait for a turn."""
        return sum(map(len, self._waiting.values()))

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        """Take a turn, or wait for one. A call that is cancelled while it waits has none."""
        await trio.lowlevel.checkpoint_if_cancelled()
        asker = _asker.get()
        if self.taken < self.total:
            # There is a turn for everybody: what one had is of no matter any more, but for what is going on.
            self._had = {each: self._had[each] for each, _ in self._held.values()}
            self._give(asker, borrower)
            return
        call = borrower, trio.lowlevel.current_task()
        self._waiting.setdefault(asker, deque()).append(call)
        self._since.setdefault(asker, trio.current_time())

        def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
            self._waiting[asker].remove(call)
            if not self._waiting[asker]:
                del self._waiting[asker], self._since[asker]
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)

    def release_on_behalf_of(self, borrower: object) -> None:
        """Give a turn back: it goes to the first call of who had least."""
        now = trio.current_time()
        asker, since = self._held.pop(borrower)
        self._had[asker] += now - since
        if not self._waiting:
            return
        asker = min(self._waiting, key=lambda each: self._due(each, now))
        queue = self._waiting[asker]
        borrower, task = queue.popleft()
        del self._waiting[asker], self._since[asker]
        if queue:
            self._waiting[asker], self._since[asker] = queue, now  # among those who had as much he comes last now
        self._give(asker, borrower)
        trio.lowlevel.reschedule(task)

    def _give(self, asker: object, borrower: object) -> None:
        had = self._has_had(asker)
        self._reached = max(self._reached, had)
        self._had[asker] = had + _TURN_S
        self._held[borrower] = asker, trio.current_time()

    def _due(self, asker: object, now: float) -> float:
        """What the asker has had, the turns included that it holds now, less what its waiting makes up for."""
        holds = sum(now - since for holder, since in self._held.values() if holder == asker)
        return self._has_had(asker) + holds - (now - self._since[asker]) * _WAITING_PAYS

    def _has_had(self, asker: object) -> float:
        return max(self._reached - _SAVED_MAX_S, self._had.get(asker, 0.0))
