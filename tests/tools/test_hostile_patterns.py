"""Whatever the pattern, a search ends soon after its deadline or when its caller gives up, and others are served.

What can be asserted on any machine is how long a thread works without looking, in its own processor time; how much that
is on the clock, `contrib/bench/hostile.py` tells.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest
import trio

from picoclawd.errors import Fault, Slug
from picoclawd.workspace.index import IndexState
from tests.house import House
from tests.stretches import PIECES_MAX, MeasuredThreads, Stretches, slowest_piece_s

# Few instructions and many; such as may be searched in joined texts, over lines, and with a match at once.
PATTERNS = {
    "states": "[ab]*a[ab]{200}c",
    "joined texts": "(x+x+)+y|a[ab]{60}c",
    "a tail to look for first": "[ab]*a[ab]{40}c",
    "alternatives": r"x.{20}z|[ab]*a[ab]{30}c",
    "instructions": r"(a|b)*a(a|b){500}c|[^c]{800}d",
    "a match at once": "first|[ab]*a[ab]{400}c",
}
Search = Callable[[House, str], Any]


async def search_files(house: House, pattern: str) -> Any:
    return await house.call("search_files", pattern=pattern)


async def find_files(house: House, pattern: str) -> Any:
    return await house.call("find_files", queries=[{"pattern": pattern, "file_pattern": "*"}])


async def find_over_lines(house: House, pattern: str) -> Any:
    return await house.call("find_files", queries=[{"pattern": pattern, "file_pattern": "*"}], multiline=True)


SEARCHES: list[Search] = [search_files, find_files, find_over_lines]


@pytest.fixture
def stretches(monkeypatch: pytest.MonkeyPatch) -> Stretches:
    """What the tools' searches are measured by."""
    stretches = Stretches()
    for name in ("search_files", "find_files"):
        monkeypatch.setattr(f"picoclawd.tools.{name}.Stop", stretches.stop())
    return stretches


@pytest.fixture
async def hostile(make_house: Callable[..., House], nursery: trio.Nursery, stretches: Stretches) -> House:
    """Text that gives RE2 no end of new states, in small files and in large ones, all of it in memory."""
    house = make_house(threads=MeasuredThreads(stretches))
    dice = random.Random(1)
    for number in range(100):
        length = 1_000_000 if number % 25 == 0 else 40_000
        text = format(dice.getrandbits(length), f"0{length}b").translate({48: "a", 49: "b"})
        width = 400_000 if number % 50 == 0 else 200
        lines = [text[start : start + width] for start in range(0, len(text), width)]
        house.write(f"{number}.txt", "first abc bac\n" + "\n".join(lines) + "\n")
    await house.start_index(nursery)
    with trio.fail_after(60):
        while not is_ready(house.workspace.index.state()):  # noqa: ASYNC110 - a thread is at work
            await trio.sleep(0.01)
    return house


def is_ready(state: IndexState) -> bool:
    return state.state == "ready" and state.trigrams == "ready"


@pytest.mark.parametrize("search", SEARCHES)
async def test_no_thread_of_a_hostile_search_works_long_without_looking(
    hostile: House, stretches: Stretches, monkeypatch: pytest.MonkeyPatch, search: Search
) -> None:
    for name in ("search_files", "find_files"):
        monkeypatch.setattr(f"picoclawd.tools.{name}.DEADLINE_S", 1.0)
    longest_s: dict[str, float] = {}
    for name, pattern in PATTERNS.items():
        before = stretches.looks
        await search(hostile, pattern)
        assert stretches.looks > before
        longest_s[name] = stretches.longest_s
    assert max(longest_s.values()) < PIECES_MAX * slowest_piece_s(), longest_s


@pytest.mark.parametrize("search", SEARCHES)
async def test_a_hostile_search_says_at_its_deadline_that_it_is_not_complete(
    hostile: House, monkeypatch: pytest.MonkeyPatch, search: Search
) -> None:
    for name in ("search_files", "find_files"):
        monkeypatch.setattr(f"picoclawd.tools.{name}.DEADLINE_S", 0.2)
    data = (await search(hostile, PATTERNS["states"]))["data"]
    assert not data["complete"]
    assert data["total"] is None


@pytest.mark.parametrize("search", SEARCHES)
async def test_a_search_that_is_given_up_looks_once_more_in_each_thread_and_ends(
    hostile: House, stretches: Stretches, search: Search
) -> None:
    ended: list[Slug] = []

    async def run() -> None:
        with pytest.raises(Fault) as caught:
            await search(hostile, PATTERNS["instructions"])
        ended.append(caught.value.slug)

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            while stretches.looks < 10:  # noqa: ASYNC110 - threads are at work
                await trio.sleep(0.01)
            assert ended == []
            hostile.stop = True
            looked = stretches.looks
    assert ended == [Slug.CANCELLED]
    assert stretches.looks - looked < 50  # a few in each of some threads; hundreds, if it went on


async def test_others_are_served_between_two_looks_of_a_hostile_search(
    hostile: House, stretches: Stretches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Did a search hold Python's lock, or all threads, each call would wait for a piece of it at least."""
    monkeypatch.setattr("picoclawd.tools.search_files.DEADLINE_S", 300.0)
    hostile.write("small/a.txt", "x\n")
    calls = 200
    async with trio.open_nursery() as nursery:
        nursery.start_soon(search_files_until_given_up, hostile)
        with trio.fail_after(60):
            while stretches.looks < 10:  # noqa: ASYNC110 - threads are at work
                await trio.sleep(0.01)
            looked = stretches.looks
            for _ in range(calls):
                assert "a.txt" in (await hostile.call("list_dir", path="small"))["content"]
            assert stretches.looks - looked < calls / 2
            hostile.stop = True


async def search_files_until_given_up(house: House) -> None:
    """A search of which each piece takes a tenth of a second."""
    with pytest.raises(Fault):
        await search_files(house, PATTERNS["instructions"])
