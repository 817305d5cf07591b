import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import memory_stream_pair, wait_all_tasks_blocked

from picoclawd.client import link
from picoclawd.client.failures import Lost, RpcError
from tests.client.fake import FakeDaemon


class Peer:
    """The daemon's end of a link, played by the test."""

    def __init__(self, stream: trio.StapledStream[Any, Any]) -> None:
        self.stream = stream
        self._unread = b""

    async def next(self) -> Any:
        """The next message that the link sent."""
        while b"\n" not in self._unread:
            self._unread += await self.stream.receive_some()
        line, self._unread = self._unread.split(b"\n", 1)
        return json.loads(line)

    async def send(self, *messages: Any) -> None:
        """Send messages to the link."""
        await self.stream.send_all(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


@asynccontextmanager
async def linked() -> AsyncIterator[tuple[link.Link, Peer]]:
    ours, theirs = memory_stream_pair()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            made = link.Link(ours)
            nursery.start_soon(made.run)
            yield made, Peer(theirs)
            made.close()


async def test_answers_find_their_call_in_any_order() -> None:
    results: dict[str, Any] = {}

    async def ask(connection: link.Link, method: str) -> None:
        results[method] = await connection.call(method, {})

    async with linked() as (connection, peer), trio.open_nursery() as nursery:
        nursery.start_soon(ask, connection, "a")
        first = await peer.next()
        nursery.start_soon(ask, connection, "b")
        second = await peer.next()
        await peer.send({"method": "note"}, {"id": second["id"], "result": 2}, {"id": first["id"], "result": 1})
    assert results == {first["method"]: 1, second["method"]: 2}


async def test_an_error_is_raised() -> None:
    async with linked() as (connection, peer), trio.open_nursery() as nursery:

        async def refuse() -> None:
            request = await peer.next()
            await peer.send({"id": request["id"], "error": {"code": -1, "message": "no", "data": {"error": "x"}}})

        nursery.start_soon(refuse)
        with pytest.raises(RpcError, match="no"):
            await connection.call("a", {})


async def test_a_cancelled_call_is_cancelled_at_the_daemon() -> None:
    async with linked() as (connection, peer):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.call, "slow", {})
            request = await peer.next()
            nursery.cancel_scope.cancel()
        assert await peer.next() == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request["id"]}}
        await peer.send({"id": request["id"], "error": {"code": -32800, "message": "late"}})
        assert connection.statistics() == {"waiting": 0}


@pytest.mark.parametrize("ending", [b"", b"not json\n"])
async def test_a_lost_daemon_fails_every_waiting_call(ending: bytes) -> None:
    async with linked() as (connection, peer), trio.open_nursery() as nursery:

        async def vanish() -> None:
            await wait_all_tasks_blocked()
            await peer.stream.send_all(ending)
            await peer.stream.aclose()

        nursery.start_soon(vanish)
        with pytest.raises(Lost, match="unknown"):
            await connection.call("slow", {})
        assert connection.lost
        with pytest.raises(Lost):
            await connection.call("again", {})


async def test_an_endless_line_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "ANSWER_MAX_BYTES", 1000)
    async with linked() as (connection, peer), trio.open_nursery() as nursery:
        nursery.start_soon(peer.stream.send_all, b"x" * 5000)
        with pytest.raises(Lost):
            await connection.call("slow", {})


async def test_connect_reaches_a_socket(daemon: FakeDaemon) -> None:
    with trio.fail_after(10):
        connection = await link.connect(daemon.path)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.run)
            assert await connection.call("ping", {}) == {}
            connection.close()
