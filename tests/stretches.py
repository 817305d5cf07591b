"""How long threads work without looking whether to stop, by their own processor time: other programs add nothing."""

import random
import threading
import time
from collections.abc import Callable

from picoclawd.files.threads import ArgsT, Lane, ResultT, Threads
from picoclawd.index.matcher import compile_pattern
from picoclawd.tools._stop import Stop


class Stretches:
    """Measures from a look to the next one, and from where a thread begins and to where it ends."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._seconds: list[float] = []

    @property
    def looks(self) -> int:
        """How many stretches there were."""
        return len(self._seconds)

    @property
    def longest_s(self) -> float:
        """The longest of them."""
        return max(self._seconds, default=0.0)

    def begin(self) -> None:
        """Count from here on."""
        self._here.began = time.thread_time()

    def look(self) -> None:
        """End a stretch and begin the next."""
        began = getattr(self._here, "began", None)
        self.begin()
        if began is not None:
            self._seconds.append(self._here.began - began)

    def end(self) -> None:
        """End a stretch; what the thread does next is not of this work."""
        self.look()
        self._here.began = None

    def stop(self) -> type[Stop]:
        """A `Stop` that is measured: to take the place of the tools' own."""
        stretches = self

        class Measured(Stop):
            def __call__(self) -> bool:
                stretches.look()
                return super().__call__()

            def check(self) -> None:
                stretches.look()
                super().check()

        return Measured


class MeasuredThreads(Threads):
    """Threads whose work is measured as a whole, too."""

    def __init__(self, stretches: Stretches) -> None:
        super().__init__()
        self._stretches = stretches

    async def run(self, lane: Lane, work: Callable[[*ArgsT], ResultT], *args: *ArgsT) -> ResultT:
        def measured() -> ResultT:
            if lane is Lane.SCAN:
                self._stretches.begin()
            try:
                return work(*args)
            finally:
                if lane is Lane.SCAN:
                    self._stretches.end()

        return await super().run(lane, measured)


SLOWEST = "(a|b)*a(a|b){500}c|[^c]{800}d"
PIECES_MAX = 6  # a thread may work for so many of the smallest pieces without a look; seen: 3, and 4 on a busy machine


def slowest_piece_s() -> float:
    """What one of the smallest pieces takes of this processor now with the slowest pattern, in its own time."""
    text = bytes(random.Random(1).choices(b"ab", k=2048))
    took: list[float] = []
    for _ in range(3):
        pattern = compile_pattern(SLOWEST)
        began = time.thread_time()
        pattern.search(text)
        took.append(time.thread_time() - began)
    return max(took)
