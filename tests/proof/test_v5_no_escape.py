"""V5, promise P3: whatever another process swaps meanwhile, no method reads, writes or reveals anything outside.

Each method that takes a path is called while directories, files, links, FIFOs and parents change places, on the
workspace in process and over both sockets of a daemon, with openat2 and with the walk that stands in for it. Beside
the workspace lie canaries; where the file system tells of reads, a canary that was only read counts as an escape.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from picoclawd.errors import Fault
from picoclawd.files.resolve import ResolverKind
from picoclawd.history.store import History
from picoclawd.workspace import questions
from picoclawd.workspace.workspace import Options, Records
from tests.e2e.daemon import Client, Daemon
from tests.files.sandbox import RESOLVERS
from tests.house import House
from tests.proof import _path_calls
from tests.proof._traps import REVEALING, SECRET, VICTIMS, Traps
from tests.proof.figures import SECONDS, Span, long_form, tell

CONFIG = {"daemon.approvals": {"mode": "allow"}, "tools.open_file.enabled": True}
TOGETHER = 4  # calls in flight at one time, in process
# Of all calls, one in so many has to be done, and one in so many refused as leading out: else nothing was raced.
DONE_OF, REFUSED_OF = 10, 50

both_resolvers = pytest.mark.parametrize("kind", RESOLVERS)


@pytest.fixture
def traps(tmp_path: Path) -> Iterator[Traps]:
    made = Traps(tmp_path.resolve())
    yield made
    made.close()


class Walking(Daemon):
    """A daemon that the kernel gives no openat2."""

    def command(self) -> list[str]:
        return [sys.executable, str(Path(__file__).with_name("_without_openat2.py")), *super().command()]


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_victim_that_looks_before_it_opens_is_led_out_within_a_second(
    traps: Traps, victim: Callable[[Traps], bool]
) -> None:
    deadline = time.monotonic() + 30
    with traps.swapping():
        began = time.thread_time()  # of this thread's own time: others may be at work on this machine
        while not victim(traps):
            assert time.monotonic() < deadline, "the racer is too slow to prove anything"
        assert time.thread_time() - began < 1


@pytest.mark.parametrize("touch", ["read", "write", "name", "pipe"])
def test_an_escape_would_be_noticed(traps: Traps, touch: str) -> None:
    if touch == "read" and not traps.tells_reads:
        pytest.skip("this file system keeps no access times")
    before = traps.look()
    traps.check(before)
    match touch:
        case "read":
            (traps.out / "f.txt").read_bytes()
        case "write":
            (traps.out / "f.txt").write_text(SECRET)
        case "name":
            (traps.away / "new.txt").touch()
        case "pipe":
            (traps.ws / "pipe").write_text("x")
    with pytest.raises(AssertionError):
        traps.check(before)
    assert REVEALING.search(SECRET) and REVEALING.search(f'{{"size":{len(SECRET)}}}')


def check_raced(seen: Counter[str]) -> None:
    """The calls met all of it: what was inside, and what led out."""
    calls = seen.total()
    assert seen["done"] > calls // DONE_OF, seen
    assert seen["outside_workspace"] > calls // REFUSED_OF, seen


async def race_in_process(traps: Traps, kind: ResolverKind, over: Callable[[int], bool]) -> Counter[str]:
    """Call all tools, as an agent and as an operator, until it is over."""
    seen: Counter[str] = Counter()
    records = Records(History(str(traps.top / "state")))
    house = House(traps.ws, Options(approvals=questions.Settings(mode="allow")), records=records, kind=kind)
    before = traps.look()

    async def work(session: Any) -> None:
        for name, params in _path_calls.endless(_path_calls.reads, _path_calls.writes):
            if over(seen.total()):
                return
            seen[await outcome(house, session, name, params)] += 1

    try:
        with traps.swapping():
            async with trio.open_nursery() as nursery:
                for number in range(TOGETHER):
                    nursery.start_soon(work, house.operator if number % 2 else house.agent)
    finally:
        house.close()
    traps.check(before)
    return seen


async def outcome(house: House, session: Any, name: str, params: dict[str, Any]) -> str:
    """How one call ended; AssertionError where it revealed something."""
    given = {key: value for key, value in params.items() if key != "_meta"}
    try:
        if "_meta" in params:
            answer = await house.dry(name, **given)
        else:
            answer = await house.call(name, session=session, **given)
    except Fault as fault:
        assert not REVEALING.search(f"{fault.message}\n{fault.excerpt}\n{fault.data}"), (name, params, fault)
        return fault.slug.value
    assert not REVEALING.search(msgspec.json.encode(answer).decode()), (name, params)
    return "done"


def race_over_sockets(traps: Traps, kind: type[Daemon], over: Callable[[int], bool]) -> Counter[str]:
    """Call every method, as an agent and as an operator, until it is over."""
    seen: Counter[str] = Counter()
    with kind(traps.top, CONFIG) as daemon, daemon.client() as agent, daemon.operator() as operator:
        assert not _path_calls.forgotten(operator.call("rpc.discover")["methods"])
        has_openat2 = "step by step" not in daemon.log()
        assert has_openat2 == (kind is Daemon)
        agent.call("task.begin", objective="be raced", task_id="raced")
        before = traps.look()
        with traps.swapping():
            by_agent = _path_calls.endless(_path_calls.reads, _path_calls.writes)
            by_operator = _path_calls.endless(_path_calls.of_people, _path_calls.reads, _path_calls.of_people)
            for (name, params), (also, more) in zip(by_agent, by_operator, strict=False):
                if over(seen.total()):
                    break
                one, other = agent.start(name, params), operator.start(also, more)
                seen[told(agent, one, name, params)] += 1
                seen[told(operator, other, also, more)] += 1
        traps.check(before)
        assert agent.call("ping")
        assert "internal error" not in daemon.log()
    return seen


def told(client: Client, number: int, name: str, params: dict[str, Any]) -> str:
    """How one call ended; AssertionError where it revealed something."""
    answer = client.answer(number)
    assert not REVEALING.search(str(answer)), (name, params, str(answer)[:2000])
    if "result" in answer:
        return "done"
    slug: str = answer["error"]["data"]["error"]
    assert slug != "internal_error", (name, params, answer)
    return slug


@both_resolvers
async def test_no_tool_escapes_in_800_calls(traps: Traps, kind: ResolverKind) -> None:
    check_raced(await race_in_process(traps, kind, lambda calls: calls >= 800))


@pytest.mark.parametrize("kind", [Daemon, Walking])
def test_no_method_escapes_in_800_calls_over_sockets(traps: Traps, kind: type[Daemon]) -> None:
    check_raced(race_over_sockets(traps, kind, lambda calls: calls >= 800))


@pytest.mark.slow
@long_form
@both_resolvers
async def test_no_tool_escapes_for_long(traps: Traps, kind: ResolverKind) -> None:
    span = Span(SECONDS / 4)
    seen = await race_in_process(traps, kind, lambda calls: span.over)
    tell("V5", f"{seen.total()} calls in process with {kind.__name__}, no escape: {dict(seen.most_common())}")
    check_raced(seen)


@pytest.mark.slow
@long_form
@pytest.mark.parametrize("kind", [Daemon, Walking])
def test_no_method_escapes_for_long_over_sockets(traps: Traps, kind: type[Daemon]) -> None:
    span = Span(SECONDS / 4)
    seen = race_over_sockets(traps, kind, lambda calls: span.over)
    tell("V5", f"{seen.total()} calls over sockets of a {kind.__name__}, no escape: {dict(seen.most_common())}")
    check_raced(seen)
