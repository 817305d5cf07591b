"""The client library on trio: `TrioClient`."""

import math
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Literal, Self

import trio

from picoclawd.client import answers, discover, families, recovery
from picoclawd.client.failures import Lost, NoDaemon, RpcError
from picoclawd.client.link import Link
from picoclawd.client.methods import TrioMethods
from picoclawd.client.naming import split
from picoclawd.client.trio_events import Events
from picoclawd.client.wire import CALL_TIMEOUT_S

Progress = Callable[[int, int | None, str], object]


class TrioClient(TrioMethods):
    """A session with the daemon on trio: `Client` with `await`, and calls that a cancel scope ends.

        async with TrioClient(client="indexer") as client:
            print(await client.read_file(path="README.md"))
            async with client.events(paths=["*.py"]) as events:
                async for event in events:
                    ...

    Everything that `Client` says holds here, but for threads: any number of tasks use it at once, of one event loop.
    A call that is cancelled is cancelled at the daemon, too, which makes it unless it is past the point of no return;
    `progress` is called on the loop and must not block.
    """

    def __init__(
        self,
        socket: str | None = None,
        *,
        workspace: str | None = None,
        role: Literal["agent", "operator"] = "agent",
        client: str | None = None,
        kind: Literal["agent", "subagent"] = "agent",
        timeout_s: float = CALL_TIMEOUT_S,
        reconnect_s: float = recovery.RECONNECT_S,
    ) -> None:
        self._socket = socket
        self._workspace = workspace
        self._role: Literal["agent", "operator"] = role
        self._client = recovery.default_client() if client is None else client
        self._kind = kind
        self._timeout_s = timeout_s
        self._reconnect_s = reconnect_s

        self._block: Any = None
        self._nursery: trio.Nursery | None = None
        self._opening = trio.Lock()
        self._link: Link | None = None
        self._resume: str | None = None
        self._session: dict[str, Any] = {}
        self._tools: list[dict[str, Any]] | None = None

    async def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        progress: Progress | None = None,
        dry_run: bool = False,
        op_id: str | None = None,
    ) -> Any:
        """Make one call by the daemon's own name for the method; see `Client.call`.

        Raises:
            RpcError: the daemon answered with an error; see `families`.
            NoDaemon: none answers.
            Lost: the daemon went away or did not answer in time, and nobody knows what became of the call.
        """
        meta = recovery.meta_of(op_id, progress=progress is not None, dry_run=dry_run)
        whole = {**(params or {}), "_meta": meta}
        deadline = trio.current_time() + (self._timeout_s if timeout_s is None else timeout_s)
        for _ in range(recovery.ATTEMPTS_MAX):
            link = await self._connected()
            try:
                return answers.answer_of(await _ask(link, method, whole, progress, deadline))
            except Lost:
                if not link.lost:
                    raise  # no answer in time
                if await self._applied(method, meta):
                    return answers.lost_answer(method, meta["op"])
        raise recovery.gave_up(method, f"the daemon went away {recovery.ATTEMPTS_MAX} times")

    @asynccontextmanager
    async def events(self, kinds: Iterable[str] = (), paths: Iterable[str] = ()) -> AsyncGenerator[Events, None]:
        """What happens in the workspace, as it happens; see `Client.events`. Subscribed when the block is entered."""
        greeting = recovery.greeting(self._client, self._kind, None)
        events = Events(self._open(), self._reach, greeting, list(kinds), list(paths), self._reconnect_s)
        try:
            await events.subscribe()
            yield events
        finally:
            events.close()

    async def session(self) -> dict[str, Any]:
        """What the daemon said when the session was opened: `session_id`, `workspace`, `role`, `limits`, `tools`."""
        await self._connected()
        return dict(self._session)

    async def __aenter__(self) -> Self:
        self._block = trio.open_nursery()
        self._nursery = await self._block.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._nursery is not None
        self._nursery.cancel_scope.cancel()
        block, self._block, self._nursery = self._block, None, None
        await block.__aexit__(None, None, None)

    def _call_named(self, method: str, params: dict[str, Any]) -> Any:
        own, options = split(params)
        return self.call(method, own, **options)

    async def _applied(self, method: str, meta: dict[str, Any]) -> bool:
        """Whether a call without an answer took effect; False where it may be made again. As `Client._applied`."""
        try:
            match recovery.plan(method, meta, await self._known_tools()):
                case "repeat":
                    return False
                case "ask":
                    answer = await _ask(await self._connected(), "outcome.get", {"op": meta["op"]})
                    if answer["outcome"] != "unknown":
                        return bool(answer["outcome"] == "applied")
        except NoDaemon as gone:
            raise recovery.gave_up(method, f"the daemon went away, and {gone}") from None
        except (RpcError, Lost):
            pass  # it went away once more, or keeps no history
        raise recovery.gave_up(method, "the daemon went away")

    async def _known_tools(self) -> list[dict[str, Any]]:
        if self._tools is None:
            self._tools = (await _ask(await self._connected(), "tools.list", {}))["tools"]
        return self._tools

    async def _connected(self) -> Link:
        nursery = self._open()
        async with self._opening:
            if self._link is None or self._link.lost:
                self._link = await self._opened(nursery, first=self._link is None)
            return self._link

    def _open(self) -> trio.Nursery:
        if self._nursery is None:
            raise Lost("this client is not open: use it inside `async with TrioClient() as client:`")
        return self._nursery

    async def _opened(self, nursery: trio.Nursery, *, first: bool) -> Link:
        waits = iter(()) if first else recovery.pauses(self._reconnect_s)
        while True:
            try:
                link = Link(await self._reach())
                nursery.start_soon(link.run)
                return await self._greeted(link)
            except (NoDaemon, Lost, RpcError) as failure:
                if isinstance(failure, RpcError) and failure.slug != "session_in_use":
                    raise
                pause = next(waits, None)
                if pause is None:
                    raise failure from None
            await trio.sleep(pause)

    async def _greeted(self, link: Link) -> Link:
        greeted = False
        try:
            try:
                opened = await _ask(link, "session.open", recovery.greeting(self._client, self._kind, self._resume))
            except RpcError as error:
                if error.slug != "unknown_session" or self._resume is None:
                    raise
                self._resume = None  # another daemon, or too late: begin anew
                opened = await _ask(link, "session.open", recovery.greeting(self._client, self._kind, None))
            greeted = True
        finally:
            if not greeted:
                link.close()
        self._session = {key: value for key, value in opened.items() if key != "resume"}
        self._resume = opened.get("resume")
        return link

    async def _reach(self) -> trio.SocketStream:
        # A Unix socket is connected to at once, or not at all, unless the daemon hangs.
        sock = await trio.to_thread.run_sync(discover.reach, self._role, self._workspace, self._socket)
        return trio.SocketStream(trio.socket.from_stdlib_socket(sock))


async def _ask(
    link: Link, method: str, params: dict[str, Any], progress: Progress | None = None, deadline: float = math.inf
) -> Any:
    try:
        return await link.call(method, params, progress, max(0.0, deadline - trio.current_time()))
    except RpcError as error:
        made = families.error_of(method, error.as_json())
        late = isinstance(made, families.Cancelled) and trio.current_time() >= deadline
        raise families.timed_out(method) if late else made from None
