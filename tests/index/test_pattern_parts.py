"""Parts put together know of their whole what its strings show: checked against sets of all strings they match."""

import random
from itertools import product

import pytest

from picoclawd.index.pattern_parts import (
    EMPTY,
    GAP,
    Part,
    Strings,
    alternation,
    concatenation,
    exact_of,
    repetition,
    total,
)
from picoclawd.index.requirements import ALTERNATIVES_MAX, ANYTHING, All, Literal
from tests.index.test_literals import holds

Language = set[bytes]


def word(*texts: str) -> Part:
    return exact_of(tuple(Literal(text.encode()) for text in texts))


def begins(strings: Strings, data: bytes) -> bool:
    return any((data.lower() if each.folded else data).startswith(each.data) for each in strings)


def ends(strings: Strings, data: bytes) -> bool:
    return any((data.lower() if each.folded else data).endswith(each.data) for each in strings)


def random_part(dice: random.Random, depth: int) -> tuple[Part, Language]:
    """A part, and some of the strings that it matches."""
    kind = dice.choice(("word", "word", "gap", "empty", "folded") if depth == 0 else ("then", "then", "or", "times"))
    if kind == "word":
        texts = dice.sample(["ab", "b", "cab", "abcd", "x", ""], dice.randint(1, 3))
        return word(*texts), {text.encode() for text in texts}
    if kind == "folded":
        return exact_of((Literal(b"ab", folded=True),)), {b"ab", b"AB", b"aB"}
    if kind == "gap":
        return GAP, {b"", b"q", b"zz"}
    if kind == "empty":
        return EMPTY, {b""}
    inner = [random_part(dice, depth - 1) for _ in range(dice.randint(2, 3))]
    parts, languages = [part for part, _ in inner], [some(dice, language) for _, language in inner]
    if kind == "then":
        return concatenation(parts), {b"".join(each) for each in product(*languages)}
    if kind == "or":
        return alternation(parts), set().union(*languages)
    least = dice.randint(0, 6)
    most = dice.choice((None, least, least + 1))
    times = {least, least + 2 if most is None else most}
    repeated = {text * count for text in languages[0] for count in times}
    return repetition(parts[0], least, most), repeated


def some(dice: random.Random, language: Language) -> Language:
    return set(dice.sample(sorted(language), min(3, len(language))))


@pytest.mark.parametrize("seed", range(20))
def test_every_string_of_a_part_is_as_the_part_says(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(200):
        part, language = random_part(dice, dice.randint(1, 3))
        for data in language:
            assert begins(part.starts, data), (part, data)
            assert ends(part.ends, data), (part, data)
            assert holds(total(part), data), (part, data)
            if part.exact:
                assert any(each.data == (data.lower() if each.folded else data) for each in part.starts), (part, data)


def test_what_is_exact_stays_exact_while_its_strings_are_few() -> None:
    both = concatenation([word("a", "b"), word("c", "d")])
    assert both == word("ac", "ad", "bc", "bd")
    assert alternation([both, word("e")]) == word("ac", "ad", "bc", "bd", "e")
    many = word(*"abcdefgh")
    assert not concatenation([many, many]).exact
    assert len(concatenation([many, many]).starts) <= ALTERNATIVES_MAX


def test_a_gap_parts_what_is_before_from_what_follows() -> None:
    part = concatenation([word("ab"), GAP, word("cd")])
    assert (part.starts, part.ends, part.exact) == ((Literal(b"ab"),), (Literal(b"cd"),), False)
    assert total(part) == All((Literal(b"ab"), Literal(b"cd")))


@pytest.mark.parametrize(
    ("least", "most", "part"),
    [(0, 0, EMPTY), (0, None, GAP), (0, 3, GAP), (0, 1, word("ab", "")), (3, 3, word("ababab"))],
)
def test_a_repetition_knows_as_much_as_is_certain(least: int, most: int | None, part: Part) -> None:
    assert repetition(word("ab"), least, most) == part


def test_a_repetition_without_end_begins_and_ends_with_its_copies() -> None:
    part = repetition(word("ab"), 1, None)
    assert (part.starts, part.ends, part.exact) == ((Literal(b"ab"),), (Literal(b"ab"),), False)
    assert total(repetition(word("ab"), 1000, None)) == Literal(b"abababab")


def test_nothing_is_known_of_a_gap_or_of_nothing() -> None:
    assert total(GAP) == total(EMPTY) == total(alternation([word("ab"), EMPTY])) == ANYTHING
