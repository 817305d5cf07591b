"""A census keeps little, and gives each page of itself."""

import pytest

from picoclawd.index.matcher import compile_search
from picoclawd.workspace import census as module
from picoclawd.workspace.census import Census, Entry, Job, Kept
from picoclawd.workspace.scope import Place
from tests.house import House

PLACE = Place(b"/ws", b"", inside=True)


def census_of(*counts: int, name_bytes: int = 1) -> Census:
    entries = [Entry(Job(PLACE, b"n" * name_bytes, ()), count, (number,), ()) for number, count in enumerate(counts)]
    census = Census(entries)
    census.close()
    return census


def test_files_and_lines_are_counted() -> None:
    census = census_of(3, 1, 5)
    assert (census.files, census.lines) == (3, 9)
    assert (Census().files, Census().lines) == (0, 0)


def test_the_least_recently_used_search_goes_first() -> None:
    kept = Kept()
    for key in range(8):
        kept.put(key, census_of(1))
    assert kept.get(0) is not None
    kept.put("more", census_of(1))
    assert kept.get(1) is None
    assert kept.get(0) is not None


def test_all_searches_together_are_bounded_and_a_huge_one_costs_none_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES_MAX", 2_000)
    kept = Kept()
    kept.put("a", census_of(1, name_bytes=600))
    kept.put("b", census_of(1, name_bytes=600))
    kept.put("huge", census_of(1, name_bytes=3_000))
    assert kept.get("huge") is None
    assert kept.get("a") is not None
    kept.put("c", census_of(1, name_bytes=600))
    assert kept.get("b") is None
    assert kept.get("a") is not None


async def test_every_page_of_every_size_is_a_part_of_the_whole(house: House) -> None:
    place = Place(house.workspace.root, b"", inside=True)
    pattern = (compile_search("hit"),)
    wanted = []
    jobs = []
    for number in range(7):
        house.write(f"{number}", "hit\nno\n" * (number % 3) + "no\n")
        jobs.append(Job(place, b"%d" % number, pattern))
        wanted += [(b"%d" % number, 2 * line + 1) for line in range(number % 3)]
    census = await house.workspace.counter.count(jobs, lambda: False)
    assert census.lines == len(wanted)
    for limit in range(1, 9):
        for offset in range(10):
            page = await house.workspace.counter.lines(census, offset, limit, 0, lambda: False)
            assert [(file.job.path, line.line_no) for file in page for line in file.lines] == wanted[
                offset : offset + limit
            ]


async def test_what_changed_is_told(house: House) -> None:
    place = Place(house.workspace.root, b"", inside=True)
    jobs = [Job(place, name, (compile_search("hit"),)) for name in (b"a", b"b")]
    for name in ("a", "b"):
        house.write(name, "hit\n")
    counter = house.workspace.counter
    census = await counter.count(jobs, lambda: False)
    assert not await counter.has_changed(census.entries, lambda: False)
    (house.root / "b").unlink()
    assert await counter.has_changed(census.entries, lambda: False)
    assert not await counter.has_changed(census.entries[:1], lambda: False)
    assert [file.changed for file in await counter.lines(census, 0, 9, 0, lambda: False)] == [False, True]
