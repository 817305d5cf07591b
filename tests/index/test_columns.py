"""Columns keep stamps as numbers, and give them back as they were."""

from hypothesis import given
from hypothesis import strategies as st

from picoclawd.index.columns import Column, Noted, Stamps, packs

NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.integers(1, 8).flatmap(lambda length: st.lists(st.tuples(*[NUMBERS] * length), max_size=5)))
def test_stamps_are_given_back_as_they_were(facts: list[tuple[int, ...]]) -> None:
    stamps = Stamps(facts)
    assert (len(stamps), list(stamps), stamps[1:]) == (len(facts), facts, facts[1:])
    assert [stamps[index] for index in range(len(facts))] == facts
    assert all(map(packs, facts))


def test_numbers_that_are_too_large_are_not_packed() -> None:
    assert not packs((1 << 63, 0))
    assert not packs((0, -(1 << 63) - 1))


def test_a_column_goes_on_from_another() -> None:
    first = Column([Noted(b"a", (1,), True), Noted(b"b", (2,), False), Noted(b"c", (3,), True)], 10)
    more = Column([Noted(b"d", (4,), False)], 5)
    first.kill(0)
    both = first.with_more(more)
    assert (both.paths, list(both.facts)) == ((b"a", b"b", b"c", b"d"), [(1,), (2,), (3,), (4,)])
    assert (both.binary, both.size, both.dead, list(both.living())) == ((1, 3), 15, 1, [1, 2, 3])


def test_documents_are_told_from_other_binary_files_and_stay_so_when_columns_join() -> None:
    first = Column([Noted(b"a", (1,), True), Noted(b"b", (2,), False, True), Noted(b"c", (3,), False)], 10)
    both = first.with_more(Column([Noted(b"d", (4,), False, True)], 5))
    assert (both.binary, both.documents) == ((1, 2, 3), (1, 3))
