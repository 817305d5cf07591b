"""One search over given files: shapes, early stops, and how it tells that the scope is what it was."""

import pytest

from picoclawd.index.contents import Allowance
from picoclawd.index.matcher import compile_search
from picoclawd.workspace.scope import Candidates, Place
from picoclawd.workspace.search import Outcome, Query, Shape
from tests.house import House

MANY = 1 << 40


async def search(
    house: House,
    names: list[bytes],
    shape: Shape = Shape.LINES,
    *,
    offset: int = 0,
    limit: int = 5,
    stop_early: bool = True,
    compare_at: int = 0,
) -> Outcome:
    candidates = Candidates(Place(house.workspace.root, b"", inside=True), names, "verified")
    query = Query(
        compile_search("hit"), shape, offset, limit, stop_early, context=shape is Shape.BLOCKS, compare_at=compare_at
    )
    return await house.workspace.searcher.search(query, candidates, Allowance(MANY, MANY), lambda: False)


@pytest.fixture
def names(house: House) -> list[bytes]:
    for number in range(4):
        house.write(f"{number}", "no\n" * 9 + "hit\n" * number)
    return [b"%d" % number for number in range(4)]


@pytest.mark.parametrize(("shape", "total"), [(Shape.LINES, 6), (Shape.BLOCKS, 3), (Shape.FILES, 3), (Shape.COUNTS, 3)])
async def test_every_shape_pages_alike(house: House, names: list[bytes], shape: Shape, total: int) -> None:
    whole = (await search(house, names, shape, limit=99)).hits
    assert len(whole) == total
    for limit in range(1, total + 2):
        for offset in range(total + 2):
            for early in (True, False):
                page = await search(house, names, shape, offset=offset, limit=limit, stop_early=early)
                assert page.hits == whole[offset : offset + limit]
                assert page.total == (None if early and total > offset + limit else total)


async def test_equal_scopes_are_passed_with_equal_hashes(house: House, names: list[bytes]) -> None:
    first = await search(house, names, limit=2)
    files, seen = first.seen
    assert 0 < files < 5
    assert (await search(house, names, offset=2, compare_at=files)).passed == seen
    house.write("1", "no\n" * 9 + "hut\n")
    assert (await search(house, names, offset=2, compare_at=files)).passed != seen
    assert (await search(house, names[:2], offset=2, compare_at=files)).passed != seen


async def test_a_search_stops_where_it_is_told_to(house: House, names: list[bytes]) -> None:
    candidates = Candidates(Place(house.workspace.root, b"", inside=True), names, "verified")
    query = Query(compile_search("hit"), Shape.LINES, 0, 9, stop_early=True)
    outcome = await house.workspace.searcher.search(query, candidates, Allowance(MANY, MANY), lambda: True)
    assert (outcome.hits, outcome.total, outcome.complete) == ([], None, False)
