import http.client

import pytest
import trio

from picoclawd.client.web import server
from picoclawd.client.web.messages import Answer, Request, found
from picoclawd.client.web.server import Server
from tests.client.web.waiting import until
from tests.e2e.page import Reply

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


async def hello(_: Request) -> Answer:
    return found("hello")


async def test_it_listens_on_loopback_only() -> None:
    (listener,) = await server.listen(0)
    async with listener:
        assert listener.socket.getsockname()[0] == "127.0.0.1"


async def test_a_taken_port_is_an_error() -> None:
    (listener,) = await server.listen(0)
    async with listener:
        with pytest.raises(OSError, match="in use"):
            await server.listen(server.port_of([listener]))


async def test_a_python_client_of_http_is_served() -> None:
    listeners = await server.listen(0)

    def ask() -> list[bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port_of(listeners), timeout=20)
        answers = []
        for _ in range(3):
            connection.request("GET", "/")
            answers.append(connection.getresponse().read())
        connection.close()
        return answers

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Server(hello).serve, listeners)
            assert await trio.to_thread.run_sync(ask) == [b'"hello"'] * 3
            nursery.cancel_scope.cancel()


async def test_connections_beyond_the_most_are_turned_away_and_the_others_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 2)
    made = Server(hello)
    listeners = await server.listen(0)
    port = server.port_of(listeners)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made.serve, listeners)
            held = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(2)]
            for stream in held:
                await stream.send_all(GET)
                assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
            async with await trio.open_tcp_stream("127.0.0.1", port) as third:
                reply = Reply(await third.receive_some())
                assert (reply.status, len(reply.body)) == (503, int(reply.headers["content-length"]))
            assert made.statistics() == {"open": 2, "turned_away": 1}
            await held[0].send_all(GET)
            assert (await held[0].receive_some()).startswith(b"HTTP/1.1 200")
            for stream in held:
                await stream.aclose()
            await until(lambda: not made.statistics()["open"])
            nursery.cancel_scope.cancel()


async def test_a_bug_ends_one_answer_and_not_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    async def broken(request: Request) -> Answer:
        if request.path == "/api/x":
            raise ZeroDivisionError("secret")
        return found("well")

    listeners = await server.listen(0)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Server(broken).serve, listeners)
            async with await trio.open_tcp_stream("127.0.0.1", server.port_of(listeners)) as stream:
                await stream.send_all(GET.replace(b"/ ", b"/api/x "))
                reply = Reply(await stream.receive_some())
                assert (reply.status, reply.slug, b"secret" in reply.body) == (500, "internal", False)
                await stream.send_all(GET)
                assert Reply(await stream.receive_some()).json == "well"
            nursery.cancel_scope.cancel()
    assert "ZeroDivisionError: secret" in capsys.readouterr().err


async def test_a_client_that_resets_takes_nothing_down() -> None:
    listeners = await server.listen(0)
    made = Server(hello)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(made.serve, listeners)
            for _ in range(20):
                stream = await trio.open_tcp_stream("127.0.0.1", server.port_of(listeners))
                stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                await stream.send_all(GET)
                await stream.aclose()  # with a linger of 0: a reset
            await until(lambda: not made.statistics()["open"])
            async with await trio.open_tcp_stream("127.0.0.1", server.port_of(listeners)) as stream:
                await stream.send_all(GET)
                assert Reply(await stream.receive_some()).json == "hello"
            nursery.cancel_scope.cancel()
