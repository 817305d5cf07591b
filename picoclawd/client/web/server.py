"""Accept connections on loopback, so many at a time, and see that none of them can take the server down."""

import trio

from picoclawd.client import output
from picoclawd.client.web.exchange import Exchange, Responder
from picoclawd.client.web.messages import Answer, Request, refused

HOST = "127.0.0.1"
CONNECTIONS_MAX = 64  # a browser opens six
_BACKLOG = 64
_BUSY_S = 1.0
_BUSY_TEXT = b"Too many connections: close other tabs of this page.\n"
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
    b"Cache-Control: no-store\r\nRetry-After: 5\r\nConnection: close\r\n\r\n%b"
) % (len(_BUSY_TEXT), _BUSY_TEXT)


class Server:
    """A web server whose every request `respond` answers."""

    def __init__(self, respond: Responder) -> None:
        self._respond = respond
        self._open = 0
        self._turned_away = 0

    async def serve(self, listeners: list[trio.SocketListener]) -> None:
        """Serve until cancelled."""
        await trio.serve_listeners(self._connection, listeners)

    def statistics(self) -> dict[str, int]:
        """Connections that are open, and that were turned away."""
        return {"open": self._open, "turned_away": self._turned_away}

    async def _connection(self, stream: trio.SocketStream) -> None:
        try:
            async with stream:
                if self._open >= CONNECTIONS_MAX:
                    self._turned_away += 1
                    await _turn_away(stream)
                    return
                self._open += 1
                try:
                    await Exchange(stream, self._guarded).run()
                finally:
                    self._open -= 1
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return  # the client is gone, which is its right

    async def _guarded(self, request: Request) -> Answer:
        try:
            return await self._respond(request)
        except Exception as exc:  # noqa: BLE001 - the one guard: a bug ends one answer, not the page
            output.complain(f"{request.method} {request.path}: {type(exc).__name__}: {exc}\nThis is a bug.")
            return refused(500, "internal", "That failed: the terminal of `picoclawctl web` says how.", request.path)


async def listen(port: int) -> list[trio.SocketListener]:
    """Listen on loopback; port 0 is one of the kernel's choice.

    Raises:
        OSError: the port is taken, or may not be used.
    """
    return await trio.open_tcp_listeners(port, host=HOST, backlog=_BACKLOG)


def port_of(listeners: list[trio.SocketListener]) -> int:
    """The port that was taken."""
    port: int = listeners[0].socket.getsockname()[1]
    return port


async def _turn_away(stream: trio.SocketStream) -> None:
    with trio.move_on_after(_BUSY_S):
        await stream.send_all(_BUSY)
        await stream.send_eof()
        await stream.receive_some(1024)
