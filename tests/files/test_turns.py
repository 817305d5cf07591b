"""Turns go to who had least time, and none is lost or dealt twice."""

import pytest
import trio
import trio.testing

from picoclawd.files.turns import FairTurns, working_for


class Dealt:
    """Who got a turn, in order, and who holds one."""

    def __init__(self, turns: FairTurns) -> None:
        self.turns = turns
        self.got = ""
        self._holding: list[object] = []

    async def take(self, asker: str) -> None:
        """Wait for a turn."""
        borrower = object()
        with working_for(asker):
            await self.turns.acquire_on_behalf_of(borrower)
        self.got += asker
        self._holding.append(borrower)

    async def wait(self, nursery: trio.Nursery, askers: str) -> None:
        """Let calls of these askers wait, in this order."""
        for asker in askers:
            nursery.start_soon(self.take, asker)
            await trio.testing.wait_all_tasks_blocked()

    async def give_back(self, count: int = 1, at: int = 0) -> None:
        """Give turns back, one by one: the oldest, or those that were taken so many later."""
        for _ in range(count):
            self.turns.release_on_behalf_of(self._holding.pop(at))
            await trio.testing.wait_all_tasks_blocked()


async def test_one_that_asks_for_many_lets_one_that_asks_for_one_come_second() -> None:
    dealt = Dealt(FairTurns(1))
    await dealt.take("x")
    async with trio.open_nursery() as nursery:
        await dealt.wait(nursery, "aaaabca")
        assert (dealt.turns.taken, dealt.turns.waiting) == (1, 7)
        await dealt.give_back(7)
    assert dealt.got == "xabcaaaa"
    await dealt.give_back()
    assert (dealt.turns.taken, dealt.turns.waiting) == (0, 0)


async def test_who_asks_now_and_then_comes_before_all_who_ask_all_the_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    # With one turn each, round and round, a search waited for one of each client that did nothing but search.
    dealt = Dealt(FairTurns(1))
    await dealt.take("a")
    async with trio.open_nursery() as nursery:
        await dealt.wait(nursery, "abcdabcdabcd")
        for _ in range(8):
            await trio.sleep(0.04)
            await dealt.give_back()
        assert {dealt.got.count(asker) for asker in "abcd"} == {2, 3}
        await dealt.wait(nursery, "l")
        await dealt.give_back()
        assert dealt.got[9:] == "l"
        await dealt.give_back(4)
    assert {dealt.got.count(asker) for asker in "abcd"} <= {3, 4}


async def test_it_is_time_that_is_shared_and_not_turns(autojump_clock: trio.testing.MockClock) -> None:
    dealt = Dealt(FairTurns(1))
    await dealt.take("x")
    async with trio.open_nursery() as nursery:
        await dealt.wait(nursery, "aaabbbbbbbb")
        for _ in range(12):
            await trio.sleep(0.09 if dealt.got[-1] == "a" else 0.03)
            await dealt.give_back()
    assert dealt.got == "xabbbabbbabb"


async def test_a_turn_that_is_held_counts_already(autojump_clock: trio.testing.MockClock) -> None:
    dealt = Dealt(FairTurns(2))
    await dealt.take("a")
    await trio.sleep(1)
    await dealt.take("b")
    async with trio.open_nursery() as nursery:
        await dealt.wait(nursery, "ab")
        await dealt.give_back(at=1)
        assert dealt.got == "abb"
        await dealt.give_back(2)
    assert dealt.got == "abba"


async def test_who_was_away_has_saved_nothing_up(autojump_clock: trio.testing.MockClock) -> None:
    dealt = Dealt(FairTurns(1))
    async with trio.open_nursery() as nursery:
        await dealt.wait(nursery, "aaaaaa")
        for _ in range(5):
            await trio.sleep(1)
            await dealt.give_back()
        await dealt.wait(nursery, "bbbaa")
        for _ in range(6):
            await trio.sleep(1)
            await dealt.give_back()
    assert dealt.got[6:] in ("babab", "bbaba")


async def test_a_free_turn_is_taken_without_waiting() -> None:
    dealt = Dealt(FairTurns(2))
    await dealt.take("a")
    await dealt.take("a")
    with trio.move_on_after(0.01) as scope:
        await dealt.take("b")
    assert scope.cancelled_caught
    assert (dealt.turns.taken, dealt.turns.waiting, dealt.got) == (2, 0, "aa")


@pytest.mark.parametrize("which", [0, 1, 2])
async def test_who_is_cancelled_while_waiting_leaves_the_turns_to_the_others(which: int) -> None:
    dealt = Dealt(FairTurns(1))
    await dealt.take("x")
    scopes = [trio.CancelScope() for _ in range(3)]

    async def one(number: int, asker: str) -> None:
        with scopes[number]:
            await dealt.take(asker)

    async with trio.open_nursery() as nursery:
        for number, asker in enumerate("aab"):
            nursery.start_soon(one, number, asker)
            await trio.testing.wait_all_tasks_blocked()
        scopes[which].cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert dealt.turns.waiting == 2
        await dealt.give_back(3)
    assert sorted(dealt.got[1:]) == sorted("aab"[:which] + "aab"[which + 1 :])
    assert dealt.turns.taken == 0


async def test_tasks_that_are_started_work_for_the_same_asker() -> None:
    dealt = Dealt(FairTurns(1))
    await dealt.take("x")

    async def plain() -> None:
        borrower = object()
        await dealt.turns.acquire_on_behalf_of(borrower)
        dealt.got += "!"
        dealt.turns.release_on_behalf_of(borrower)

    async with trio.open_nursery() as nursery:
        await dealt.wait(nursery, "a")
        with working_for("a"):
            nursery.start_soon(plain)
        await trio.testing.wait_all_tasks_blocked()
        await dealt.wait(nursery, "b")
        await dealt.give_back(3)
    assert dealt.got == "xab!"


async def test_nobody_waits_for_ever_however_many_newcomers_there_are(autojump_clock: trio.testing.MockClock) -> None:
    dealt = Dealt(FairTurns(1))
    newcomers = iter(map(chr, range(0x100, 0x1000)))
    await dealt.take("a")
    async with trio.open_nursery() as nursery:
        await dealt.wait(nursery, next(newcomers) + next(newcomers))
        await trio.sleep(1)
        await dealt.give_back()
        await dealt.wait(nursery, "a")
        while dealt.got[-1] != "a":
            await dealt.wait(nursery, next(newcomers))
            await trio.sleep(0.1)
            await dealt.give_back()
            assert len(dealt.got) < 200
        await dealt.give_back(2)
    assert len(dealt.got) > 50


async def test_a_long_queue_is_no_long_wait(autojump_clock: trio.testing.MockClock) -> None:
    # The calls of a flood have all waited long; who asked for them has just been served.
    dealt = Dealt(FairTurns(1))
    await dealt.take("f")
    async with trio.open_nursery() as nursery:
        await dealt.wait(nursery, "f" * 50)
        for _ in range(20):
            await trio.sleep(1)
            await dealt.give_back()
        for _ in range(3):
            await dealt.wait(nursery, "l")
            await trio.sleep(0.1)
            await dealt.give_back()
            assert dealt.got[-1] == "l"
            await dealt.give_back()
            assert dealt.got[-1] == "f"
        await dealt.give_back(27)


async def test_askers_that_are_gone_are_forgotten() -> None:
    turns = FairTurns(2)
    with working_for("always"):
        await turns.acquire_on_behalf_of("always")
    for number in range(100):
        with working_for(number):
            await turns.acquire_on_behalf_of(number)
        turns.release_on_behalf_of(number)
    assert len(turns._had) == 2
    turns.release_on_behalf_of("always")
