"""Speak line-delimited JSON-RPC over a Unix socket: synchronously, one call at a time."""

import json
import os
import socket
import sys
import time

from picoclawd.client.failures import Lost, NoDaemon, RpcError

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

    import trio

SUPERUSER = 0  # systemd may have bound the socket
CONNECT_TIMEOUT_S = 5.0  # a daemon that lives accepts at once; this long means that it hangs
CALL_TIMEOUT_S = 600.0  # longer than any wait for a person's answer that is configured in earnest
CANCEL_GRACE_S = 5.0  # a call that is cancelled is answered at once, unless it is past its intent
ANSWER_MAX_BYTES = 64 * 1024 * 1024  # an operator's largest answer is about 6 MiB; more is no daemon of ours
NOTIFICATIONS_MAX = 1000  # older ones are dropped: a caller that wants them all reads as it goes
_CHUNK_BYTES = 1 << 16
_UCRED_BYTES = 12  # pid, uid and gid, 4 bytes each: SO_PEERCRED in socket(7)
_UNKNOWN = "Whether the call took effect is unknown: look before you repeat it."


class Connection:
    """One connection to a daemon. Not for several threads at once.

    `notifications` holds what the daemon sent beside answers, oldest first, at most `NOTIFICATIONS_MAX`.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._unread = bytearray()
        self._last_id = 0
        self.notifications: list[dict[str, Any]] = []

    @classmethod
    def open(cls, path: str, timeout_s: float = CONNECT_TIMEOUT_S) -> "Self":
        """Connect to the socket at `path`. Blocks for at most `timeout_s`.

        Raises:
            OSError: nothing listens there (`ConnectionRefusedError`, `FileNotFoundError`), or it may not be reached.
            NoDaemon: another user listens there.
        """
        return cls(connected(path, timeout_s))

    def call(
        self, method: str, params: "dict[str, Any] | list[Any] | None" = None, timeout_s: float = CALL_TIMEOUT_S
    ) -> "Any":
        """Send one request and wait for its answer: the result, as parsed JSON.

        Raises:
            RpcError: the daemon answered with an error.
            Lost: it closed the connection, or did not answer within `timeout_s`.
        """
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}}
        deadline = time.monotonic() + timeout_s
        try:
            self._sock.settimeout(timeout_s)
            self._sock.sendall(json.dumps(request).encode() + b"\n")
            answer = self._answer_to(self._last_id, deadline)
        except TimeoutError:
            raise Lost(f"{method}: no answer within {timeout_s:g} s.\n{_UNKNOWN}") from None
        except (OSError, EOFError) as exc:
            raise Lost(f"{method}: the daemon went away: {exc}.\n{_UNKNOWN}") from None
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer.get("result")

    def next_notification(self) -> "dict[str, Any]":
        """The oldest notification that was not taken yet; waits for one, for as long as the daemon is there.

        Raises:
            Lost: it closed the connection.
        """
        while not self.notifications:
            try:
                message = message_of(self._line(None))
            except (OSError, EOFError) as exc:
                raise Lost(f"the daemon went away: {exc}") from None
            if "method" in message:
                return message
        return self.notifications.pop(0)

    def _answer_to(self, request_id: int, deadline: float) -> "dict[str, Any]":
        while True:
            message = message_of(self._line(deadline))
            if "method" in message:
                self.notifications.append(message)
                del self.notifications[:-NOTIFICATIONS_MAX]
            elif message.get("id") == request_id or (message.get("id") is None and "error" in message):
                return message  # an error without an id is ours: only one request is out

    def _line(self, deadline: float | None) -> bytes:
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0:
            searched = len(self._unread)
            if searched > ANSWER_MAX_BYTES:
                raise EOFError(f"it sent a line of more than {ANSWER_MAX_BYTES} bytes")
            remaining_s = None if deadline is None else deadline - time.monotonic()
            if remaining_s is not None and remaining_s <= 0:
                raise TimeoutError
            self._sock.settimeout(remaining_s)
            chunk = self._sock.recv(_CHUNK_BYTES)
            if not chunk:
                raise EOFError("it closed the connection")
            self._unread += chunk
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line

    def hang_up(self) -> None:
        """End the connection under a thread that waits on it: that one learns that it is lost."""
        hang_up(self._sock)

    def close(self) -> None:
        """Close the connection; the daemon cancels what can still be cancelled."""
        self._sock.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", exc: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self.close()


def connected(path: str, timeout_s: float = CONNECT_TIMEOUT_S) -> socket.socket:
    """A socket that is connected to `path`; the caller owns it. Blocks for at most `timeout_s`.

    Raises:
        OSError: nothing listens there, or it may not be reached.
        NoDaemon: another user listens there.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.connect(path)
        check_peer(sock, path)
    except BaseException:
        sock.close()
        raise
    return sock


def check_peer(sock: "socket.socket | trio.socket.SocketType", path: str) -> None:
    """Refuse a listener that belongs to another user: what is sent to it would be theirs.

    Raises:
        NoDaemon: it does. The superuser's is taken: systemd may have bound it.
    """
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED_BYTES)
    uid = int.from_bytes(credentials[4:8], sys.byteorder)
    if uid not in (os.geteuid(), SUPERUSER):
        raise NoDaemon(
            f"{path} belongs to another user (uid {uid}): nothing was sent there.\n"
            "Start a daemon of your own:  picoclawd serve --workspace DIRECTORY"
        )


def hang_up(sock: socket.socket) -> None:
    """End a connection under a thread that waits on it."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it ended by itself


def message_of(line: bytes) -> "dict[str, Any]":
    """The message on a line.

    Raises:
        EOFError: it is none: no daemon of ours is there.
    """
    try:
        message = json.loads(line)
    except ValueError:
        raise EOFError("it sent a line that is not JSON") from None
    if not isinstance(message, dict):
        raise EOFError("it sent a line that is no JSON-RPC message")
    return message
