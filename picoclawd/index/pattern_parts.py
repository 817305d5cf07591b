"""What is known of a part of a pattern: the strings that its matches begin and end with, and what they contain.

After Russ Cox, "Regular Expression Matching with a Trigram Index": parts are put together as the pattern puts them
together, and sets of strings that grow too large are given up for requirements.
"""

from collections.abc import Iterable, Sequence
from itertools import product

import msgspec

from picoclawd.index.requirements import ALTERNATIVES_MAX, ANYTHING, Literal, Requirement, all_of, any_of

_STRING_MAX_BYTES = 32  # where there are alternatives: longer ones find no less
_COPIES_MAX = 4  # of what is repeated
_TRIGRAM_BYTES = 3

Strings = tuple[Literal, ...]
_NOTHING: Strings = (Literal(b""),)


class Part(msgspec.Struct, frozen=True):
    """What is known of a part of a pattern: it matches only what begins with one of `starts` and ends with one of
    `ends`, and contains what it `needs`; where `exact`, only one of `starts`, which `ends` are too."""

    starts: Strings = _NOTHING
    ends: Strings = _NOTHING
    needs: Requirement = ANYTHING
    exact: bool = False


GAP = Part()  # matches anything
EMPTY = Part(exact=True)  # matches the empty string only


def exact_of(strings: Strings) -> Part:
    """What matches these strings and no others."""
    return Part(strings, strings, exact=True)


def total(part: Part) -> Requirement:
    """All that a text must hold for the part to match in it."""
    return all_of([any_of(part.starts), part.needs, any_of(part.ends)])


def concatenation(parts: Sequence[Part]) -> Part:
    """One part after the other."""
    noted: list[Strings] = []
    needs: list[Requirement] = []
    tail = _NOTHING  # what a match may hold up to here, since what was noted last
    for part in parts:
        joined = _cross(tail, part.starts)
        if joined is not None and part.exact:
            tail = joined
        elif joined is not None:
            noted.append(joined)
            needs.append(part.needs)
            tail = part.ends
        else:
            noted.append(tail)
            needs += [any_of(part.starts), part.needs]
            tail = (_cross(_last_bytes(tail), part.starts) or part.starts) if part.exact else part.ends
    if not noted:
        return exact_of(tail)
    return Part(noted[0], tail, all_of([*map(any_of, noted[1:]), *needs]))


def alternation(parts: Sequence[Part]) -> Part:
    """Any one of the parts."""
    if len(parts) == 1:
        return parts[0]
    starts = _union(part.starts for part in parts)
    ends = _union(part.ends for part in parts)
    if starts is not None and all(part.exact for part in parts):
        return exact_of(starts)
    return Part(starts or _NOTHING, ends or _NOTHING, any_of(total(part) for part in parts))


def repetition(part: Part, least: int, most: int | None) -> Part:
    """The part so many times; `most` is None where there is no end."""
    if most == 0:
        return EMPTY
    if least == 0:
        return alternation((part, EMPTY)) if most == 1 else GAP
    copies = min(least, _COPIES_MAX)
    repeated = concatenation((part,) * copies)
    if copies == most:
        return repeated
    return Part(repeated.starts, repeated.ends, repeated.needs)


def _join(left: Literal, right: Literal) -> Literal:
    """One literal after the other; where one is folded the whole is, which asks for less."""
    data = left.data + right.data
    return Literal(data.lower(), True) if left.folded or right.folded else Literal(data)


def _cross(lefts: Strings, rights: Strings) -> Strings | None:
    """Each with each; None where that would be too much."""
    if len(lefts) * len(rights) > ALTERNATIVES_MAX:
        return None
    joined = tuple(dict.fromkeys(_join(left, right) for left, right in product(lefts, rights)))
    if len(joined) > 1 and any(len(literal.data) > _STRING_MAX_BYTES for literal in joined):
        return None
    return joined


def _last_bytes(strings: Strings) -> Strings:
    """The ends of strings that were noted already: enough for the trigrams that cross into what follows."""
    kept = _TRIGRAM_BYTES - 1
    return tuple(dict.fromkeys(Literal(literal.data[-kept:], literal.folded) for literal in strings))


def _union(sets: Iterable[Strings]) -> Strings | None:
    """All of the strings; None where they are too many."""
    union = tuple(dict.fromkeys(literal for strings in sets for literal in strings))
    return union if len(union) <= ALTERNATIVES_MAX else None
