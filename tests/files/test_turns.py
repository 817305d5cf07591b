"""Turns go round those who wait, and none is lost or dealt twice."""

import pytest
import trio
import trio.testing

from picoclawd.files.turns import FairTurns, working_for


async def take(turns: FairTurns, asker: str, got: list[str]) -> None:
    """Wait for a turn and note whose it was; it is not given back."""
    with working_for(asker):
        await turns.acquire_on_behalf_of(None)
    got.append(asker)


async def waiting(nursery: trio.Nursery, turns: FairTurns, askers: str, got: list[str]) -> None:
    """Let calls of these askers wait, in this order."""
    for asker in askers:
        nursery.start_soon(take, turns, asker, got)
        await trio.testing.wait_all_tasks_blocked()


async def test_one_that_asks_for_many_lets_one_that_asks_for_one_come_second() -> None:
    turns, got = FairTurns(1), list[str]()
    await turns.acquire_on_behalf_of(None)
    async with trio.open_nursery() as nursery:
        await waiting(nursery, turns, "aaaabca", got)
        assert (turns.taken, turns.waiting) == (1, 7)
        for _ in range(7):
            turns.release_on_behalf_of(None)
            await trio.testing.wait_all_tasks_blocked()
    assert "".join(got) == "abcaaaa"
    turns.release_on_behalf_of(None)
    assert (turns.taken, turns.waiting) == (0, 0)


async def test_a_free_turn_is_taken_without_waiting() -> None:
    turns, got = FairTurns(2), list[str]()
    await take(turns, "a", got)
    await take(turns, "a", got)
    assert turns.taken == 2
    with trio.move_on_after(0.01) as scope:
        await take(turns, "b", got)
    assert scope.cancelled_caught
    assert (turns.taken, turns.waiting, got) == (2, 0, ["a", "a"])


@pytest.mark.parametrize("which", [0, 1, 2])
async def test_who_is_cancelled_while_waiting_leaves_the_turns_to_the_others(which: int) -> None:
    turns, got = FairTurns(1), list[str]()
    await turns.acquire_on_behalf_of(None)
    scopes = [trio.CancelScope() for _ in range(3)]

    async def one(number: int, asker: str) -> None:
        with scopes[number]:
            await take(turns, asker, got)

    async with trio.open_nursery() as nursery:
        for number, asker in enumerate("aab"):
            nursery.start_soon(one, number, asker)
            await trio.testing.wait_all_tasks_blocked()
        scopes[which].cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert turns.waiting == 2
        for _ in range(3):
            turns.release_on_behalf_of(None)
            await trio.testing.wait_all_tasks_blocked()
    assert sorted(got) == sorted("aab"[:which] + "aab"[which + 1 :])
    assert turns.taken == 0


async def test_tasks_that_are_started_work_for_the_same_asker() -> None:
    turns, got = FairTurns(1), list[str]()
    await turns.acquire_on_behalf_of(None)

    async def plain() -> None:
        await turns.acquire_on_behalf_of(None)
        got.append("started for a")

    async with trio.open_nursery() as nursery:
        await waiting(nursery, turns, "a", got)
        with working_for("a"):
            nursery.start_soon(plain)
        await trio.testing.wait_all_tasks_blocked()
        await waiting(nursery, turns, "b", got)
        for _ in range(3):
            turns.release_on_behalf_of(None)
            await trio.testing.wait_all_tasks_blocked()
    assert got == ["a", "b", "started for a"]
