"""What a text must hold for a search to look at it, and what that asks of its trigrams."""

from collections.abc import Iterable

import msgspec

ALTERNATIVES_MAX = 16  # each costs a look-up, and together they soon let everything through


class Literal(msgspec.Struct, frozen=True):
    """The text holds `data`; where `folded`, `data` has no A to Z, and is held after A to Z were made a to z."""

    data: bytes
    folded: bool = False


class AnyOf(msgspec.Struct, frozen=True):
    """One of the parts holds; there are two at least."""

    parts: tuple["Requirement", ...]


class All(msgspec.Struct, frozen=True):
    """All parts hold; without any every text does."""

    parts: tuple["Requirement", ...]


Requirement = Literal | AnyOf | All
ANYTHING = All(())


class Query(msgspec.Struct, frozen=True):
    """All of the hashes, and of each of the choices at least one query: with neither, every text."""

    hashes: tuple[int, ...] = ()
    choices: tuple[tuple["Query", ...], ...] = ()


EVERYTHING = Query()

# By these multipliers the trigrams of 256 KiB of C, some 11,000, meet the least among 50 choices: 5.5 % share a hash,
# where chance would have 8 %.
TRIGRAM_MULTIPLIERS = (30095, 23227, 23695)


def trigram_query(needed: Requirement) -> Query:
    """Turn a requirement into hashes of trigrams, A to Z as a to z; a literal of less than 3 bytes asks for nothing."""
    match needed:
        case Literal():
            return Query(tuple(sorted(set(_hashes(needed.data.lower())))))
        case AnyOf():
            return _either(tuple(dict.fromkeys(trigram_query(part) for part in needed.parts)))
        case All():
            queries = tuple(trigram_query(part) for part in needed.parts)
            hashes = {number for query in queries for number in query.hashes}
            choices = dict.fromkeys(choice for query in queries for choice in query.choices)
            return Query(tuple(sorted(hashes)), tuple(choices))


def _either(queries: tuple[Query, ...]) -> Query:
    """One of the queries, with what they all ask for asked once."""
    common = frozenset(queries[0].hashes).intersection(*(query.hashes for query in queries))
    rest = tuple(
        Query(tuple(number for number in query.hashes if number not in common), query.choices) for query in queries
    )
    return Query(tuple(sorted(common)), () if EVERYTHING in rest else (rest,))


def _hashes(data: bytes) -> Iterable[int]:
    first, second, third = TRIGRAM_MULTIPLIERS
    return ((first * a + second * b + third * c) & 0xFFFF for a, b, c in zip(data, data[1:], data[2:], strict=False))


def all_of(parts: Iterable[Requirement]) -> Requirement:
    """All of them, without any twice or nested."""
    flat: dict[Requirement, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, All) else (part,)))
    return next(iter(flat)) if len(flat) == 1 else All(tuple(flat))


def any_of(parts: Iterable[Requirement]) -> Requirement:
    """At least one of them, without those that another one is within; anything where they are too many."""
    unique = tuple(dict.fromkeys(parts))
    if ANYTHING in unique or len(unique) > ALTERNATIVES_MAX:
        return ANYTHING
    least = [part for part in unique if not any(_is_within(other, part) for other in unique if other != part)]
    if any(isinstance(part, Literal) and not part.data for part in least):
        return ANYTHING
    return least[0] if len(least) == 1 else AnyOf(tuple(least))


def _is_within(small: Requirement, large: Requirement) -> bool:
    """Whether what holds the one literal always holds the other."""
    if not isinstance(small, Literal) or not isinstance(large, Literal):
        return False
    if small.folded:
        return small.data in large.data.lower()
    return not large.folded and small.data in large.data
