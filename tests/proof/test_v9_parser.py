"""V9: whatever lines come in, each gets the answers that JSON-RPC 2.0 gives it, no bug shows, and the next call works.

Mutated lines go to the whole wire in process and by socket, where the standard library's reader counts how many of
them are answered. Parameters are made from the schema of each method, and go to the tools in process, whose answers
must be what their own schema says, and by socket to every method there is.
"""

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from picoclawd.errors import Fault, Slug
from picoclawd.history.store import History
from picoclawd.rpc.budget import ByteBudget
from picoclawd.rpc.connection import Connection, WireSettings
from picoclawd.rpc.describe import schema_of
from picoclawd.rpc.dispatch import Dispatcher
from picoclawd.rpc.host import WorkspaceHost
from picoclawd.rpc.meter import Meter
from picoclawd.rpc.method import Peer, Role
from picoclawd.rpc.rows import Facts
from picoclawd.tools import _registry
from picoclawd.workspace import questions
from picoclawd.workspace.opener import Opener
from picoclawd.workspace.workspace import Options, Records
from tests.e2e.daemon import Client, Daemon
from tests.house import House
from tests.proof import _hostile_lines
from tests.proof._hostile_lines import is_answered
from tests.proof._schema_values import Maker
from tests.proof.figures import FIXED_SEED, SECONDS, Span, long_form, tell

CONFIG: dict[str, Any] = {"daemon.approvals": {"mode": "allow"}}
SECRET = "the canary sings outside\n"
TURN = 64  # lines that are sent before their answers are read
ROLES: tuple[Role, ...] = ("agent", "operator")
DEADLINE_S = 60.0
CALLS_PER_CLIENT = 200  # a call may have closed the session of its connection


def furnish(root: Path) -> None:
    """Put some files there, and a canary beside them."""
    (root / "d").mkdir(parents=True, exist_ok=True)
    (root / "a.txt").write_text("alpha\nbeta\n")
    (root / "b.txt").write_bytes(b"\xef\xbb\xbfalpha\r\ngamma\r\n")
    (root / "d/c.txt").write_text("alpha " * 5000)
    (root.parent / "out").mkdir(exist_ok=True)
    (root.parent / "out/canary.txt").write_text(SECRET)


def check_canary(root: Path) -> None:
    assert (root.parent / "out/canary.txt").read_text() == SECRET


@contextmanager
def furnished(tmp_path: Path) -> Iterator[House]:
    root = tmp_path / "ws"
    furnish(root)
    records = Records(History(str(tmp_path / "state")))
    house = House(root, Options(approvals=questions.Settings(mode="allow")), records=records)
    # No desktop: what could be opened is only named.
    house.workspace.opener = Opener(
        house.rooted, house.workspace.threads, {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    )
    try:
        yield house
    finally:
        house.close()
        check_canary(root)


def check_answer(answer: Any) -> None:
    """An answer is a response object, or an array of some, and tells of no bug."""
    for each in answer if isinstance(answer, list) else [answer]:
        assert each["jsonrpc"] == "2.0" and "id" in each and ("result" in each) != ("error" in each), each
        if "error" in each:
            assert each["error"]["code"] != -32603, each
            assert isinstance(each["error"]["message"], str) and each["error"]["data"]["error"] in set(Slug), each


def is_told(message: Any) -> bool:
    """Whether it is a notification of the daemon's."""
    return isinstance(message, dict) and "method" in message


# Lines


def test_the_reader_that_counts_answers_knows_the_specification() -> None:
    answered = [b'{"jsonrpc":"2.0","id":1,"method":"m"}', b"[]", b"1", b"{", b"[1]", b'{"jsonrpc":"2.0","method":1}']
    silent = [b"", b" \t\r", b'{"jsonrpc":"2.0","method":"m"}', b'[{"jsonrpc":"2.0","method":"m","params":[]}]']
    assert all(is_answered(line) for line in answered)
    assert not any(is_answered(line) for line in silent)


def host_of(house: House) -> WorkspaceHost:
    return WorkspaceHost(house.workspace, house.toolbox, Facts("0", 0.0, {}), logging.getLogger("tests.proof"), Meter())


async def lines_in_process(tmp_path: Path, over: Callable[[int], bool], seed: int) -> int:
    """Send mutants over a stream in memory; how many."""
    sent = 0
    mutants = _hostile_lines.lines(seed)
    with furnished(tmp_path) as house:
        host = host_of(house)
        client, server = trio.testing.memory_stream_pair()
        settings = WireSettings(max_request_bytes=1 << 20, max_in_flight=64, max_connections=4)
        connection = Connection(server, Peer("agent", 1, 1), host, Dispatcher(host), ByteBudget(1 << 30), settings)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.serve)
            rest = b""
            while not over(sent):
                turn = [next(mutants) for _ in range(TURN)]
                with trio.fail_after(DEADLINE_S):
                    await client.send_all(b"".join(line + b"\n" for line in turn))
                    left = sum(map(is_answered, turn))
                    while left:
                        *ended, rest = (rest + await client.receive_some(1 << 16)).split(b"\n")
                        for answer in map(json.loads, ended):
                            if not is_told(answer):
                                check_answer(answer)
                                left -= 1
                    assert left == 0, turn
                sent += TURN
            nursery.cancel_scope.cancel()
    return sent


def lines_by_socket(tmp_path: Path, over: Callable[[int], bool], seed: int) -> int:
    """Send mutants to both sockets of a daemon; how many."""
    sent = 0
    mutants = _hostile_lines.lines(seed)
    furnish(tmp_path / "ws")
    with Daemon(tmp_path, CONFIG) as daemon:
        clients = [daemon.client(DEADLINE_S), daemon.operator(DEADLINE_S)]
        while not over(sent):
            for client in clients:
                turn = [next(mutants) for _ in range(TURN)]
                # Beside the reading: who sends, and does not read, is a slow client.
                sending = threading.Thread(target=client.send, args=(b"".join(line + b"\n" for line in turn),))
                sending.start()
                left = sum(map(is_answered, turn))
                while left:
                    answer = client.line()
                    if not is_told(answer):
                        check_answer(answer)
                        left -= 1
                sending.join(DEADLINE_S)
                assert client.call("ping") == {"pong": True}, turn
                sent += TURN
        assert "Traceback" not in daemon.log() and "internal error" not in daemon.log()
    check_canary(tmp_path / "ws")
    return sent


# Parameters


async def params_in_process(tmp_path: Path, over: Callable[[int], bool], seed: int) -> Counter[str]:
    """Call every tool with what is made from its schema; how the calls ended."""
    seen: Counter[str] = Counter()
    maker = Maker(seed)
    with furnished(tmp_path) as house:
        tools = [(tool, schema_of(tool.params)) for tool in _registry.discover().values()]
        while not over(seen.total()):
            for tool, schema in tools:
                params = maker.params(schema)
                session = house.operator if seen.total() % 2 else house.agent
                call = partial(house.call, session=session) if params.pop("_meta", None) is None else house.dry
                try:
                    with trio.fail_after(DEADLINE_S):
                        answer = await call(tool.name, **params)
                except Fault as fault:
                    assert fault.slug is not Slug.INTERNAL_ERROR
                    msgspec.json.encode([fault.message, fault.excerpt, fault.data])
                    seen[fault.slug.value] += 1
                except Exception as exc:
                    raise AssertionError(f"{tool.name} {params} of seed {seed}: a bug") from exc
                else:
                    msgspec.convert(answer["data"], tool.data, strict=True)
                    assert answer["content"] and SECRET.strip() not in str(answer), (tool.name, params)
                    seen["done"] += 1
            furnish(house.root)
    return seen


def params_by_socket(tmp_path: Path, over: Callable[[int], bool], seed: int) -> Counter[str]:
    """Call every method with what is made from its schema, on both sockets; how the calls ended."""
    seen: Counter[str] = Counter()
    maker = Maker(seed)
    furnish(tmp_path / "ws")
    with Daemon(tmp_path, CONFIG) as daemon:
        with daemon.operator() as operator:
            methods = [(each["name"], _object_of(each)) for each in operator.call("rpc.discover")["methods"]]
        while not over(seen.total()):
            for role in ROLES:
                socket = daemon.agent_socket if role == "agent" else daemon.operator_socket
                with Client(socket, DEADLINE_S) as client:
                    for _ in range(-(-CALLS_PER_CLIENT // len(methods))):
                        for name, schema in methods:
                            params = maker.params(schema)
                            if name == "open_file":
                                params["_meta"] = {"dry_run": True}
                            answer = client.answer(client.start(name, params))
                            check_answer(answer)
                            assert SECRET.strip() not in str(answer), (name, params)
                            seen["done" if "result" in answer else answer["error"]["data"]["error"]] += 1
            furnish(daemon.root)
        assert "Traceback" not in daemon.log() and "internal error" not in daemon.log()
    check_canary(tmp_path / "ws")
    return seen


def _object_of(method: dict[str, Any]) -> dict[str, Any]:
    """The schema of a method's parameters by name, from its part of an OpenRPC document."""
    defs = {key: value for each in method["params"] for key, value in each["schema"].get("$defs", {}).items()}
    return {
        "properties": {each["name"]: each["schema"] for each in method["params"]},
        "required": [each["name"] for each in method["params"] if each["required"]],
        "$defs": defs,
    }


async def test_2000_mutated_lines_are_answered_in_process(tmp_path: Path) -> None:
    await lines_in_process(tmp_path, lambda sent: sent >= 2_000, FIXED_SEED)


def test_2000_mutated_lines_are_answered_by_socket(tmp_path: Path) -> None:
    lines_by_socket(tmp_path, lambda sent: sent >= 2_000, FIXED_SEED)


async def test_600_calls_of_tools_with_parameters_from_their_schemas(tmp_path: Path) -> None:
    seen = await params_in_process(tmp_path, lambda calls: calls >= 600, FIXED_SEED)
    assert seen["done"] > seen.total() // 20 and seen["invalid_params"] > seen.total() // 20, seen


def test_600_calls_of_methods_with_parameters_from_their_schemas(tmp_path: Path) -> None:
    seen = params_by_socket(tmp_path, lambda calls: calls >= 600, FIXED_SEED)
    assert seen["done"] > seen.total() // 20 and seen["invalid_params"] > seen.total() // 20, seen


@pytest.mark.slow
@long_form
async def test_mutated_lines_are_answered_in_process_for_long(tmp_path: Path) -> None:
    span = Span(SECONDS / 4)
    sent = await lines_in_process(tmp_path, lambda sent: span.over, FIXED_SEED)
    tell("V9", f"{sent} mutated lines in process, each answered as it should be, no bug", FIXED_SEED)


@pytest.mark.slow
@long_form
def test_mutated_lines_are_answered_by_socket_for_long(tmp_path: Path) -> None:
    span = Span(SECONDS / 4)
    sent = lines_by_socket(tmp_path, lambda sent: span.over, FIXED_SEED)
    tell("V9", f"{sent} mutated lines by socket, each answered as it should be, no bug", FIXED_SEED)


@pytest.mark.slow
@long_form
async def test_parameters_from_schemas_for_long(tmp_path: Path) -> None:
    span = Span(SECONDS / 4)
    seen = await params_in_process(tmp_path, lambda calls: span.over, FIXED_SEED)
    tell("V9", f"{seen.total()} calls of tools in process, no bug: {dict(seen.most_common(12))}", FIXED_SEED)


@pytest.mark.slow
@long_form
def test_parameters_from_schemas_by_socket_for_long(tmp_path: Path) -> None:
    span = Span(SECONDS / 4)
    seen = params_by_socket(tmp_path, lambda calls: span.over, FIXED_SEED)
    tell("V9", f"{seen.total()} calls of methods by socket, no bug: {dict(seen.most_common(12))}", FIXED_SEED)
