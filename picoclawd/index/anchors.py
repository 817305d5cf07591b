"""Choose what every matching line must hold, by which lines are found before the pattern is asked.

Finding a text is five to ten times as fast as matching most patterns; RE2 does it with vectors, and without the GIL.
Where there is no such text, what is left of a pattern without the loops and classes that it begins with is three times
as fast as the whole: RE2 uses its vectors for a pattern's first byte. What is chosen is judged by how often it is found
in samples of what will be searched: what is in every line would cost more than it saves.
"""

import re
from collections.abc import Sequence

from picoclawd.index.literals import requirement
from picoclawd.index.matcher import compile_literal, compile_search
from picoclawd.index.pattern import SearchPattern
from picoclawd.index.requirements import All, AnyOf, Literal, Requirement

Anchors = tuple[bytes, ...]  # a matching line holds at least one of them

LITERAL_MIN_BYTES = 3
ANCHORS_MAX = 8  # each is a pass over the text
# Assertions, classes and dots, each perhaps repeated, and then a character that stands for itself once or more often.
_LEADING_ATOMS = re.compile(
    r"""
    (?: \\b | \^
      | (?: \\[wdsWDS] | \. | \[ \^? (?![\]^]) (?: [^\[\]\\] | \\[wdsWDS.\-_] )+ \] ) (?: [*+?] \?? )? (?! [*+?{] )
    )+
    (?= [A-Za-z0-9_=<>,;:'"/@\#%&!~\x20-] (?! [*?{] ) )
    """,
    re.VERBOSE,
)
_BYTES_A_HIT = 256  # a candidate line costs about what the pattern takes for so many bytes

_BYTES_A_LINE = 32
_BYTES_A_DENSE_HIT = 4096  # less often, most files are passed over by RE2 at five times the speed


def anchor_sets(needed: Requirement) -> list[Anchors]:
    """The sets of texts, of each of which a matching line holds one; empty where nothing is known."""
    match needed:
        case Literal(data, folded):
            return [] if folded or len(data) < LITERAL_MIN_BYTES else [(data,)]
        case All(parts):
            return [anchors for part in parts for anchors in anchor_sets(part)]
        case AnyOf(parts):
            return _one_of_each([anchor_sets(part) for part in parts])


def _one_of_each(sets: Sequence[list[Anchors]]) -> list[Anchors]:
    """Of each alternative its most telling set, put together; nothing where one of them tells nothing."""
    if not all(sets):
        return []
    best = [max(each, key=lambda anchors: min(map(len, anchors))) for each in sets]
    united = tuple(dict.fromkeys(text for anchors in best for text in anchors))
    return [united] if len(united) <= ANCHORS_MAX else []


def tail_of(source: str) -> str | None:
    """A valid pattern without the atoms in front of its first plain character; None where it does not begin so.

    What the pattern matches contains a match of it, which is never empty: a pattern with alternatives, of which one
    could be, has none.
    """
    found = _LEADING_ATOMS.match(source)
    return None if found is None or "|" in source else source[found.end() :]


def is_dense(pattern: SearchPattern, samples: Sequence[bytes]) -> bool:
    """Whether the pattern is a text that stands in most files, and not many times on a line: see `dense`."""
    if not pattern.literal:
        return False
    hits = sum(sample.count(pattern.literal) for sample in samples)
    return hits * _BYTES_A_LINE < sum(map(len, samples)) < hits * _BYTES_A_DENSE_HIT


def choose(pattern: SearchPattern, samples: Sequence[bytes]) -> tuple[SearchPattern, ...]:
    """What finds lines best in texts like the samples; nothing where the pattern does better."""
    if pattern.literal is not None or not pattern.suits_bundles:
        return ()
    rated = [
        (sum(sample.count(text) for sample in samples for text in anchors), anchors)
        for anchors in anchor_sets(requirement(pattern.source))
    ]
    total = sum(map(len, samples)) or 1
    if rated:
        hits, anchors = min(rated)
        return tuple(map(compile_literal, anchors)) if hits * _BYTES_A_HIT < total else ()
    source = tail_of(pattern.source)
    if source is None:
        return ()
    tail = compile_search(source)
    lines = sum(tail.count(sample, len(sample)) for sample in samples)
    return (tail,) if tail.suits_bundles and lines * _BYTES_A_HIT < total else ()
