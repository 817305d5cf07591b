"""Sending lines to one peer."""

from collections.abc import Callable

import trio
import trio.testing

from picoclawd import limits
from picoclawd.errors import Slug
from picoclawd.rpc.outbox import CHUNK_BYTES, Outbox


class Kernel:
    """A send buffer with `room`; sending by waiting goes to a memory stream."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken = b""
        self.calls = 0
        self.gone = False

    def send_now(self, data: bytes | memoryview) -> int:
        if self.gone:
            raise trio.BrokenResourceError
        count = min(self.room, len(data))
        self.room -= count
        self.taken += bytes(data[:count])
        self.calls += 1
        return count


class Ends:
    """What became of the lines and of the peer."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.broken: list[Slug | None] = []

    def line(self, number: int) -> Callable[[], None]:
        return lambda: self.sent.append(number)


async def test_what_has_piled_up_goes_in_one_send_and_is_reported() -> None:
    kernel, ends = Kernel(1000), Ends()
    outbox = Outbox(trio.testing.MemorySendStream(), kernel.send_now, ends.broken.append)
    for number in range(3):
        outbox.put(b"%d" % number, ends.line(number))
    assert outbox.push() is False
    assert (kernel.taken, kernel.calls, ends.sent) == (b"0\n1\n2\n", 1, [0, 1, 2])


async def test_what_the_kernel_does_not_take_is_flushed_in_order() -> None:
    kernel, ends = Kernel(3), Ends()
    stream = trio.testing.MemorySendStream()
    outbox = Outbox(stream, kernel.send_now, ends.broken.append)
    outbox.put(b"abc", ends.line(1))
    outbox.put(b"def", ends.line(2))
    assert outbox.push() is True
    outbox.put(b"g", ends.line(3))
    assert outbox.push() is False  # somebody has been told to flush
    assert ends.sent == []
    await outbox.flush()
    assert kernel.taken + stream.get_data_nowait() == b"abc\ndef\ng\n"
    assert ends.sent == [1, 2, 3]


async def test_without_sending_at_once_everything_is_flushed() -> None:
    stream = trio.testing.MemorySendStream()
    outbox = Outbox(stream, None, lambda why: None)
    outbox.put(b"x" * (3 * CHUNK_BYTES), lambda: None)
    outbox.put(b"y", lambda: None)
    assert outbox.push() is True
    await outbox.flush()
    assert stream.get_data_nowait() == b"x" * (3 * CHUNK_BYTES) + b"\ny\n"


async def test_a_peer_that_is_gone_breaks_the_outbox_once_and_frees_all_lines() -> None:
    kernel, ends = Kernel(1000), Ends()
    kernel.gone = True
    outbox = Outbox(trio.testing.MemorySendStream(), kernel.send_now, ends.broken.append)
    outbox.put(b"a" * CHUNK_BYTES, ends.line(1))
    outbox.put(b"b" * CHUNK_BYTES, ends.line(2))
    assert outbox.push() is False
    outbox.put(b"c", ends.line(3))
    outbox.break_off(None)
    assert (sorted(ends.sent), ends.broken) == ([1, 2, 3], [None])


async def test_a_peer_that_is_gone_is_noticed_while_waiting_too() -> None:
    ends = Ends()
    ours, theirs = trio.testing.lockstep_stream_one_way_pair()
    await theirs.aclose()
    outbox = Outbox(ours, None, ends.broken.append)
    outbox.put(b"a", ends.line(1))
    await outbox.flush()
    assert (ends.sent, ends.broken) == ([1], [None])


async def test_a93_a_peer_that_reads_nothing_is_given_up_after_the_timeout(autojump_clock: trio.abc.Clock) -> None:
    ends = Ends()
    ours, _theirs = trio.testing.lockstep_stream_one_way_pair()
    outbox = Outbox(ours, None, ends.broken.append)
    for number in range(100):
        outbox.put(b"x" * 1000, ends.line(number))
    start = trio.current_time()
    await outbox.flush()
    assert trio.current_time() - start == limits.SLOW_CLIENT_TIMEOUT_S
    assert (ends.broken, sorted(ends.sent)) == ([Slug.SLOW_CLIENT], list(range(100)))


async def test_a_peer_that_reads_slowly_but_steadily_is_kept(autojump_clock: trio.abc.Clock) -> None:
    ends = Ends()
    ours, theirs = trio.testing.lockstep_stream_one_way_pair()
    outbox = Outbox(ours, None, ends.broken.append)
    outbox.put(b"x" * (4 * CHUNK_BYTES - 1), ends.line(1))
    got = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.flush)
        while got < 4 * CHUNK_BYTES:
            await trio.sleep(20)
            got += len(await theirs.receive_some(CHUNK_BYTES))
    assert (ends.sent, ends.broken) == ([1], [])
