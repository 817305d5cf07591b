"""What one call waited for beside its own work, for those who want to know why it took so long."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Waits:
    """Seconds of one call, added up on the loop as it goes: for its turn behind earlier calls of its connection on the
    same path, for locks that others held, and for a person to answer."""

    turn_s: float = 0.0
    locks_s: float = 0.0
    person_s: float = 0.0

    @contextmanager
    def for_turn(self) -> Iterator[None]:
        """Count the body as waiting for its turn."""
        began_s = time.perf_counter()
        try:
            yield
        finally:
            self.turn_s += time.perf_counter() - began_s

    @contextmanager
    def for_locks(self) -> Iterator[None]:
        """Count the body as waiting for locks."""
        began_s = time.perf_counter()
        try:
            yield
        finally:
            self.locks_s += time.perf_counter() - began_s

    @contextmanager
    def for_person(self) -> Iterator[None]:
        """Count the body as waiting for a person."""
        began_s = time.perf_counter()
        try:
            yield
        finally:
            self.person_s += time.perf_counter() - began_s
