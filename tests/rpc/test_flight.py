"""Ids and slots in flight."""

import trio

from picoclawd.rpc.flight import Flight
from picoclawd.rpc.method import Exchange, Peer, RequestId
from picoclawd.rpc.notifications import Notifications


def exchange(request_id: RequestId) -> Exchange:
    return Exchange(None, Peer("agent", 1, 1), request_id, {}, Notifications(lambda line, sent: None))


def test_a90_ids_of_different_types_are_different_requests() -> None:
    flight = Flight(64)
    number, text = exchange(1), exchange("1")
    flight.start(number)
    assert (flight.holds(1), flight.holds("1")) == (True, False)
    flight.start(text)
    flight.cancel("1")
    assert (number.cancelled(), text.cancelled()) == (False, True)
    flight.end(number)
    assert (flight.holds(1), flight.holds("1")) == (False, True)


def test_null_names_no_request_so_many_may_have_it() -> None:
    flight = Flight(64)
    first, second = exchange(None), exchange(None)
    flight.start(first)
    flight.start(second)
    flight.cancel(None)
    assert (flight.holds(None), first.cancelled(), second.cancelled()) == (False, False, False)
    flight.cancel_all()
    assert (first.cancelled(), second.cancelled()) == (True, True)
    flight.end(first)
    flight.end(second)


def test_slots_fill_up_and_a_batch_at_the_last_one_may_overdraw() -> None:
    flight = Flight(2)
    flight.take(1)
    assert not flight.full
    flight.take(100)
    assert (flight.full, flight.taken) == (True, 101)
    flight.free(100)
    assert not flight.full


async def test_waiting_ends_with_a_freed_slot_or_the_time(autojump_clock: trio.abc.Clock) -> None:
    flight = Flight(1)
    flight.take(1)
    start = trio.current_time()
    await flight.wait_freed(0.5)
    assert trio.current_time() - start == 0.5
    async with trio.open_nursery() as nursery:
        nursery.start_soon(flight.wait_freed, 1000.0)
        await trio.testing.wait_all_tasks_blocked()
        flight.free(1)
    assert trio.current_time() - start < 1
