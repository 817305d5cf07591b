"""The server, over real sockets."""

import os
import resource
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from picoclawd import limits
from picoclawd.rpc import server
from picoclawd.rpc.budget import ByteBudget
from picoclawd.rpc.method import Method, Notifier, Peer, Role
from picoclawd.rpc.server import Door, Server
from picoclawd.rpc.stream import UnixStream
from tests.rpc.house import SETTINGS, House, Talk, error_of, request

VISIT_AS_NOBODY = """
import os, socket, sys
os.setuid(65534)
caller = socket.socket(socket.AF_UNIX)
caller.connect(sys.argv[1])
print(caller.recv(9))
"""


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a short name: a socket's path has 107 bytes at most."""
    return tmp_path_factory.mktemp("s")


@contextmanager
def listening(place: Path, *roles: Role) -> Iterator[list[Door]]:
    with ExitStack() as opened:
        doors = [Door(opened.enter_context(socket.socket(socket.AF_UNIX)), role) for role in roles]
        for door in doors:
            door.listener.bind(str(place / door.role))
            door.listener.listen()
        yield doors


@asynccontextmanager
async def serving(place: Path, house: House, *, uid: int | None = None) -> AsyncIterator[Server]:
    """A server on an agents' and an operator's socket, stopped at the end."""
    running = Server(house, SETTINGS, ByteBudget(1 << 30), uid=uid)
    with listening(place, "agent", "operator") as doors, trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            await nursery.start(running.run, doors)
            yield running
            running.stop()


@asynccontextmanager
async def visiting(place: Path, role: Role = "agent") -> AsyncIterator[Talk]:
    caller = socket.socket(socket.AF_UNIX)
    caller.connect(str(place / role))
    stream = UnixStream(caller)
    try:
        yield Talk(stream)
    finally:
        stream.close()


async def test_the_role_is_the_socket_and_the_peer_is_who_the_kernel_says(place: Path) -> None:
    house = House()
    async with serving(place, house), visiting(place) as agent, visiting(place, "operator") as operator:
        assert (await agent.result("echo"))["role"] == "agent"
        assert (await operator.result("echo"))["role"] == "operator"
        roles: list[Role] = ["agent", "operator"]
        assert {peer for peer, _ in house.clients} == {Peer(role, os.getpid(), os.getuid()) for role in roles}


async def test_a96_a_peer_of_another_uid_is_refused_and_logged(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    house = House()
    async with serving(place, house, uid=os.getuid() + 1) as running, visiting(place) as talk:
        assert await talk.rest() == []
        assert running.statistics().refused == 1
    assert house.clients == []
    assert f"uid {os.getuid()}" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
async def test_a96_a_process_of_another_user_is_refused(place: Path) -> None:
    house = House()
    for above in (place, *place.parents):
        if above.stat().st_uid == 0 and "pytest-of-" in str(above):
            above.chmod(0o755)
    async with serving(place, house):
        (place / "agent").chmod(0o666)
        stranger = await trio.run_process(
            [sys.executable, "-c", VISIT_AS_NOBODY, str(place / "agent")], capture_stdout=True
        )
    assert stranger.stdout == b"b''\n"
    assert house.clients == []


async def test_beyond_max_connections_one_error_is_said_and_others_go_on(place: Path) -> None:
    async with serving(place, House()) as running:
        visits = [visiting(place) for _ in range(SETTINGS.max_connections)]
        talks = [await visit.__aenter__() for visit in visits]
        for talk in talks:
            await talk.nothing_comes()
        async with visiting(place) as late:
            [answer] = await late.rest()
            assert error_of(answer) == (-32011, "overloaded", None)
        assert running.statistics().connections == SETTINGS.max_connections
        for visit, talk in zip(visits, talks, strict=True):
            await talk.nothing_comes()
            await visit.__aexit__(None, None, None)
        await trio.testing.wait_all_tasks_blocked(0.01)
        async with visiting(place) as talk:
            await talk.nothing_comes()


async def test_running_out_of_descriptors_pauses_accepting_and_recovers(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(place, House()), visiting(place) as first:
        await first.nothing_comes()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        caller = socket.socket(socket.AF_UNIX)
        stream = UnixStream(caller)
        spare = os.dup(0)
        os.close(spare)
        resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
        try:
            caller.connect(str(place / "agent"))
            await trio.sleep(server.ACCEPT_PAUSE_S / 2)
            await first.nothing_comes()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        await Talk(stream).nothing_comes()
        stream.close()
    assert "cannot accept a connection: Too many open files" in caplog.text


async def test_a98_a_bug_in_one_connection_ends_no_other(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Buggy(House):
        def connected(self, peer: Peer, notifier: Notifier) -> object:
            if peer.role == "operator":
                raise RuntimeError("a bug")
            return super().connected(peer, notifier)

    async with serving(place, Buggy()), visiting(place) as good:
        async with visiting(place, "operator") as bad:
            assert await bad.rest() == []
        await good.nothing_comes()
    assert "a bug" in caplog.text


async def test_a98_an_exception_in_a_method_ends_neither_connection_nor_server(place: Path) -> None:
    async with serving(place, House()), visiting(place) as one, visiting(place) as other:
        assert error_of(await one.ask(request("boom", 1))) == (-32603, "internal_error", 1)
        await one.nothing_comes()
        await other.nothing_comes()


async def test_stopping_closes_idle_connections_at_once_and_lets_requests_finish(place: Path) -> None:
    house = House()
    async with serving(place, house) as running, visiting(place) as idle, visiting(place) as busy:
        await idle.nothing_comes()
        await busy.send(request("write_at_gate", 1, {"name": "one"}))
        await house.until_started("one")
        running.stop()
        running.stop()
        assert await idle.rest() == []
        refused = await busy.ask(request("append", 2, {"path": "a", "text": "x"}))
        assert error_of(refused) == (-32011, "shutting_down", 2)
        house.gate("one").set()
        assert [answer["result"] for answer in await busy.rest()] == ["one"]
    assert (house.ended, running.statistics().connections) == (2, 0)


async def test_stopping_does_not_wait_for_ever(place: Path, autojump_clock: trio.abc.Clock) -> None:
    house = House()
    start = trio.current_time()
    async with serving(place, house) as running, visiting(place) as busy:
        await busy.send(request("wait", 1, {"name": "one"}))
        await house.until_started("one")
        running.stop()
        assert await busy.rest() == []
    assert trio.current_time() - start == pytest.approx(limits.STOP_DEADLINE_S)
    assert (house.stopped, house.ended) == (["one"], 1)


async def test_a_replaced_method_table_is_used_from_the_next_request_on(place: Path) -> None:
    house = House()
    async with serving(place, house), visiting(place) as talk:
        house.methods = {"pong": Method("pong", house.methods["echo"].run)}
        assert (await talk.ask(request("pong", 1)))["id"] == 1
        assert error_of(await talk.ask(request("ping", 2))) == (-32601, "method_not_found", 2)


def test_importing_the_server_does_not_import_jsonrpcserver() -> None:
    check = "import sys, picoclawd.rpc.server; sys.exit('jsonrpcserver' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, timeout=30)
