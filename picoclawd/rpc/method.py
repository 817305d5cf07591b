"""What the wire and the house agree on: a method, what a running one is given, and the host that has them."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Protocol

import msgspec
import trio

from picoclawd.files.waits import Waits
from picoclawd.rpc.meter import Meter, Subject
from picoclawd.rpc.underway import Underway

Role = Literal["agent", "operator"]
Params = dict[str, Any] | list[Any]
RequestId = str | int | float | None

PROGRESS_INTERVAL_S = 0.1  # ten a second is more than an eye or a log wants


class Peer(msgspec.Struct, frozen=True):
    """Who is at the other end: the role is the socket it came in on, pid and uid are the kernel's word."""

    role: Role
    pid: int
    uid: int


class Notifier(Protocol):
    """Sends notifications to one connection. Call it on the trio loop only; it never blocks."""

    def notify(self, method: str, params: object) -> bool:
        """Queue one notification, in order with the answers. False: the queue is full and this one is lost.

        The first one lost puts a single `resync` notification in its place; from then on everything is refused
        until the peer has been sent what is queued.
        """
        ...

    def offer(self, method: str, params: object) -> bool:
        """Queue one notification that nobody misses: False, and nothing more, where the peer lags behind."""
        ...


class Exchange:
    """One running request, as its method sees it.

    `client` is what `Host.connected` returned for this connection. `meta` is the request's `_meta`, its known
    members already checked (`progress` and `dry_run` booleans, `op` a short string); it is no longer in the params.
    `waited` is what the request waited for, None where it was for nothing.
    """

    __slots__ = (
        "_cancelled",
        "_next_progress_s",
        "_scope",
        "_token",
        "client",
        "meta",
        "notifier",
        "peer",
        "request_id",
        "waited",
    )

    def __init__(
        self,
        client: object,
        peer: Peer,
        request_id: RequestId,
        meta: Mapping[str, Any],
        notifier: Notifier,
    ) -> None:
        self.client = client
        self.peer = peer
        self.request_id = request_id
        self.meta = meta
        self.notifier = notifier
        self.waited: Waits | None = None
        self._scope: trio.CancelScope | None = None
        self._cancelled = False
        self._next_progress_s = 0.0
        self._token = trio.lowlevel.current_trio_token() if meta.get("progress") is True else None

    @property
    def waits(self) -> Waits:
        """What is told what the request waits for; made when it is first asked for."""
        if self.waited is None:
            self.waited = Waits()
        return self.waited

    @property
    def scope(self) -> trio.CancelScope:
        """The scope that the wire runs the method in."""
        if self._scope is None:
            self._scope = trio.CancelScope()
            if self._cancelled:
                self._scope.cancel()
        return self._scope

    @property
    def deadline(self) -> float:
        """When this request times out, on trio's clock; infinity unless its method sets it. Past it: `timeout`."""
        return self.scope.deadline

    @deadline.setter
    def deadline(self, when: float) -> None:
        self.scope.deadline = when

    @property
    def timed_out(self) -> bool:
        """Whether the scope was ended by its deadline and not because the caller gave up."""
        return not self._cancelled and self.scope.cancelled_caught and trio.current_time() >= self.scope.deadline

    def cancelled(self) -> bool:
        """Whether the caller gave up or is gone. For threads to poll: it takes no lock and never blocks."""
        return self._cancelled

    def cancel(self) -> None:
        """Ask the method to stop: raises the flag for threads and cancels its trio scope. Loop only."""
        self._cancelled = True
        if self._scope is not None:
            self._scope.cancel()

    def progress(self, done: int, total: int | None = None, message: str = "") -> None:
        """Tell a caller that asked for it (`_meta.progress: true`) how far this is. Any thread; never blocks.

        More than ten a second are dropped, and so is what a slow peer has no room for.
        """
        now_s = time.monotonic()
        token = self._token
        if token is None or now_s < self._next_progress_s:
            return
        self._next_progress_s = now_s + PROGRESS_INTERVAL_S
        token.run_sync_soon(self._post_progress, done, total, message)

    def _post_progress(self, done: int, total: int | None, message: str) -> None:
        if self._token is not None:
            params = {"id": self.request_id, "done": done, "total": total, "message": message}
            self.notifier.offer("$/progress", params)

    def finish(self) -> None:
        """Send no more progress: the answer is about to go out. The wire's own call."""
        self._token = None


class Later(Enum):
    """What a method's `at_once` returns when it would have to wait for something."""

    LATER = "later"


LATER = Later.LATER


def no_paths(params: Params) -> tuple[bytes, ...]:
    """The `lane_paths` of a method whose effect has no place in the file system."""
    return ()


class Method(msgspec.Struct, frozen=True):
    """One callable name.

    `run` gets the exchange and the params without `_meta` (`{}` when there were none; a list when positional), and
    returns what msgspec can encode. `lane_paths` names what must take effect in the order sent, as absolute,
    lexically normalised paths (`lanes.lane_key`): called by the reader before the request runs, on params that
    nobody has checked yet, so it must be quick and answers `()` to what it does not understand. Methods that are
    `mutating` or `exclusive` go through a lane one by one, others together.

    `at_once`, where given, is asked first, on the loop and without a task of its own, once the lanes are free: it
    answers as `run` would, or returns `LATER`, having done nothing, when it would have to wait. For what is at hand
    (a ping, a text that is cached and fresh) this saves half of the round trip. It takes well under a millisecond.
    """

    name: str
    run: Callable[[Exchange, Params], Awaitable[object]]
    mutating: bool = False
    lane_paths: Callable[[Params], tuple[bytes, ...]] = no_paths
    operator_only: bool = False
    exclusive: bool = False
    at_once: Callable[[Exchange, Params], object] | None = None


class Host(Protocol):
    """What stands behind the wire. `methods` is looked up at each request, so a reload may replace it."""

    @property
    def methods(self) -> Mapping[str, Method]:
        """Every method by name; a tool that is switched off is not in it."""
        ...

    @property
    def log(self) -> logging.Logger:
        """Where refused peers, slow clients and internal errors are told."""
        ...

    @property
    def meter(self) -> Meter:
        """Where requests are counted."""
        ...

    @property
    def underway(self) -> Underway:
        """Which named changes have not come to their end."""
        ...

    def subject(self, client: object) -> Subject:
        """Whose requests a client's are, for the log."""
        ...

    def connected(self, peer: Peer, notifier: Notifier) -> object:
        """Take in a new connection; what is returned becomes `Exchange.client`. Must not block."""
        ...

    def disconnected(self, client: object) -> None:
        """Let go of a connection: all its requests have ended. Called exactly once for each `connected`."""
        ...

    def available(self, peer: Peer) -> Sequence[str]:
        """The method names to offer to a peer that asked for an unknown one (`error.data.available`)."""
        ...
