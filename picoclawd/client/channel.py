"""One connection to the daemon, shared by threads: a reading thread hands each answer to the call that waits for it."""

import json
import queue
import socket
import struct
import threading

from picoclawd.client import wire
from picoclawd.client.failures import Lost

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any

_CHUNK_BYTES = 1 << 16
_SEND_TIMEOUT_S = 60  # a daemon that reads nothing for so long hangs


class Pending:
    """A call that is out: `next` waits for what comes of it. For the thread that made it."""

    def __init__(self, request_id: int) -> None:
        self.request_id = request_id
        self._arrived: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def put(self, message: "dict[str, Any] | None") -> None:
        """Hand over a progress notification or the answer; None says that the connection was lost."""
        self._arrived.put(message)

    def next(self, timeout_s: float | None) -> "dict[str, Any]":
        """The next progress notification (it has `method`), or the answer.

        Raises:
            TimeoutError: nothing came within `timeout_s`.
            EOFError: the connection was lost.
        """
        try:
            message = self._arrived.get(timeout=None if timeout_s is None else max(0.0, timeout_s))
        except queue.Empty:
            raise TimeoutError from None
        if message is None:
            raise EOFError("the daemon went away")
        return message


class Channel:
    """A connection with any number of calls in flight, from any threads."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sock.settimeout(None)
        # A timeout of Python's would hold for the reading thread, too, which may wait for hours.
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_TIMEOUT_S, 0))
        self._state = threading.Lock()  # of what follows, up to the blank line
        self._pending: dict[int, Pending] = {}
        self._last_id = 0
        self._lost = False

        self._sending = threading.Lock()
        self._reader = threading.Thread(target=self._read, name="picoclawd-client", daemon=True)
        self._reader.start()

    @property
    def lost(self) -> bool:
        """Whether the connection has ended."""
        return self._lost

    def start(self, method: str, params: "dict[str, Any]") -> Pending:
        """Send a request. What becomes of it arrives at the `Pending`; `finish` lets go of it.

        Raises:
            Lost: the connection had ended before anything was sent: the call was not made.
        """
        with self._state:
            if self._lost:
                raise Lost(f"{method}: the daemon went away")
            self._last_id += 1
            pending = self._pending[self._last_id] = Pending(self._last_id)
        self._send({"id": pending.request_id, "method": method, "params": params})
        return pending

    def cancel(self, pending: Pending) -> None:
        """Ask the daemon to cancel a call, which it answers all the same."""
        self._send({"method": "$/cancelRequest", "params": {"id": pending.request_id}})

    def finish(self, pending: Pending) -> None:
        """Let go of a call: an answer that comes later is dropped."""
        with self._state:
            self._pending.pop(pending.request_id, None)

    def close(self) -> None:
        """End the connection; every call that waits learns of it. Waits for the reading thread, unless it is the one
        that calls."""
        wire.hang_up(self._sock)
        if threading.current_thread() is not self._reader:
            self._reader.join(_SEND_TIMEOUT_S)

    def _send(self, message: "dict[str, Any]") -> None:
        """A failure to send is one of the connection: the reading side tells everybody."""
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        try:
            with self._sending:
                self._sock.sendall(line)
        except OSError:
            wire.hang_up(self._sock)

    def _read(self) -> None:
        try:
            self._read_lines()
        except (OSError, EOFError):
            pass  # whatever it was, the daemon is not there any more
        finally:
            with self._state:
                self._lost = True
                waiting, self._pending = list(self._pending.values()), {}
            for pending in waiting:
                pending.put(None)
            with self._sending:
                self._sock.close()

    def _read_lines(self) -> None:
        unread = bytearray()
        while chunk := self._sock.recv(_CHUNK_BYTES):
            searched = len(unread)
            unread += chunk
            while (end := unread.find(b"\n", searched)) >= 0:
                self._deliver(wire.message_of(bytes(unread[:end])))
                del unread[: end + 1]
                searched = 0
            if len(unread) > wire.ANSWER_MAX_BYTES:
                return

    def _deliver(self, message: "dict[str, Any]") -> None:
        about = message.get("params") or {} if "method" in message else message
        request_id = about.get("id") if isinstance(about, dict) else None
        with self._state:
            pending = self._pending.get(request_id) if isinstance(request_id, int) else None
        if pending is not None:
            pending.put(message)
