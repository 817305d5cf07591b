"""The Unix stream."""

import socket

import pytest
import trio
import trio.testing

from picoclawd.rpc.stream import UnixStream


def pair() -> tuple[UnixStream, UnixStream]:
    one, other = socket.socketpair()
    return UnixStream(one), UnixStream(other)


async def test_it_keeps_trios_rules_for_streams() -> None:
    async def make() -> tuple[UnixStream, UnixStream]:
        return pair()

    async def make_clogged() -> tuple[UnixStream, UnixStream]:
        both = pair()
        for stream in both:
            while stream.send_now(b"x" * 65536):
                pass
        return both

    await trio.testing.check_half_closeable_stream(make, make_clogged)


async def test_sending_at_once_tells_how_much_went_and_never_waits() -> None:
    one, other = pair()
    sent = 0
    while count := one.send_now(b"x" * 100_000):
        sent += count
    got = 0
    while got < sent:
        got += len(await other.receive_some(65536))
    assert got == sent
    assert one.send_now(b"y") == 1
    one.close()
    other.close()


async def test_gone_means_both_directions_closed() -> None:
    one, other = socket.socketpair()
    stream = UnixStream(one)
    assert not stream.gone()
    other.shutdown(socket.SHUT_WR)
    assert await stream.receive_some() == b""
    assert not stream.gone()
    other.close()
    assert stream.gone()
    with pytest.raises(trio.BrokenResourceError):
        stream.send_now(b"x")
    stream.close()
    stream.close()
    assert stream.gone()
