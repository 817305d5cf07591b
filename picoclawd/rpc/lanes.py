"""Keep the order sent for requests of one connection that name the same path, while all others run at once.

The reader enters a request's lanes before any task runs (trio runs ready tasks in random order), so the lanes hold the
order of arrival. In a lane, neighbours that only read share a turn; one that writes has it alone. A request on several
paths enters all its lanes at one moment; everybody does so in the same order, hence nobody waits in a circle.
"""

import posixpath
from collections.abc import Collection

import msgspec
import trio


def lane_key(path: bytes, base: bytes) -> bytes:
    """Name the lane of a path as a client spells it: made absolute below `base` and normalised by its text alone."""
    key = posixpath.normpath(posixpath.join(base, path))
    return key[1:] if key.startswith(b"//") else key  # POSIX keeps two leading slashes; Linux gives them no meaning


class Ticket:
    """A request's place in its lanes. Not to be made by hand: `Lanes.enter` does."""

    __slots__ = ("_lanes", "_ready", "_waiting", "exclusive", "paths")

    def __init__(self, lanes: "Lanes", paths: Collection[bytes], exclusive: bool) -> None:
        self.paths = paths
        self.exclusive = exclusive
        self._lanes = lanes
        self._waiting: set[bytes] | None = None  # None: not a single one, as nearly always
        self._ready: trio.Event | None = None

    async def turn(self) -> None:
        """Wait until every lane has come to this ticket. A checkpoint only where it must wait."""
        if self._waiting:
            self._ready = self._ready or trio.Event()
            await self._ready.wait()

    def leave(self) -> None:
        """Give the turn, or the place in the queue, to whoever is next. Calling it again does nothing."""
        paths, self.paths = self.paths, ()
        for path in paths:
            self._lanes.remove(path, self)

    def queue_up(self, path: bytes) -> None:
        """Let one lane tell that others are before this ticket."""
        self._waiting = self._waiting or set()
        self._waiting.add(path)

    def grant(self, path: bytes) -> None:
        """Let one lane tell that it has come to this ticket."""
        if self._waiting:
            self._waiting.discard(path)
        if not self._waiting and self._ready is not None:
            self._ready.set()

    @property
    def waits(self) -> bool:
        """Whether some lane has not come to this ticket yet."""
        return bool(self._waiting)


class LaneStatistics(msgspec.Struct, frozen=True):
    """A look at the lanes: how many are in use, and how many tickets hold or await a turn in all their lanes."""

    lanes: int
    holding: int
    waiting: int


class Lanes:
    """The lanes of one connection, made when first entered and dropped when idle."""

    def __init__(self) -> None:
        self._queues: dict[bytes, list[Ticket]] = {}

    def enter(self, paths: tuple[bytes, ...], *, exclusive: bool) -> Ticket:
        """Queue up in the lane of every path, now. Paths are compared as bytes: see `lane_key`."""
        ticket = Ticket(self, paths if len(paths) < 2 else frozenset(paths), exclusive)
        for path in ticket.paths:
            queue = self._queues.get(path)
            if queue is None:
                self._queues[path] = [ticket]
            else:
                queue.append(ticket)
                ticket.queue_up(path)
                self._advance(path)
        return ticket

    def remove(self, path: bytes, ticket: Ticket) -> None:
        """Take a ticket out of one lane, wherever it stands in it."""
        queue = self._queues[path]
        queue.remove(ticket)
        if queue:
            self._advance(path)
        else:
            del self._queues[path]

    def _advance(self, path: bytes) -> None:
        """Grant the first ticket and, where it shares, those right behind it that share too."""
        for index, ticket in enumerate(self._queues[path]):
            if ticket.exclusive and index > 0:
                break
            ticket.grant(path)
            if ticket.exclusive:
                break

    def statistics(self) -> LaneStatistics:
        """Count without touching."""
        tickets = {id(ticket): ticket for queue in self._queues.values() for ticket in queue}
        waiting = sum(ticket.waits for ticket in tickets.values())
        return LaneStatistics(len(self._queues), len(tickets) - waiting, waiting)
