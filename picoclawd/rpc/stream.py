"""A Unix stream socket as a trio stream that can also send what fits at once, without leaving the task.

`trio.SocketStream` is right but takes a third of a ping: context managers and an EAGAIN for each receive, a checkpoint
for each send. Answers nearly always fit into the kernel's buffer; what does not is left to it.
"""

import operator
import select
import socket

import trio

DEFAULT_RECEIVE_BYTES = 65536  # as trio.SocketStream


class UnixStream(trio.abc.HalfCloseableStream):
    """Owns a connected stdlib socket and makes it non-blocking."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(connected))
        self._poll = select.poll()
        self._poll.register(connected, 0)  # POLLHUP and POLLERR are always reported (poll(2))

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Wait for bytes; `b""` at the end of input. See `trio.abc.ReceiveStream`."""
        size_bytes = DEFAULT_RECEIVE_BYTES if max_bytes is None else operator.index(max_bytes)
        if size_bytes < 1:
            raise ValueError("max_bytes must be >= 1")
        while True:
            if self._socket.fileno() == -1:
                await trio.lowlevel.checkpoint()
                raise trio.ClosedResourceError("this stream was closed")
            await trio.lowlevel.wait_readable(self._socket)
            try:
                return self._socket.recv(size_bytes)
            except BlockingIOError:
                continue
            except OSError as exc:
                raise trio.BrokenResourceError(str(exc)) from exc

    def send_now(self, data: bytes | memoryview) -> int:
        """Send what the kernel takes without waiting and return how much that was; 0 when its buffer is full.

        Not while `send_all` runs. Raises: trio.BrokenResourceError when the peer is gone or this end is closed.
        """
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError as exc:
            raise trio.BrokenResourceError(str(exc)) from exc

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send everything, waiting for room. See `trio.abc.SendStream`."""
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        """Wait for room. See `trio.abc.SendStream`."""
        await self._stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        """Close the sending direction. See `trio.abc.HalfCloseableStream`."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close both directions at once."""
        await self._stream.aclose()

    def close(self) -> None:
        """Close both directions at once, without a checkpoint. Calling it again does nothing."""
        self._stream.socket.close()

    def gone(self) -> bool:
        """Whether the peer has closed both directions: it will read no answer."""
        return self._socket.fileno() == -1 or bool(self._poll.poll(0))
