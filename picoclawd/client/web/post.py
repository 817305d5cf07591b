"""The way to the daemon: one connection to the operator's socket, made anew when it is lost, and what came over it.

Events are kept, so many, for pages that ask for them; one that asks too late learns that it missed some.
"""

import secrets
import time
from collections import deque
from typing import Any, Literal

import msgspec
import trio

from picoclawd.client import discover, link
from picoclawd.client.failures import Lost, NoDaemon, RpcError

EVENTS_KEPT = 1000  # some 300 KiB
NEWS_MAX = 200  # events in one answer
CALL_TIMEOUT_S = 120.0  # the undo of a large task
_GREETING_TIMEOUT_S = 10.0
_RETRY_S = 1.0
_BATCH_S = 0.05  # a storm of changes is told in batches

State = Literal["connected", "gone"]


class Event(msgspec.Struct, frozen=True):
    """Something that happened, numbered by this process from 1; `at` is seconds since 1970."""

    number: int
    at: float
    kind: str
    params: dict[str, Any]


class News(msgspec.Struct, frozen=True):
    """Events in their order. `missed`: some before them are no longer kept, or were never told."""

    events: list[Event]
    last: int
    missed: bool


class Post:
    """The daemon that serves a directory. It works while `run` runs."""

    def __init__(self, start: str | None) -> None:
        self._start = start
        self._link: link.Link | None = None
        self._events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._last = 0
        self._news = trio.Event()
        self.state: State = "gone"
        self.why = ""
        self.workspace = ""
        self.run_id = secrets.token_hex(4)  # another one is another process, whose numbers begin anew

    async def run(self) -> None:
        """Keep the connection, for as long as this runs."""
        while True:
            try:
                await self._live()
            except NoDaemon as failure:
                self._gone(str(failure))
            await trio.sleep(_RETRY_S)

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """One call.

        Raises:
            RpcError: the daemon answered with an error.
            NoDaemon: there is no connection now.
            Lost: it was lost, or no answer came in time: whether the call took effect is unknown.
        """
        if self._link is None or self._link.lost:
            raise NoDaemon(self.why or "the daemon is not connected yet")
        with trio.move_on_after(CALL_TIMEOUT_S):
            return await self._link.call(method, params)
        raise Lost(f"{method}: no answer within {CALL_TIMEOUT_S:g} s; whether the call took effect is unknown")

    async def news(self, after: int, wait_s: float) -> News:
        """The events after a number, or -1 for the newest that are kept; waits for one, `wait_s` at most."""
        with trio.move_on_after(wait_s):
            while self._last <= after:
                await self._news.wait()
            if after >= 0:
                await trio.sleep(_BATCH_S)
        newer = [event for event in self._events if event.number > after]
        missed = after >= 0 and self._last - after > len(newer)
        if after < 0:
            newer = newer[-NEWS_MAX:]
        told = newer[:NEWS_MAX]
        return News(told, told[-1].number if told else self._last, missed)

    def statistics(self) -> dict[str, int]:
        """Events so far and kept."""
        return {"events": self._last, "kept": len(self._events)}

    async def _live(self) -> None:
        """Connect, greet, and carry the connection to its end."""
        opened = await self._reach()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(opened.run)
            why = await self._greet(opened)
            if why:
                opened.close()
            else:
                self._link = opened
                self._set("connected", "")
        self._gone(why or f"the daemon of {self.workspace} went away.\n{self._restart()}")

    async def _greet(self, opened: link.Link) -> str:
        """Open the session and subscribe; why that failed, or nothing."""
        try:
            with trio.fail_after(_GREETING_TIMEOUT_S):
                told = await opened.call("session.open", {"client": "picoclawctl web"})
                self.workspace = str(told["workspace"])
                await opened.call("events.subscribe", {})
        except (Lost, RpcError) as failure:
            return str(failure)
        except trio.TooSlowError:
            return "the daemon accepts connections, but does not answer"
        return ""

    async def _reach(self) -> link.Link:
        for endpoint in discover.candidates("operator", self._start):
            try:
                return await link.connect(endpoint.path, self._notified)
            except (OSError, trio.TooSlowError):
                continue
        raise NoDaemon(f"no daemon answers.\n{self._restart()}")

    def _restart(self) -> str:
        where = self.workspace or discover.start_directory(self._start)
        return f"Start it again with:  picoclawd serve --workspace {where}"

    def _notified(self, message: dict[str, Any]) -> None:
        params = message.get("params")
        self._note(str(message["method"]), params if isinstance(params, dict) else {})

    def _gone(self, why: str) -> None:
        self._link = None
        self._set("gone", why)

    def _set(self, state: State, why: str) -> None:
        changed = state != self.state
        self.state, self.why = state, why
        if changed:
            self._note(f"daemon.{state}", {})

    def _note(self, kind: str, params: dict[str, Any]) -> None:
        self._last += 1
        self._events.append(Event(self._last, time.time(), kind, params))
        self._news.set()
        self._news = trio.Event()
