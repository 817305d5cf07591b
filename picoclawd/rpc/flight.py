"""Keep count of what one connection has in flight: who runs under which id, and which slots are taken."""

from collections.abc import Hashable

import trio

from picoclawd.rpc.method import Exchange, RequestId


def id_key(request_id: RequestId) -> Hashable | None:
    """Make ids comparable: `1` and `"1"` differ, `1` and `1.0` do not. None for a null id, which names nothing."""
    return None if request_id is None else (isinstance(request_id, str), request_id)


class Flight:
    """The requests of one connection between being read and being answered.

    An id is taken until its answer is queued (a peer may use it again as soon as it has read that), a slot until the
    answer is with the kernel (so that a peer which does not read cannot pile up answers).
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._taken = 0
        self._running: set[Exchange] = set()
        self._by_id: dict[Hashable, Exchange] = {}
        self._freed: trio.Event | None = None

    @property
    def taken(self) -> int:
        """How many slots are taken."""
        return self._taken

    @property
    def full(self) -> bool:
        """Whether no further line may be taken in. A batch that came in at the last slot may take more than all."""
        return self._taken >= self._slots

    def take(self, slots: int) -> None:
        """Take the slots of one line."""
        self._taken += slots

    def free(self, slots: int) -> None:
        """Give the slots of one line back."""
        self._taken -= slots
        if self._freed is not None:
            self._freed.set()

    async def wait_freed(self, timeout_s: float) -> None:
        """Wait until some slot is given back, or for so long. One task at a time."""
        self._freed = trio.Event()
        with trio.move_on_after(timeout_s):
            await self._freed.wait()
        self._freed = None

    def holds(self, request_id: RequestId) -> bool:
        """Whether a request with this id is in flight."""
        return bool(self._by_id) and id_key(request_id) in self._by_id

    def start(self, exchange: Exchange) -> None:
        """Take in a request; its id, where it has one, is not in flight."""
        self._running.add(exchange)
        key = id_key(exchange.request_id)
        if key is not None:
            self._by_id[key] = exchange

    def end(self, exchange: Exchange) -> None:
        """Let a request go: its answer is ready."""
        self._running.discard(exchange)
        key = id_key(exchange.request_id)
        if key is not None:
            del self._by_id[key]

    def cancel(self, request_id: RequestId) -> None:
        """Cancel the request with this id; nothing where there is none."""
        exchange = self._by_id.get(id_key(request_id))
        if exchange is not None:
            exchange.cancel()

    def cancel_all(self) -> None:
        """Cancel whatever runs: nobody is there to hear the answers."""
        for exchange in self._running:
            exchange.cancel()
