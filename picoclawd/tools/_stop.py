"""When a search is to stop: at its deadline, or when its caller gave up."""

import time
from collections.abc import Callable

from picoclawd.errors import Fault, Slug
from picoclawd.workspace.scope import OutOfTimeError


class Stop:
    """Asked by scans, as a function that answers True to end them, and by `poll` while names are gathered."""

    def __init__(self, cancelled: Callable[[], bool], deadline_s: float) -> None:
        self._cancelled = cancelled
        self._end = time.monotonic() + deadline_s

    def __call__(self) -> bool:
        return self._cancelled() or time.monotonic() > self._end

    def poll(self, looked: int) -> None:
        """End the gathering of names: at the deadline with what there is, cancelled with nothing."""
        self.check()
        if time.monotonic() > self._end:
            raise OutOfTimeError

    def check(self) -> None:
        """Raises: cancelled, once the caller gave up."""
        if self._cancelled():
            raise Fault(Slug.CANCELLED, "cancelled: the search stopped.")
