"""Requirements are put together without what is redundant, and ask for the trigrams of what they require."""

import pytest

from picoclawd.index.requirements import (
    ALTERNATIVES_MAX,
    ANYTHING,
    EVERYTHING,
    All,
    AnyOf,
    Literal,
    Requirement,
    all_of,
    any_of,
    trigram_query,
)

FOO, FOOD, BAR = Literal(b"foo"), Literal(b"food"), Literal(b"bar")


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([], ANYTHING),
        ([FOO], FOO),
        ([FOO, FOO], FOO),
        ([FOO, BAR], All((FOO, BAR))),
        ([All((FOO, BAR)), All((BAR, FOOD))], All((FOO, BAR, FOOD))),
        ([FOO, ANYTHING], FOO),
    ],
)
def test_all_of_is_flat_and_says_nothing_twice(parts: list[Requirement], whole: Requirement) -> None:
    assert all_of(parts) == whole


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([FOO], FOO),
        ([FOO, BAR, FOO], AnyOf((FOO, BAR))),
        ([FOO, FOOD], FOO),
        ([FOO, ANYTHING], ANYTHING),
        ([FOO, Literal(b"")], ANYTHING),
        ([Literal(b"foo", folded=True), Literal(b"FOOD")], Literal(b"foo", folded=True)),
        ([FOO, Literal(b"food", folded=True)], AnyOf((FOO, Literal(b"food", folded=True)))),
        ([All((FOO, BAR)), FOO], AnyOf((All((FOO, BAR)), FOO))),
    ],
)
def test_any_of_keeps_no_literal_that_another_is_within(parts: list[Requirement], whole: Requirement) -> None:
    assert any_of(parts) == whole


def test_too_many_alternatives_require_nothing() -> None:
    words = [Literal(b"word%02d" % number) for number in range(ALTERNATIVES_MAX + 1)]
    assert any_of(words[:-1]) == AnyOf(tuple(words[:-1]))
    assert any_of(words) == ANYTHING


def test_the_query_of_a_literal_is_its_folded_trigrams() -> None:
    assert trigram_query(Literal(b"ab")) == EVERYTHING
    assert trigram_query(Literal(b"ABCD")) == trigram_query(Literal(b"abcd", folded=True))
    assert len(trigram_query(Literal(b"abcabca")).hashes) == 3
    assert trigram_query(All((Literal(b"abc"), Literal(b"bcd"), Literal(b"x")))) == trigram_query(Literal(b"abcd"))


def test_the_query_of_alternatives_asks_once_for_what_all_need() -> None:
    query = trigram_query(AnyOf((Literal(b"xfoo"), Literal(b"yfoo"))))
    assert query.hashes == trigram_query(Literal(b"foo")).hashes
    assert query.choices == ((trigram_query(Literal(b"xfo")), trigram_query(Literal(b"yfo"))),)
    assert trigram_query(AnyOf((FOO, Literal(b"ab")))) == EVERYTHING
    assert trigram_query(AnyOf((FOO, FOOD))) == trigram_query(Literal(b"foo"))
