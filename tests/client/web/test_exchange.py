"""One connection, over a stream in memory; what takes time takes it on a clock that jumps."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
import trio
import trio.testing

from picoclawd.client.web import exchange
from picoclawd.client.web.exchange import Exchange
from picoclawd.client.web.messages import Answer, Request, found
from tests.e2e.page import Reply

GET = b"GET /api/x?a=1&b= HTTP/1.1\r\nHost: h\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
Client = trio.abc.HalfCloseableStream


class Echo:
    """Answers with what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def respond(self, request: Request) -> Answer:
        self.asked.append(request)
        return found([request.method, request.path, request.query, request.body.decode()])


@asynccontextmanager
async def connected(respond: Callable[[Request], Awaitable[Answer]]) -> AsyncIterator[Client]:
    """A client's end; the server's is closed when the exchange is over."""
    client, server = trio.testing.memory_stream_pair()

    async def serve() -> None:
        async with server:
            with suppress(trio.BrokenResourceError):  # the client is gone: the server's connections end so, too
                await Exchange(server, respond).run()

    with trio.fail_after(600):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            yield client
            await client.aclose()


async def everything(client: Client) -> bytes:
    """What comes until the server closes."""
    received = bytearray()
    while chunk := await client.receive_some():
        received += chunk
    return bytes(received)


async def status_of(data: bytes) -> int:
    """The status of the one answer to these bytes, after which the server closes."""
    async with connected(Echo().respond) as client:
        await client.send_all(data)
        return Reply(await everything(client)).status


async def test_a_request_is_answered_with_all_that_every_answer_carries() -> None:
    async with connected(Echo().respond) as client:
        await client.send_all(LAST)
        reply = Reply(await everything(client))
    assert (reply.status, reply.json) == (200, ["GET", "/", {}, ""])
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["content-security-policy"].startswith("default-src 'none'")


async def test_one_connection_carries_several_requests_also_such_as_come_early() -> None:
    echo = Echo()
    async with connected(echo.respond) as client:
        await client.send_all(GET + GET + LAST)
        received = await everything(client)
    assert received.count(b"HTTP/1.1 200") == 3
    assert [request.path for request in echo.asked] == ["/api/x", "/api/x", "/"]
    assert echo.asked[0].query == {"a": "1", "b": ""}


async def test_a_head_gets_the_headers_alone() -> None:
    async with connected(Echo().respond) as client:
        await client.send_all(b"HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        received = await everything(client)
    assert int(Reply(received).headers["content-length"]) > 0
    assert received.endswith(b"\r\n\r\n")


async def test_a_body_comes_whole_also_in_chunks_and_after_100_continue() -> None:
    async with connected(Echo().respond) as client:
        head = b"POST /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
        await client.send_all(head + b"Expect: 100-continue\r\n\r\n")
        assert (await client.receive_some()).startswith(b"HTTP/1.1 100")
        await client.send_all(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        assert Reply(await everything(client)).json == ["POST", "/p", {}, "abcde"]


BIG = exchange.BODY_MAX_BYTES + 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"GET /" + b"x" * 9000, 414),
        (b"GET /" + b"x" * 90_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"y" * 17_000, 431),
        (b"GET / HTTP/1.1\r\nHost: h\r\n" + b"X: y\r\n" * 9000 + b"\r\n", 431),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % BIG, 413),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b" % (BIG, b"z" * BIG), 413),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400),
        (b"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        (b"GET /?" + b"&a=1" * 99 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nHost: h\r\n\r\n", 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),  # a browser that tries TLS
        (b"no http at all\r\n\r\n", 400),
    ],
)
async def test_what_is_no_request_to_answer_gets_its_status_and_the_connection_ends(data: bytes, expected: int) -> None:
    assert await status_of(data) == expected


@pytest.mark.parametrize(
    "beginning", [b"G", b"GET / HTTP/1.1\r\nHost: h\r\n", b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"]
)
async def test_a_request_that_does_not_come_to_its_end_is_given_up(
    beginning: bytes, autojump_clock: trio.testing.MockClock
) -> None:
    started = trio.current_time()
    assert await status_of(beginning) == 408
    assert trio.current_time() - started < exchange.REQUEST_TIMEOUT_S + exchange.LINGER_S + 1


async def test_bytes_that_trickle_in_do_not_prolong_the_time(autojump_clock: trio.testing.MockClock) -> None:
    async with connected(Echo().respond) as client:
        started = trio.current_time()
        async with trio.open_nursery() as nursery:

            async def trickle() -> None:
                while True:
                    await client.send_all(b"G")
                    await trio.sleep(1)

            nursery.start_soon(trickle)
            assert (await client.receive_some()).startswith(b"HTTP/1.1 408")
            nursery.cancel_scope.cancel()
        assert trio.current_time() - started < exchange.REQUEST_TIMEOUT_S + 2


async def test_an_idle_connection_is_closed_without_a_word(autojump_clock: trio.testing.MockClock) -> None:
    async with connected(Echo().respond) as client:
        assert await everything(client) == b""


async def test_a_client_that_does_not_read_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    async def respond(_: Request) -> Answer:
        return Answer(200, b"x")

    client, server = trio.testing.lockstep_stream_pair()  # nothing is buffered: sending waits for who reads
    with trio.fail_after(600):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.send_all, GET)
            with pytest.raises(trio.BrokenResourceError):
                await Exchange(server, respond).run()


async def test_what_a_client_waits_for_is_dropped_once_it_is_gone(autojump_clock: trio.testing.MockClock) -> None:
    dropped = trio.Event()

    async def respond(_: Request) -> Answer:
        try:
            await trio.sleep_forever()
        finally:
            dropped.set()

    async with connected(respond) as client:
        await client.send_all(GET)
        await trio.sleep(exchange.GONE_AFTER_S + 1)
        await client.aclose()
        await dropped.wait()


async def test_what_changes_something_is_finished_also_for_a_client_that_is_gone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    done: list[Request] = []

    async def respond(request: Request) -> Answer:
        await trio.sleep(20)
        done.append(request)
        return found(None)

    async with connected(respond) as client:
        await client.send_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
        await trio.sleep(5)
        await client.aclose()
        await trio.sleep(30)
    assert len(done) == 1
