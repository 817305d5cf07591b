"""The lock table: one holder a place, the others in order, nobody forgotten."""

import random
from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from picoclawd.errors import Fault, Slug
from picoclawd.files.locks import LockKey, LockTable

A: LockKey = (1, 1, b"a")
B: LockKey = (1, 1, b"b")
C: LockKey = (2, 1, b"a")


async def test_a_free_place_is_held_at_once_and_forgotten_after() -> None:
    table = LockTable()
    async with table.hold([A, B], "one"):
        assert {row.key: row.holder for row in table.statistics()} == {A: "one", B: "one"}
    assert table.statistics() == []


async def test_the_same_place_named_twice_counts_once() -> None:
    table = LockTable()
    async with table.hold([A, A], "one"):
        assert len(table.statistics()) == 1
    assert table.statistics() == []


async def test_waiters_are_served_in_the_order_of_their_arrival(autojump_clock: MockClock) -> None:
    table = LockTable()
    served: list[int] = []

    async def call(number: int) -> None:
        await trio.sleep(number)
        async with table.hold([A], f"call {number}"):
            served.append(number)
            await trio.sleep(100)

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(call, number)
    assert served == list(range(20))


async def test_the_statistics_tell_holder_waiters_and_ages(autojump_clock: MockClock) -> None:
    table = LockTable()

    async def call(name: str, start_s: float, held_s: float) -> None:
        await trio.sleep(start_s)
        async with table.hold([A], name):
            await trio.sleep(held_s)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, "first", 0, 10)
        nursery.start_soon(call, "second", 2, 10)
        nursery.start_soon(call, "third", 3, 10)
        await trio.sleep(5)
        (row,) = table.statistics()
        assert (row.holder, row.held_s, row.waiters, row.waited_s) == ("first", 5, 2, 3)
        await trio.sleep(6)
        (row,) = table.statistics()
        assert (row.holder, row.held_s, row.waiters, row.waited_s) == ("second", 1, 1, 8)


async def test_the_place_held_longest_is_told_first(autojump_clock: MockClock) -> None:
    table = LockTable()
    async with table.hold([B], "old"):
        await trio.sleep(1)
        async with table.hold([A], "young"):
            assert [row.holder for row in table.statistics()] == ["old", "young"]
            assert [row.waited_s for row in table.statistics()] == [0, 0]


async def test_a_place_that_was_passed_on_counts_from_then(autojump_clock: MockClock) -> None:
    table = LockTable()

    async def call(name: str, key: LockKey, start_s: float, held_s: float) -> None:
        await trio.sleep(start_s)
        async with table.hold([key], name):
            await trio.sleep(held_s)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, "first", A, 0, 5)
        nursery.start_soon(call, "took it over", A, 1, 5)
        nursery.start_soon(call, "long since", B, 2, 8)
        await trio.sleep(7)
        assert [row.holder for row in table.statistics()] == ["long since", "took it over"]


async def test_a_cancelled_waiter_leaves_the_queue_and_the_others_keep_their_order(autojump_clock: MockClock) -> None:
    table = LockTable()
    served: list[str] = []

    async def call(name: str, start_s: float, patience_s: float) -> None:
        await trio.sleep(start_s)
        with trio.move_on_after(patience_s):
            async with table.hold([A], name):
                served.append(name)
                await trio.sleep(10)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, "first", 0, 99)
        nursery.start_soon(call, "impatient", 1, 2)
        nursery.start_soon(call, "last", 2, 99)
    assert served == ["first", "last"]
    assert table.statistics() == []


async def test_a_cancelled_wait_for_the_second_place_gives_the_first_one_back(autojump_clock: MockClock) -> None:
    table = LockTable()
    async with table.hold([B], "holder"):
        with trio.move_on_after(1):
            async with table.hold([B, A], "waits for b"):
                raise AssertionError("b is held")
        assert [row.key for row in table.statistics()] == [B]


async def test_one_waiter_too_many_is_told_that_it_is_overloaded(autojump_clock: MockClock) -> None:
    table = LockTable(max_waiters=2)

    async def call() -> None:
        async with table.hold([A], "patient"):
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(call)
        await trio.sleep(0.5)
        with pytest.raises(Fault) as caught:
            async with table.hold([B, A], "one too many"):
                raise AssertionError("two wait already")
        assert caught.value.slug is Slug.OVERLOADED
        assert caught.value.retryable
        assert caught.value.data["waiters"] == 2
        assert [row.key for row in table.statistics()] == [A]
    assert table.statistics() == []


async def test_the_place_is_free_again_when_the_holder_fails() -> None:
    table = LockTable()
    with pytest.raises(ZeroDivisionError):
        async with table.hold([A], "fails"):
            raise ZeroDivisionError
    assert table.statistics() == []


async def test_calls_on_the_same_places_in_another_order_do_not_wait_for_each_other(autojump_clock: MockClock) -> None:
    table = LockTable()
    done: list[str] = []

    async def call(keys: list[LockKey], name: str) -> None:
        for _ in range(50):
            async with table.hold(keys, name):
                await trio.sleep(random.random())
        done.append(name)

    with trio.fail_after(10_000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call, [A, B, C], "there")
            nursery.start_soon(call, [C, B, A], "and back")
    assert sorted(done) == ["and back", "there"]


@pytest.mark.parametrize("blocked", range(0, 40, 3))
async def test_many_places_are_taken_in_their_order_whatever_a_set_makes_of_them(blocked: int) -> None:
    table = LockTable()
    keys: list[LockKey] = [(1, 1, b"%d" % number) for number in range(40)]
    async with table.hold([keys[blocked]], "in the way"), trio.open_nursery() as nursery:
        nursery.start_soon(_hold_for_ever, table, keys)
        await wait_all_tasks_blocked()
        held = {row.key for row in table.statistics() if row.holder == "wide"}
        assert held == {key for key in keys if key < keys[blocked]}
        nursery.cancel_scope.cancel()
    assert table.statistics() == []


async def _hold_for_ever(table: LockTable, keys: list[LockKey]) -> None:
    async with table.hold(keys, "wide"):
        raise AssertionError("one of them is held")


class Model:
    """What a plain queue says: who may hold a place, and who came before whom. Only for calls on one place."""

    def __init__(self) -> None:
        self.queues: dict[LockKey, list[int]] = {}

    def arrives(self, key: LockKey, number: int) -> None:
        self.queues.setdefault(key, []).append(number)

    def holds(self, key: LockKey, number: int) -> None:
        assert self.queues[key][0] == number, "somebody who came earlier still holds it or waits"

    def leaves(self, key: LockKey, number: int) -> None:
        self.queues[key].remove(number)


async def _one_random_call(table: LockTable, model: Model, chance: random.Random, number: int) -> None:
    await trio.sleep(chance.random() * 3)
    key = chance.choice([A, B, C])
    model.arrives(key, number)
    try:
        with trio.move_on_after(chance.choice([0, 0.1, 1, 1, 1000])):
            async with table.hold([key], str(number)):
                model.holds(key, number)
                await trio.sleep(chance.random() * 0.2)
                model.holds(key, number)
    finally:
        model.leaves(key, number)


async def _one_random_wide_call(table: LockTable, held: set[LockKey], chance: random.Random) -> None:
    await trio.sleep(chance.random() * 3)
    keys = chance.sample([A, B, C], chance.randint(1, 3))
    with trio.move_on_after(chance.choice([0, 0.1, 1, 1, 1000])):
        async with table.hold(keys, "wide"):
            assert not held & set(keys), "two hold one place"
            held.update(keys)
            try:
                await trio.sleep(chance.random() * 0.2)
            finally:
                held.difference_update(keys)


async def _many(call: Callable[[random.Random, int], Awaitable[None]], seed: int) -> None:
    chance = random.Random(seed)
    with trio.fail_after(100_000):
        async with trio.open_nursery() as nursery:
            for number in range(60):
                nursery.start_soon(call, random.Random(chance.random()), number)


@pytest.mark.parametrize("seed", range(25))
async def test_random_calls_and_cancellations_agree_with_a_plain_queue(autojump_clock: MockClock, seed: int) -> None:
    table, model = LockTable(), Model()
    await _many(lambda chance, number: _one_random_call(table, model, chance, number), seed)
    assert table.statistics() == []
    assert not any(model.queues.values())


@pytest.mark.parametrize("seed", range(25))
async def test_random_calls_on_several_places_exclude_each_other_and_all_end(
    autojump_clock: MockClock, seed: int
) -> None:
    table = LockTable()
    held: set[LockKey] = set()
    await _many(lambda chance, number: _one_random_wide_call(table, held, chance), seed)
    assert table.statistics() == []
