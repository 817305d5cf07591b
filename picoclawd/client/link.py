"""One connection to the daemon on trio, shared by concurrent calls: answers find their call by its id."""

import json
import math
from collections.abc import Callable
from typing import Any

import trio

from picoclawd.client.failures import Lost, RpcError
from picoclawd.client.wire import ANSWER_MAX_BYTES, CANCEL_GRACE_S, CONNECT_TIMEOUT_S, check_peer

Progress = Callable[[int, int | None, str], object]
Notified = Callable[[dict[str, Any]], object]
Ended = Callable[[], object]

_OUTGOING_MAX = 1024  # lines not yet sent; a call beyond it waits, a cancellation beyond it is dropped


class _Waiting:
    """A call that waits for its answer; no answer once `arrived` is set means that the connection was lost."""

    __slots__ = ("answer", "arrived", "progress")

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.arrived = trio.Event()
        self.answer: dict[str, Any] | None = None


def _nobody_listens(*_: object) -> None:
    return None


class Link:
    """A connection with any number of calls in flight. It works while `run` runs in its owner's nursery.

    `notified` is called with each notification that is not about a call, `ended` once when the link is lost; neither
    may block.
    """

    def __init__(
        self, stream: trio.abc.Stream, notified: Notified = _nobody_listens, ended: Ended = _nobody_listens
    ) -> None:
        self._stream = stream
        self._notified = notified
        self._ended = ended
        self._outgoing, self._to_send = trio.open_memory_channel[bytes](_OUTGOING_MAX)
        self._waiting: dict[int, _Waiting] = {}
        self._last_id = 0
        self._life = trio.CancelScope()
        self.lost = False

    async def call(
        self, method: str, params: dict[str, Any], progress: Progress | None = None, timeout_s: float = math.inf
    ) -> Any:
        """Send one request and wait for its answer. Cancelled meanwhile, it asks the daemon to cancel too.

        `progress` is called with done, total and message, if `_meta.progress` asks for it; it must not block. After
        `timeout_s` the daemon is asked to cancel, and what it says of that is what the call ends with.

        Raises:
            RpcError: the daemon answered with an error.
            Lost: the connection ended before the answer came, or none came even after a cancellation.
        """
        self._last_id += 1
        request_id, waiting = self._last_id, _Waiting(progress)
        self._waiting[request_id] = waiting
        try:
            await self._outgoing.send(_line({"id": request_id, "method": method, "params": params}))
            await self._wait(request_id, waiting, timeout_s)
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

    async def _wait(self, request_id: int, waiting: _Waiting, timeout_s: float) -> None:
        with trio.move_on_after(timeout_s):
            await waiting.arrived.wait()
            return
        self._cancel(request_id)
        with trio.move_on_after(CANCEL_GRACE_S):
            await waiting.arrived.wait()

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
            self._ended()
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
            raise ValueError("no JSON-RPC message")
        if "method" in message:
            self._tell(message)
        elif isinstance(message.get("id"), int) and (waiting := self._waiting.get(message["id"])):
            waiting.answer = message
            waiting.arrived.set()

    def _tell(self, notification: dict[str, Any]) -> None:
        if notification["method"] != "$/progress":
            self._notified(notification)
            return
        told = notification["params"]
        waiting = self._waiting.get(told["id"])
        if waiting is not None and waiting.progress is not None:
            waiting.progress(told["done"], told.get("total"), told.get("message") or "")


async def connect(path: str, notified: Notified = _nobody_listens, ended: Ended = _nobody_listens) -> Link:
    """Connect to the socket at `path`; the caller starts the link's `run` in its nursery.

    Raises:
        OSError: nothing listens there.
        trio.TooSlowError: it does not accept within `CONNECT_TIMEOUT_S`.
        NoDaemon: another user listens there.
    """
    with trio.fail_after(CONNECT_TIMEOUT_S):
        stream = await trio.open_unix_socket(path)
    try:
        check_peer(stream.socket, path)
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return Link(stream, notified, ended)


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
