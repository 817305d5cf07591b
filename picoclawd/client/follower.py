"""A subscription on one connection, read without holes: what a full queue dropped is asked for afterwards."""

from picoclawd.client.sieve import Sieve

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    from picoclawd.client.sieve import Event

    class Source(Protocol):
        """The connection: `wire.Connection`."""

        def call(self, method: str, params: dict[str, Any]) -> Any: ...

        def next_notification(self) -> dict[str, Any]: ...


class Follower:
    """Subscribes when it is made. With the `sieve` of an earlier one it goes on where that one ended."""

    def __init__(self, source: "Source", kinds: "list[str]", paths: "list[str]", sieve: "Sieve | None" = None) -> None:
        self._source = source
        self.sieve = Sieve(kinds, paths) if sieve is None else sieve
        self.sieve.subscribed(source.call("events.subscribe", self.sieve.params))

    def events(self) -> "Iterator[Event]":
        """Every event as it comes, without end.

        Raises:
            Lost: the daemon closed the connection.
        """
        while True:
            while self.sieve.is_behind:
                yield from self.sieve.page(self._source.call("changes.since", {"cursor": self.sieve.cursor}))
            yield from self.sieve.take(self._source.next_notification())
