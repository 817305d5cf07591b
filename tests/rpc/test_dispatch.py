"""Running jobs through jsonrpcserver's pieces. What every request meets is tested with the connection."""

import json

import trio

from picoclawd.rpc.dispatch import Dispatcher, Job
from picoclawd.rpc.envelope import Request
from picoclawd.rpc.lanes import Lanes, Ticket
from picoclawd.rpc.method import Exchange, Params, Peer
from picoclawd.rpc.notifications import Notifications
from tests.rpc.house import House


def job(house: House, name: str, ticket: Ticket, params: Params | None = None) -> Job:
    exchange = Exchange(None, Peer("agent", 1, 1), 7, {}, Notifications(lambda line, sent: None))
    params = {} if params is None else params
    return Job(Request(name, params, 7, False), exchange, house.methods[name], params, ticket, None)


def test_only_what_is_ready_and_has_its_turn_is_answered_at_once() -> None:
    house, lanes = House(), Lanes()
    dispatcher = Dispatcher(house)
    answer = dispatcher.answer_at_once(job(house, "ping", lanes.enter((), exclusive=False)))
    assert answer is not None
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": 7, "result": {"pong": True}}
    assert dispatcher.answer_at_once(job(house, "later", lanes.enter((), exclusive=False))) is None
    assert dispatcher.answer_at_once(job(house, "echo", lanes.enter((), exclusive=False))) is None
    lanes.enter((b"/a",), exclusive=True)
    assert dispatcher.answer_at_once(job(house, "ping", lanes.enter((b"/a",), exclusive=False))) is None


def test_answering_leaves_the_lanes_also_after_a_bug() -> None:
    house, lanes = House(), Lanes()
    dispatcher = Dispatcher(house)
    for name in ("ping", "boom_at_once"):
        assert dispatcher.answer_at_once(job(house, name, lanes.enter((b"/a",), exclusive=True))) is not None
        assert lanes.statistics().lanes == 0


async def test_running_leaves_the_lanes_however_it_ends(autojump_clock: trio.abc.Clock) -> None:
    house, lanes = House(), Lanes()
    dispatcher = Dispatcher(house)
    for name in ("echo", "fault", "boom", "patience"):
        answer = await dispatcher.answer(job(house, name, lanes.enter((b"/a",), exclusive=True)))
        assert json.loads(answer)["id"] == 7
        assert lanes.statistics().lanes == 0
    with trio.move_on_after(1) as scope:
        await dispatcher.answer(job(house, "wait", lanes.enter((b"/a",), exclusive=True), {"name": "x"}))
    assert scope.cancelled_caught
    assert lanes.statistics().lanes == 0
