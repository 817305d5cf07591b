"""Queue the lines for one peer and send them, several at once where they have piled up.

There is no writer task: whoever has an answer sends it, at once where the kernel takes it (`push`), else by waiting for
room (`flush`), and what others put meanwhile goes along. A peer that stops reading stops only its own flush; after
`limits.SLOW_CLIENT_TIMEOUT_S` without progress it is given up.
"""

from collections import deque
from collections.abc import Callable

import trio

from picoclawd import limits
from picoclawd.errors import Slug

# As much as one system call takes with a default socket buffer; also what a slow peer must read within its timeout.
CHUNK_BYTES = 128 * limits.KIB

Sent = Callable[[], None]
SendNow = Callable[[bytes | memoryview], int]


class Outbox:
    """The lines that one stream has yet to be sent, in order.

    `send_now` sends what goes without waiting and returns how much that was; without it every line takes a flush.
    `on_broken` is called once, with `slow_client` or None for a peer that is gone; nothing is sent afterwards.
    """

    def __init__(
        self, stream: trio.abc.SendStream, send_now: SendNow | None, on_broken: Callable[[Slug | None], None]
    ) -> None:
        self._stream = stream
        self._send_now = send_now
        self._on_broken = on_broken
        self._queue: deque[tuple[bytes | memoryview, Sent]] = deque()  # whole lines, but for what push cut off in front
        self._flushing = False
        self._summoned = False
        self._broken = False

    def put(self, line: bytes, sent: Sent) -> None:
        """Queue a line without its ending. `sent` is called once it is with the kernel, or will never be."""
        if self._broken:
            sent()
        else:
            self._queue.append((line + b"\n", sent))

    def push(self) -> bool:
        """Send what goes without waiting. True when the caller must see to it that `flush` runs for the rest."""
        if self._flushing or self._summoned:
            return False
        if self._send_now is not None:
            self._push_now(self._send_now)
        self._summoned = bool(self._queue)
        return self._summoned

    async def flush(self) -> None:
        """Send until nothing is queued; return at once where another task is at it."""
        self._summoned = False
        if self._flushing:
            return
        self._flushing = True
        try:
            while self._queue:
                await self._send_some()
        finally:
            self._flushing = False

    def break_off(self, why: Slug | None) -> None:
        """Give the peer up: drop what is queued and what will be."""
        if self._broken:
            return
        self._broken = True
        dropped = list(self._queue)
        self._queue.clear()
        for _, sent in dropped:
            sent()
        self._on_broken(why)

    def _push_now(self, send_now: SendNow) -> None:
        try:
            while self._queue:
                data, done = self._next_chunk()
                sent_bytes = send_now(data)
                if sent_bytes < len(data):
                    self._queue.appendleft((memoryview(data)[sent_bytes:], _all(done)))
                    return
                for sent in done:
                    sent()
        except trio.BrokenResourceError:
            for sent in done:
                sent()
            self.break_off(None)

    async def _send_some(self) -> None:
        data, done = self._next_chunk()
        try:
            await self._send(data)
        finally:
            for sent in done:
                sent()

    def _next_chunk(self) -> tuple[bytes | memoryview, list[Sent]]:
        """Take lines off the queue, joined, until there is a chunk; a long line is one by itself."""
        first, sent = self._queue.popleft()
        if not self._queue:
            return first, [sent]
        lines, done, size_bytes = [first], [sent], len(first)
        while self._queue and size_bytes < CHUNK_BYTES:
            line, sent = self._queue.popleft()
            lines.append(line)
            done.append(sent)
            size_bytes += len(line)
        return b"".join(lines), done

    async def _send(self, data: bytes | memoryview) -> None:
        try:
            for start in range(0, len(data), CHUNK_BYTES):
                with trio.move_on_after(limits.SLOW_CLIENT_TIMEOUT_S) as patience:
                    await self._stream.send_all(memoryview(data)[start : start + CHUNK_BYTES])
                if patience.cancelled_caught:
                    self.break_off(Slug.SLOW_CLIENT)
                    return
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.break_off(None)


def _all(done: list[Sent]) -> Sent:
    """Make one callback of several."""

    def sent() -> None:
        for each in done:
            each()

    return sent
