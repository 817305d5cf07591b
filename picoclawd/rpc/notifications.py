"""Notify one peer, within bounds: a queue that runs full ends in one `resync`, never in silence."""

from collections.abc import Callable

from picoclawd.rpc import envelope

CAPACITY = 256  # notifications; a peer that lags further behind is better off asking for the whole
OFFER_CAPACITY = 32  # progress is stale by the time that so much lies before it
RESYNC = "resync"

Put = Callable[[bytes, Callable[[], None]], None]


class Notifications:
    """The notifications of one connection that are queued but not sent; a `method.Notifier`."""

    def __init__(self, put: Put) -> None:
        self._put = put
        self._queued = 0
        self._lost = False
        self._closed = False

    def notify(self, method: str, params: object) -> bool:
        """Queue one notification; see `method.Notifier.notify`."""
        if self._closed or self._lost:
            return False
        self._lost = self._queued >= CAPACITY
        if self._lost:
            self._queue(RESYNC, {})
            return False
        self._queue(method, params)
        return True

    def offer(self, method: str, params: object) -> bool:
        """Queue one notification that may be dropped; see `method.Notifier.offer`."""
        return self._queued < OFFER_CAPACITY and self.notify(method, params)

    def close(self) -> None:
        """Refuse everything from now on: the connection ends."""
        self._closed = True

    def _queue(self, method: str, params: object) -> None:
        self._queued += 1
        self._put(envelope.notification_line(method, params), self._sent)

    def _sent(self) -> None:
        self._queued -= 1
        if self._queued == 0:
            self._lost = False
