"""Lanes: arrival order for the same path, everything else at once."""

import random

import pytest
import trio

from picoclawd.rpc.lanes import Lanes, LaneStatistics, Ticket, lane_key

A, B = b"/ws/a", b"/ws/b"


def holding(*tickets: Ticket) -> list[bool]:
    return [not ticket.waits for ticket in tickets]


def test_reads_share_a_turn_and_a_write_has_it_alone() -> None:
    lanes = Lanes()
    first, second, write, third = (lanes.enter((A,), exclusive=ex) for ex in (False, False, True, False))
    assert holding(first, second, write, third) == [True, True, False, False]
    first.leave()
    assert holding(write, third) == [False, False]
    second.leave()
    assert holding(write, third) == [True, False]
    write.leave()
    assert holding(third) == [True]


def test_other_paths_do_not_wait() -> None:
    lanes = Lanes()
    lanes.enter((A,), exclusive=True)
    assert holding(lanes.enter((B,), exclusive=True), lanes.enter((), exclusive=True)) == [True, True]


def test_a_call_on_several_paths_waits_for_all_of_them() -> None:
    lanes = Lanes()
    on_a, on_b = lanes.enter((A,), exclusive=True), lanes.enter((B,), exclusive=True)
    both, after = lanes.enter((A, B, A), exclusive=True), lanes.enter((B,), exclusive=False)
    on_a.leave()
    assert holding(both, after) == [False, False]
    on_b.leave()
    assert holding(both, after) == [True, False]
    both.leave()
    assert holding(after) == [True]


def test_leaving_the_queue_before_the_turn_lets_those_behind_pass() -> None:
    lanes = Lanes()
    reader, writer, later = (lanes.enter((A,), exclusive=ex) for ex in (False, True, False))
    writer.leave()
    writer.leave()
    assert holding(reader, later) == [True, True]


def test_idle_lanes_are_dropped_and_counted() -> None:
    lanes = Lanes()
    tickets = [lanes.enter((A, B), exclusive=True), lanes.enter((B,), exclusive=True)]
    assert lanes.statistics() == LaneStatistics(lanes=2, holding=1, waiting=1)
    for ticket in tickets:
        ticket.leave()
    assert lanes.statistics() == LaneStatistics(0, 0, 0)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (b"a", b"/ws/a"),
        (b"./a//b/../c/", b"/ws/a/c"),
        (b"/ws/a", b"/ws/a"),
        (b"//ws///a", b"/ws/a"),
        (b"../x", b"/x"),
        (b"", b"/ws"),
        (b"caf\xe9", b"/ws/caf\xe9"),
    ],
)
def test_a_lane_is_named_by_the_normalised_path(path: bytes, key: bytes) -> None:
    assert lane_key(path, b"/ws") == key


@pytest.mark.parametrize("seed", range(5))
async def test_random_calls_take_effect_in_the_order_of_arrival(seed: int, autojump_clock: trio.abc.Clock) -> None:
    rnd = random.Random(seed)
    lanes = Lanes()
    effects: dict[bytes, list[tuple[int, bool]]] = {path: [] for path in (A, B, b"/ws/c")}
    writers = dict.fromkeys(effects, 0)

    async def run(number: int, ticket: Ticket, paths: tuple[bytes, ...], exclusive: bool) -> None:
        with trio.move_on_after(rnd.choice([0.5, 1e9])):
            try:
                await ticket.turn()
                for path in paths:
                    assert writers[path] == 0
                    writers[path] += exclusive
                    effects[path].append((number, exclusive))
                await trio.lowlevel.cancel_shielded_checkpoint()
                for path in paths:
                    writers[path] -= exclusive
                await trio.sleep(rnd.random())
            finally:
                ticket.leave()

    async with trio.open_nursery() as nursery:
        for number in range(200):
            paths = tuple(rnd.sample(sorted(effects), rnd.randint(0, 3)))
            exclusive = rnd.random() < 0.6
            nursery.start_soon(run, number, lanes.enter(paths, exclusive=exclusive), paths, exclusive)
    assert lanes.statistics() == LaneStatistics(0, 0, 0)
    assert sum(map(len, effects.values())) > 30
    for order in effects.values():
        for index, (number, exclusive) in enumerate(order):
            if exclusive:
                assert all(earlier < number for earlier, _ in order[:index])
                assert all(later > number for later, _ in order[index + 1 :])


async def test_writes_of_one_path_take_turns_in_order(autojump_clock: trio.abc.Clock) -> None:
    lanes, done = Lanes(), list[int]()

    async def run(number: int, ticket: Ticket) -> None:
        await ticket.turn()
        await trio.sleep(random.random())
        done.append(number)
        ticket.leave()

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(run, number, lanes.enter((A,), exclusive=True))
    assert done == list(range(50))
