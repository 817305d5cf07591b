"""The client library: `Client` speaks to the daemon from any program, with the standard library alone."""

import threading
import time

from picoclawd.client import answers, discover, families, recovery, wire
from picoclawd.client.channel import Channel, Pending
from picoclawd.client.failures import Lost, NoDaemon, RpcError
from picoclawd.client.methods import DaemonMethods
from picoclawd.client.naming import split
from picoclawd.client.wire import CALL_TIMEOUT_S

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from socket import socket as Socket
    from types import TracebackType
    from typing import Any, Literal, Self

    from picoclawd.client.subscription import Subscription

    Progress = Callable[[int, int | None, str], object]
    Kind = Literal["agent", "subagent"]
    Role = Literal["agent", "operator"]


class Client(DaemonMethods):
    """A session with the daemon: its methods are the daemon's, `client.read_file(path="x.txt")`.

        with Client(client="indexer") as client:
            print(client.read_file(path="README.md"))
            client.edit_file(path="a.py", old_text="one", new_text="two")

    A tool's answer is a `Result`, another method's parsed JSON. What fails raises a `Failure`: `NoDaemon`, `Lost`, or
    an `RpcError` of one of the `families`, each with `slug`, `data`, `outcome`, `retryable` and `next`.

    **Finding the daemon.** `socket`, else `$PICOCLAWD_SOCKET` (`$PICOCLAWD_OPERATOR_SOCKET` for the role "operator"),
    else the daemon whose workspace holds `workspace`, or the current directory. It is connected to at the first call.

    **A lost connection** is taken up again within `reconnect_s`, the session resumed, and the call that was out made
    again where that is safe: one that changes something only when the daemon knows that it was not applied. So no
    change is made twice. Where it was applied and only the answer is lost, the result says `answer_lost`.

    **Threads.** One client serves any number of threads: calls run side by side, each waits for its own answer, and
    `progress` is called in the thread that made the call. Not to be used on both sides of a fork.
    """

    def __init__(
        self,
        socket: str | None = None,
        *,
        workspace: str | None = None,
        role: "Role" = "agent",
        client: str | None = None,
        kind: "Kind" = "agent",
        timeout_s: float = CALL_TIMEOUT_S,
        reconnect_s: float = recovery.RECONNECT_S,
    ) -> None:
        self._socket = socket
        self._workspace = workspace
        self._role: Role = role
        self._client = recovery.default_client() if client is None else client
        self._kind: Kind = kind
        self._timeout_s = timeout_s
        self._reconnect_s = reconnect_s

        self._opening = threading.Lock()  # of what follows
        self._channel: Channel | None = None
        self._resume: str | None = None
        self._session: dict[str, Any] = {}
        self._tools: list[dict[str, Any]] | None = None
        self._closed = False

    def call(
        self,
        method: str,
        params: "dict[str, Any] | None" = None,
        *,
        timeout_s: float | None = None,
        progress: "Progress | None" = None,
        dry_run: bool = False,
        op_id: str | None = None,
    ) -> "Any":
        """Make one call by the daemon's own name for the method, and wait for its answer.

        `timeout_s`: how long to wait; the call is then cancelled. `progress`: called with done, total (None where it
        is not known) and a message. `dry_run`: check everything, write nothing. `op_id`: a name for the call that
        `outcome_get` takes, at most 64 characters and never used before; made up where it is left out.

        Raises:
            RpcError: the daemon answered with an error; see `families`.
            NoDaemon: none answers.
            Lost: the daemon went away or did not answer in time, and nobody knows what became of the call.
        """
        meta = recovery.meta_of(op_id, progress=progress is not None, dry_run=dry_run)
        whole = {**(params or {}), "_meta": meta}
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        for _ in range(recovery.ATTEMPTS_MAX):
            channel = self._connected()
            try:
                return answers.answer_of(self._ask(channel, method, whole, deadline, progress))
            except EOFError:
                if self._applied(method, meta):
                    return answers.lost_answer(method, meta["op"])
        raise recovery.gave_up(method, f"the daemon went away {recovery.ATTEMPTS_MAX} times")

    def events(self, kinds: "Iterable[str]" = (), paths: "Iterable[str]" = ()) -> "Subscription":
        """What happens in the workspace, as it happens: an iterator of dicts with `event`, over a connection of its
        own, which is made at once.

        `file.changed` has `path`, `action`, `version` and `by` (a session, or "outside"); `gap` says that events were
        missed for good, so look at everything. `kinds` narrows the events, `paths` the files (`*.py`, `src/**`).
        """
        from picoclawd.client.subscription import Subscription  # most programs do not follow events

        return Subscription(self._reach, self._greeting(None), list(kinds), list(paths), self._reconnect_s)

    @property
    def session(self) -> "dict[str, Any]":
        """What the daemon said when the session was opened: `session_id`, `workspace`, `role`, `limits`, `tools`."""
        self._connected()
        return dict(self._session)

    def close(self) -> None:
        """End the connection for good. Calls of other threads raise `Lost`."""
        self._closed = True  # first: who waits for a daemon to come back holds the lock
        with self._opening:
            channel = self._channel
        if channel is not None:
            channel.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", exc: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self.close()

    def _call_named(self, method: str, params: "dict[str, Any]") -> "Any":
        own, options = split(params)
        return self.call(method, own, **options)

    def _ask(
        self,
        channel: Channel,
        method: str,
        params: "dict[str, Any]",
        deadline: float | None,
        progress: "Progress | None" = None,
    ) -> "Any":
        """One request and its answer. Raises: EOFError where the connection was lost; RpcError; Lost."""
        try:
            pending = channel.start(method, params)
        except Lost as lost:
            raise EOFError(str(lost)) from None
        try:
            return _result(method, _answer(pending, deadline, progress))
        except TimeoutError:
            return self._late(channel, method, pending)
        except (RpcError, EOFError):
            raise
        except BaseException:
            channel.cancel(pending)  # interrupted, or `progress` raised: nobody waits any more
            raise
        finally:
            channel.finish(pending)

    def _late(self, channel: Channel, method: str, pending: Pending) -> "Any":
        """Give a call up: the daemon cancels it, or says what became of it."""
        channel.cancel(pending)
        try:
            answer = _answer(pending, time.monotonic() + wire.CANCEL_GRACE_S, None)
        except (TimeoutError, EOFError):
            raise recovery.gave_up(method, "no answer in time, and none to its cancellation") from None
        try:
            return _result(method, answer)
        except families.Cancelled:
            raise families.timed_out(method) from None

    def _applied(self, method: str, meta: "dict[str, Any]") -> bool:
        """Whether a call without an answer took effect; False where it may be made again.

        Raises: Lost where nobody knows; NoDaemon where no daemon came back.
        """
        try:
            match recovery.plan(method, meta, self._known_tools()):
                case "repeat":
                    return False
                case "ask":
                    outcome = self._ask(self._connected(), "outcome.get", {"op": meta["op"]}, None)["outcome"]
                    if outcome != "unknown":
                        return bool(outcome == "applied")
        except NoDaemon as gone:
            raise recovery.gave_up(method, f"the daemon went away, and {gone}") from None
        except (RpcError, EOFError):
            pass  # it went away once more, or keeps no history
        raise recovery.gave_up(method, "the daemon went away")

    def _known_tools(self) -> "list[dict[str, Any]]":
        if self._tools is None:
            self._tools = self._ask(self._connected(), "tools.list", {}, None)["tools"]
        return self._tools

    def _connected(self) -> Channel:
        with self._opening:
            self._check_open()
            if self._channel is None or self._channel.lost:
                self._channel = self._opened(first=self._channel is None)
            return self._channel

    def _opened(self, first: bool) -> Channel:
        """Connect and open, or resume, the session; after a loss with patience."""
        waits = iter(()) if first else recovery.pauses(self._reconnect_s)
        while True:
            try:
                return self._greeted(Channel(self._reach()))
            except (NoDaemon, EOFError, RpcError) as failure:
                if isinstance(failure, RpcError) and failure.slug != "session_in_use":
                    raise
                pause = next(waits, None)
                if pause is None:
                    raise _no_daemon(failure) from None
            time.sleep(pause)
            self._check_open()

    def _check_open(self) -> None:
        if self._closed:
            raise Lost("this client was closed: make another one")

    def _greeted(self, channel: Channel) -> Channel:
        try:
            opened = self._ask(channel, "session.open", self._greeting(self._resume), None)
        except RpcError as error:
            if error.slug == "unknown_session" and self._resume is not None:
                self._resume = None  # another daemon, or too late: begin anew
                return self._greeted(channel)
            channel.close()
            raise
        except BaseException:
            channel.close()
            raise
        self._session = {key: value for key, value in opened.items() if key != "resume"}
        self._resume = opened.get("resume")
        return channel

    def _greeting(self, resume: str | None) -> "dict[str, Any]":
        return recovery.greeting(self._client, self._kind, resume)

    def _reach(self) -> "Socket":
        return discover.reach(self._role, self._workspace, self._socket)


def _answer(pending: Pending, deadline: float | None, progress: "Progress | None") -> "dict[str, Any]":
    until = time.monotonic() + wire.CALL_TIMEOUT_S if deadline is None else deadline
    while "method" in (message := pending.next(until - time.monotonic())):
        if progress is not None:
            told = message["params"]
            progress(told["done"], told.get("total"), told.get("message") or "")
    return message


def _result(method: str, answer: "dict[str, Any]") -> "Any":
    if "error" in answer:
        raise families.error_of(method, answer["error"])
    return answer.get("result")


def _no_daemon(failure: "NoDaemon | EOFError | RpcError") -> "NoDaemon | RpcError":
    return NoDaemon(f"the daemon closes every connection: {failure}") if isinstance(failure, EOFError) else failure
