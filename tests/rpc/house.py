"""A small host for the wire's tests, and a client that talks to one connection of it over any stream."""

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing

from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.rpc.budget import ByteBudget
from picoclawd.rpc.connection import Connection, WireSettings
from picoclawd.rpc.dispatch import Dispatcher
from picoclawd.rpc.lanes import lane_key
from picoclawd.rpc.meter import Meter, Subject
from picoclawd.rpc.method import LATER, Exchange, Method, Notifier, Params, Peer, Role
from picoclawd.rpc.underway import Underway

Run = Callable[[Exchange, Params], Awaitable[object]]
SETTINGS = WireSettings(max_request_bytes=1 << 20, max_in_flight=64, max_connections=4)


def path_of(params: Params) -> tuple[bytes, ...]:
    """The lane of a call that names a `path`."""
    if isinstance(params, dict) and isinstance(params.get("path"), str):
        return (lane_key(params["path"].encode(), b"/ws"),)
    return ()


class House:
    """A `Host` whose methods are what the tests of the wire need; `notes` and `files` are what they left behind."""

    def __init__(self) -> None:
        self.log = logging.getLogger("tests.rpc")
        self.meter = Meter()
        self.underway = Underway()
        self.notes: list[object] = []
        self.files: dict[str, str] = {}
        self.clients: list[tuple[Peer, Notifier]] = []
        self.ended = 0
        self.gates: dict[str, trio.Event] = {}
        self.started: list[str] = []
        self._news = trio.Event()
        self.stopped: list[str] = []
        self.full = False
        self.methods: dict[str, Method] = {
            method.name: method
            for method in [
                Method("ping", _ping, at_once=lambda exchange, params: {"pong": True}),
                Method("later", _ping, at_once=lambda exchange, params: LATER),
                Method("subtract", _subtract),
                Method("echo", _echo),
                Method("note", self._note),
                Method("append", self._append, mutating=True, lane_paths=path_of),
                Method("read", self._read, lane_paths=path_of),
                Method("wait", self._wait, lane_paths=path_of),
                Method("write_at_gate", self._wait, mutating=True, lane_paths=path_of),
                Method("shielded", self._shielded, mutating=True),
                Method("big", _big),
                Method("big_write", _big, mutating=True),
                Method("fault", _fault, mutating=True),
                Method("boom", _boom),
                Method("boom_write", _boom, mutating=True),
                Method("boom_at_once", _boom, at_once=_boom_at_once),
                Method("boom_lane", _ping, lane_paths=_boom_lane),
                Method("wrapped_fault", _wrapped_fault),
                Method("unencodable", _unencodable),
                Method("patience", _patience),
                Method("report", _report),
                Method("approve", _ping, operator_only=True),
            ]
        }

    def subject(self, client: object) -> Subject:
        return Subject(f"s-{client}", "tester")

    def connected(self, peer: Peer, notifier: Notifier) -> object:
        if self.full:
            raise Fault(Slug.OVERLOADED, "no session is free")
        self.clients.append((peer, notifier))
        return len(self.clients)

    def disconnected(self, client: object) -> None:
        self.ended += 1

    def available(self, peer: Peer) -> Sequence[str]:
        return ["echo", "ping"]

    def gate(self, name: str) -> trio.Event:
        """What the calls named so wait for."""
        return self.gates.setdefault(name, trio.Event())

    async def until_started(self, *names: str) -> None:
        """Wait until calls with these names have begun."""
        with trio.fail_after(5):
            while not set(names) <= set(self.started):
                self._news = trio.Event()
                await self._news.wait()

    async def _note(self, exchange: Exchange, params: Params) -> object:
        self.notes.append(params)
        return None

    async def _append(self, exchange: Exchange, params: Params) -> object:
        assert isinstance(params, dict)
        old = self.files.get(params["path"], "")
        await trio.lowlevel.checkpoint()  # a turn for whoever might come between
        self.files[params["path"]] = old + params["text"]
        return len(old)

    async def _read(self, exchange: Exchange, params: Params) -> object:
        assert isinstance(params, dict)
        return self.files.get(params["path"], "")

    async def _wait(self, exchange: Exchange, params: Params) -> object:
        assert isinstance(params, dict)
        name = params["name"]
        self.started.append(name)
        self._news.set()
        try:
            await self.gate(name).wait()
        finally:
            self.stopped.append(name)
        return name

    async def _shielded(self, exchange: Exchange, params: Params) -> object:
        with trio.CancelScope(shield=True):
            await self._wait(exchange, params)
        return {"applied": True, "cancelled": exchange.cancelled()}


async def _ping(exchange: Exchange, params: Params) -> object:
    return {"pong": True}


async def _subtract(exchange: Exchange, params: Params) -> object:
    if isinstance(params, dict):
        return params["minuend"] - params["subtrahend"]
    return params[0] - params[1]


async def _echo(exchange: Exchange, params: Params) -> object:
    return {"params": params, "meta": dict(exchange.meta), "role": exchange.peer.role, "client": exchange.client}


async def _big(exchange: Exchange, params: Params) -> object:
    assert isinstance(params, dict)
    return "x" * params["size"]


async def _fault(exchange: Exchange, params: Params) -> object:
    call = NextCall("read_file", {"path": "a"})
    raise Fault(Slug.NO_MATCH, "old_text is not in a", excerpt="line 3: near", next_call=call, closest=[3])


async def _boom(exchange: Exchange, params: Params) -> object:
    raise RuntimeError("secret /home/somebody/file")


def _boom_at_once(exchange: Exchange, params: Params) -> object:
    raise RuntimeError("secret /home/somebody/file")


def _boom_lane(params: Params) -> tuple[bytes, ...]:
    raise RuntimeError("secret /home/somebody/file")


async def _wrapped_fault(exchange: Exchange, params: Params) -> object:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_fault, exchange, params)
        await trio.sleep_forever()


async def _unencodable(exchange: Exchange, params: Params) -> object:
    return object()


async def _patience(exchange: Exchange, params: Params) -> object:
    exchange.deadline = trio.current_time() + 5
    await trio.sleep_forever()


async def _report(exchange: Exchange, params: Params) -> object:
    for done in range(3):
        exchange.progress(done, 3, "scanning")
        await trio.sleep(0.11)  # real: progress is counted by the clock that threads have too
    return "done"


class Talk:
    """The client's end of one connection."""

    def __init__(self, stream: trio.abc.HalfCloseableStream) -> None:
        self.stream = stream
        self._rest = b""

    async def send(self, *messages: object) -> None:
        """Send one line for each message: bytes as they are, all else as JSON."""
        lines = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
        with trio.fail_after(5):
            await self.stream.send_all(b"\n".join(lines) + b"\n")

    async def call(self, method: str, request_id: object = 1, **params: Any) -> None:
        """Send one request."""
        await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    async def receive(self) -> Any:
        """The next line, as JSON."""
        with trio.fail_after(5):
            while b"\n" not in self._rest:
                data = await self.stream.receive_some(65536)
                assert data, f"the connection was closed after {self._rest!r}"
                self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    async def ask(self, message: object) -> Any:
        """Send one line and receive one."""
        await self.send(message)
        return await self.receive()

    async def result(self, method: str, **params: Any) -> Any:
        """Call and return the result."""
        answer = await self.ask({"jsonrpc": "2.0", "id": 99, "method": method, "params": params})
        assert "result" in answer, answer
        return answer["result"]

    async def end(self) -> list[Any]:
        """End the input; everything that is still answered before the connection closes."""
        await self.stream.send_eof()
        return await self.rest()

    async def rest(self) -> list[Any]:
        """Everything until the connection closes."""
        with trio.fail_after(40):
            while data := await self.stream.receive_some(65536):
                self._rest += data
        return [json.loads(line) for line in self._rest.split(b"\n") if line]

    async def nothing_comes(self) -> None:
        """Check that the daemon has said nothing that was not received, by what a ping is answered with."""
        assert await self.result("ping") == {"pong": True}


def make_connection(
    house: House,
    stream: trio.abc.Stream,
    settings: WireSettings = SETTINGS,
    role: Role = "agent",
    budget: ByteBudget | None = None,
) -> Connection:
    """One connection of a house."""
    peer = Peer(role, 1234, 1000)
    return Connection(stream, peer, house, Dispatcher(house), budget or ByteBudget(1 << 30), settings)


@asynccontextmanager
async def talking(
    house: House,
    settings: WireSettings = SETTINGS,
    role: Role = "agent",
    budget: ByteBudget | None = None,
) -> AsyncIterator[Talk]:
    """Talk to a house over memory streams."""
    client, server = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_connection(house, server, settings, role, budget).serve)
        yield Talk(client)
        nursery.cancel_scope.cancel()


def error_of(answer: Any) -> tuple[int, str, object]:
    """An error answer's code, slug and id."""
    return answer["error"]["code"], answer["error"]["data"]["error"], answer["id"]


def request(method: str, request_id: object = None, params: object = None) -> dict[str, Any]:
    """A request; a notification without an id."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if request_id is not None:
        message["id"] = request_id
    if params is not None:
        message["params"] = params
    return message
