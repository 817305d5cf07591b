"""The client library's events: an iterator that outlives the daemon's restarts."""

import threading
import time

from picoclawd.client import families, recovery
from picoclawd.client.failures import Lost, NoDaemon, RpcError
from picoclawd.client.follower import Follower
from picoclawd.client.sieve import Sieve
from picoclawd.client.wire import Connection

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any, Self

    from picoclawd.client.sieve import Event


class Subscription:
    """`for event in subscription:` blocks until something happens; `close`, from any thread, ends the loop.

    It reads in the thread that iterates, one at a time. A consumer that is slow is told of the changes it missed
    afterwards. Where the daemon went away and did not come back within `reconnect_s`, the iteration raises `NoDaemon`.
    """

    def __init__(
        self,
        reach: "Callable[[], socket.socket]",
        greeting: "dict[str, Any]",
        kinds: "list[str]",
        paths: "list[str]",
        reconnect_s: float,
    ) -> None:
        self._reach = reach
        self._greeting = greeting
        self._reconnect_s = reconnect_s
        self._sieve = Sieve(kinds, paths)
        self._closed = threading.Event()
        self._connection, self._follower = self._subscribe()

    def __iter__(self) -> "Iterator[Event]":
        while not self._closed.is_set():
            try:
                yield from self._follower.events()
            except Lost:
                self._connection.close()
                self._return()
        self._connection.close()

    def close(self) -> None:
        """End the iteration, and the connection."""
        self._closed.set()
        self._connection.hang_up()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", exc: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self.close()
        self._connection.close()

    def _return(self) -> None:
        for pause in recovery.pauses(self._reconnect_s):
            try:
                if not self._closed.is_set():
                    self._connection, self._follower = self._subscribe()
                return
            except (NoDaemon, Lost):
                time.sleep(pause)
        self._connection, self._follower = self._subscribe()

    def _subscribe(self) -> "tuple[Connection, Follower]":
        connection = Connection(self._reach())
        try:
            connection.call("session.open", self._greeting)
            return connection, Follower(connection, [], [], self._sieve)
        except RpcError as error:
            connection.close()
            raise families.error_of("events.subscribe", error.as_json()) from None
        except BaseException:
            connection.close()
            raise
