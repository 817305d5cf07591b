"""The events of `TrioClient`: an asynchronous iterator that outlives the daemon's restarts."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Self

import trio

from picoclawd.client import recovery
from picoclawd.client.failures import Lost, NoDaemon
from picoclawd.client.link import Link
from picoclawd.client.sieve import RESYNC, Sieve
from picoclawd.client.wire import NOTIFICATIONS_MAX


class Events:
    """`async for event in events:` waits until something happens.

    A consumer that is slow is told of the changes it missed afterwards. Where the daemon went away and did not come
    back within `reconnect_s`, the iteration raises `NoDaemon`.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        reach: Callable[[], Awaitable[trio.SocketStream]],
        greeting: dict[str, Any],
        kinds: list[str],
        paths: list[str],
        reconnect_s: float,
    ) -> None:
        self._nursery = nursery
        self._reach = reach
        self._greeting = greeting
        self._reconnect_s = reconnect_s
        self._sieve = Sieve(kinds, paths)
        self._queue: deque[dict[str, Any]] = deque()  # as they came
        self._events: deque[dict[str, Any]] = deque()  # to be handed out
        self._more = trio.Event()
        self._link: Link | None = None

    async def subscribe(self) -> None:
        """Connect, and subscribe: what happens from now on is told, and so is what happened since the last time.

        Raises: NoDaemon, Lost, RpcError.
        """
        self.close()
        self._queue.clear()
        link = self._link = Link(await self._reach(), self._notified, lambda: self._more.set())
        self._nursery.start_soon(link.run)
        await link.call("session.open", self._greeting)
        self._sieve.subscribed(await link.call("events.subscribe", self._sieve.params))

    def close(self) -> None:
        """End the connection, and with it the subscription."""
        if self._link is not None:
            self._link.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> dict[str, Any]:
        while not self._events:
            try:
                self._events.extend(await self._further())
            except Lost:
                await self._return()
        return self._events.popleft()

    async def _further(self) -> list[dict[str, Any]]:
        """The next events, or none yet."""
        assert self._link is not None
        if self._sieve.is_behind:
            return self._sieve.page(await self._link.call("changes.since", {"cursor": self._sieve.cursor}))
        return self._sieve.take(await self._next())

    async def _next(self) -> dict[str, Any]:
        while not self._queue:
            if self._link is None or self._link.lost:
                raise Lost("the daemon went away")
            self._more = trio.Event()
            await self._more.wait()
        return self._queue.popleft()

    def _notified(self, message: dict[str, Any]) -> None:
        if len(self._queue) >= NOTIFICATIONS_MAX:
            self._queue.clear()
            self._queue.append({"method": RESYNC, "params": {}})
        self._queue.append(message)
        self._more.set()

    async def _return(self) -> None:
        for pause in recovery.pauses(self._reconnect_s):
            try:
                await self.subscribe()
                return
            except (NoDaemon, Lost):
                await trio.sleep(pause)
        await self.subscribe()
