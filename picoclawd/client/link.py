"""One connection to the daemon on trio, shared by concurrent calls: answers find their call by its id."""

import json
from collections.abc import Callable
from typing import Any

import trio

from picoclawd.client.failures import Lost, RpcError
from picoclawd.client.wire import ANSWER_MAX_BYTES, CONNECT_TIMEOUT_S

Notified = Callable[[dict[str, Any]], None]

_OUTGOING_MAX = 1024  # lines not yet sent; a call beyond it waits, a cancellation beyond it is dropped


class _Waiting:
    """A call that waits for its answer; no answer once `arrived` is set means that the connection was lost."""

    __slots__ = ("answer", "arrived")

    def __init__(self) -> None:
        self.arrived = trio.Event()
        self.answer: dict[str, Any] | None = None


class Link:
    """A connection with any number of calls in flight. It works while `run` runs in its owner's nursery.

    `notified` gets each notification as it comes, and must return at once.
    """

    def __init__(self, stream: trio.abc.Stream, notified: Notified = lambda _: None) -> None:
        self._stream = stream
        self._notified = notified
        self._outgoing, self._to_send = trio.open_memory_channel[bytes](_OUTGOING_MAX)
        self._waiting: dict[int, _Waiting] = {}
        self._last_id = 0
        self._life = trio.CancelScope()
        self.lost = False

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Send one request and wait for its answer. Cancelled meanwhile, it asks the daemon to cancel too.

        Raises:
            RpcError: the daemon answered with an error.
            Lost: the connection ended before the answer came.
        """
        self._last_id += 1
        request_id, waiting = self._last_id, _Waiting()
        self._waiting[request_id] = waiting
        try:
            await self._outgoing.send(_line({"id": request_id, "method": method, "params": params}))
            await waiting.arrived.wait()
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            waiting.arrived.set()  # the link ended while this call waited to be sent
        finally:
            del self._waiting[request_id]
            if not waiting.arrived.is_set():
                self._cancel(request_id)
        if waiting.answer is None:
            raise Lost(f"{method}: the daemon went away; whether the call took effect is unknown")
        if "error" in waiting.answer:
            raise RpcError(waiting.answer["error"])
        return waiting.answer.get("result")

    async def run(self) -> None:
        """Carry lines both ways until the daemon closes; then every waiting call learns that it is lost."""
        try:
            with self._life:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._send)
                    await self._receive()
                    nursery.cancel_scope.cancel()
        finally:
            self.lost = True
            self._outgoing.close()
            for waiting in self._waiting.values():
                waiting.arrived.set()
            await trio.aclose_forcefully(self._stream)

    def close(self) -> None:
        """End `run`, and with it the connection."""
        self._life.cancel()

    def statistics(self) -> dict[str, int]:
        """How many calls wait for an answer."""
        return {"waiting": len(self._waiting)}

    def _cancel(self, request_id: int) -> None:
        try:
            self._outgoing.send_nowait(_line({"method": "$/cancelRequest", "params": {"id": request_id}}))
        except (trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
            return  # nobody waits for that answer any more: the daemon finishes the call in vain

    async def _send(self) -> None:
        try:
            async for line in self._to_send:
                await self._stream.send_all(line)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return  # the receiving side sees the end too, and ends the link

    async def _receive(self) -> None:
        unread = bytearray()
        try:
            while chunk := await self._stream.receive_some():
                searched = len(unread)
                unread += chunk
                while (end := unread.find(b"\n", searched)) >= 0:
                    self._deliver(bytes(unread[:end]))
                    del unread[: end + 1]
                    searched = 0
                if len(unread) > ANSWER_MAX_BYTES:
                    return
        except (trio.BrokenResourceError, trio.ClosedResourceError, ValueError):
            return  # reset, or a line that is not JSON: no daemon of ours is there any more

    def _deliver(self, line: bytes) -> None:
        message = json.loads(line)
        if not isinstance(message, dict):
            return
        if "method" in message:
            self._notified(message)
            return
        if not isinstance(message.get("id"), int):
            return
        if (waiting := self._waiting.get(message["id"])) is not None:
            waiting.answer = message
            waiting.arrived.set()


async def connect(path: str, notified: Notified = lambda _: None) -> Link:
    """Connect to the socket at `path`; the caller starts the link's `run` in its nursery.

    Raises:
        OSError: nothing listens there.
        trio.TooSlowError: it does not accept within `CONNECT_TIMEOUT_S`.
    """
    with trio.fail_after(CONNECT_TIMEOUT_S):
        return Link(await trio.open_unix_socket(path), notified)


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
