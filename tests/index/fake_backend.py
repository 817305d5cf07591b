"""Watches that only a test makes happen, and an ear for what the keeper writes."""

import queue
import threading
from collections.abc import Callable, Sequence

from picoclawd.index.watcher_generations import Changes, Failed

DEADLINE_S = 10.0


class FakeBackend:
    """`happen` what the keeper shall hear: changes, or an exception that it shall meet."""

    def __init__(self, directories: Sequence[bytes] = ()) -> None:
        self.directories = set(directories)
        self.closed = False
        self._events: queue.SimpleQueue[Changes | Exception] = queue.SimpleQueue()

    def happen(self, event: Changes | Exception) -> None:
        self._events.put(event)

    def watch(self, stop: threading.Event) -> Changes | None:
        while not stop.is_set():
            try:
                event = self._events.get(timeout=0.005)
            except queue.Empty:
                continue
            if isinstance(event, Exception):
                raise event
            return event
        return None

    def close(self) -> None:
        self.closed = True


class Maker:
    """Make backends, as long as all that live hold no more than `room` directories."""

    def __init__(self, room: int = 1_000_000) -> None:
        self.room = room
        self.made: list[FakeBackend] = []

    def __call__(self, directories: Sequence[bytes]) -> FakeBackend:
        if len(directories) + sum(len(each.directories) for each in self.made if not each.closed) > self.room:
            raise Failed("watch limit reached")
        self.made.append(FakeBackend(directories))
        return self.made[-1]


class Ear:
    """The lines that were written, in order."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._change = threading.Condition()

    def write(self, block: bytes) -> None:
        with self._change:
            self.lines += block.splitlines()
            self._change.notify_all()

    def wait_for(self, condition: Callable[[list[bytes]], object]) -> None:
        """Block until the lines are as wished; fails with what there is instead."""
        with self._change:
            if not self._change.wait_for(lambda: condition(self.lines), DEADLINE_S):
                raise AssertionError(f"waited in vain; heard {self.lines[-20:]}")

    def wait(self, *expected: bytes) -> list[bytes]:
        """Block until all these lines came; returns all that came, and forgets it."""
        self.wait_for(lambda lines: set(expected) <= set(lines))
        return self.take()

    def take(self) -> list[bytes]:
        with self._change:
            taken, self.lines = self.lines, []
        return taken
