"""Find the lines that come closest to lines that were not found: material for an error, never for an edit."""

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, pairwise

# What bounds the work: the file may hold millions of lines, and an error must not take longer than an edit.
_LINES_MAX = 500_000  # lines looked at, 0.3 us each
_FUZZY_LINES_MAX = 20_000  # lines compared by letter pairs, 5 us each
_LINE_MAX_BYTES = 200  # of a line, for comparing
_WANTED_LINES_MAX = 200
_RATIO_LINES_MAX = 20  # lines that difflib sees
_SCORE_MIN = 0.4  # below it, two lines of code share little more than spaces and brackets
_ROW_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Near:
    """A line of the file that is like a wanted one: 1-based number, text without ending, likeness from 0 to 1."""

    line_no: int
    text: bytes
    score: float


def nearest(lines: Sequence[bytes], wanted: Sequence[bytes], count: int = 3) -> tuple[Near, ...]:
    """Find up to `count` lines of a file that come closest to `wanted`, in the file's order.

    Where some of the wanted lines are there (surrounding whitespace aside), the place that has most of them in the
    wanted order decides, and the lines that differ there come first: they are what the caller got wrong. Otherwise
    the lines most like the longest wanted line are given. Looks for the former at the first 500,000 lines, for the
    latter at the first 20,000.
    """
    keys = [line.strip() for line in wanted[:_WANTED_LINES_MAX]]
    if not any(keys) or count < 1:
        return ()
    start = _best_start(lines, keys)
    if start is not None:
        return _around(lines, keys, start, count)
    return _alike(lines, max(keys, key=len)[:_LINE_MAX_BYTES], count)


def excerpt(nears: Iterable[Near]) -> str:
    """Render lines as rows `N|text`, each text cut to 200 characters, invalid UTF-8 shown as U+FFFD."""
    return "\n".join(f"{near.line_no}|{_cut(near.text)}" for near in nears)


def rows_from(lines: Sequence[bytes], line_no: int, count: int) -> tuple[Near, ...]:
    """Take `count` lines of the file from `line_no` on, as they are."""
    return tuple(Near(no, line.rstrip(b"\r\n"), 1.0) for no, line in enumerate(lines[line_no - 1 :][:count], line_no))


def _cut(text: bytes) -> str:
    row = text[: 4 * _ROW_MAX_CHARS].decode(errors="replace")
    return row if len(row) <= _ROW_MAX_CHARS else row[: _ROW_MAX_CHARS - 1] + "…"


def _best_start(lines: Sequence[bytes], keys: Sequence[bytes]) -> int | None:
    """Let each line that equals a wanted one vote for the index where the wanted lines would begin."""
    index_of = {key: index for index, key in reversed(list(enumerate(keys))) if key}
    votes: Counter[int] = Counter()
    for index, line in enumerate(islice(lines, _LINES_MAX)):
        offset = index_of.get(line.strip())
        if offset is not None:
            votes[index - offset] += max(1, len(line.strip()))
    return votes.most_common(1)[0][0] if votes else None


def _around(lines: Sequence[bytes], keys: Sequence[bytes], start: int, count: int) -> tuple[Near, ...]:
    window = [
        Near(start + offset + 1, lines[start + offset].rstrip(b"\r\n"), _ratio(lines[start + offset].strip(), key))
        for offset, key in enumerate(keys)
        if 0 <= start + offset < len(lines)
    ]
    chosen = sorted(window, key=lambda near: near.score == 1.0)[:count]  # stable: those that differ come first
    return tuple(sorted(chosen, key=lambda near: near.line_no))


def _alike(lines: Sequence[bytes], anchor: bytes, count: int) -> tuple[Near, ...]:
    pairs = _pairs(anchor)
    heads = (line[: 2 * _LINE_MAX_BYTES].strip()[:_LINE_MAX_BYTES] for line in islice(lines, _FUZZY_LINES_MAX))
    rough = heapq.nlargest(
        _RATIO_LINES_MAX, ((_overlap(pairs, _pairs(head)), -index) for index, head in enumerate(heads))
    )
    nears = [
        Near(1 - minus_index, lines[-minus_index].rstrip(b"\r\n"), _ratio(lines[-minus_index].strip(), anchor))
        for overlap, minus_index in rough
        if overlap
    ]
    best = sorted((near for near in nears if near.score >= _SCORE_MIN), key=lambda near: -near.score)[:count]
    return tuple(sorted(best, key=lambda near: near.line_no))


def _pairs(line: bytes) -> set[tuple[int, int]]:
    return set(pairwise(line))


def _overlap(one: set[tuple[int, int]], other: set[tuple[int, int]]) -> float:
    return 2 * len(one & other) / (len(one) + len(other) or 1)


def _ratio(line: bytes, key: bytes) -> float:
    if line == key:
        return 1.0
    return min(0.99, SequenceMatcher(None, line[:_LINE_MAX_BYTES], key[:_LINE_MAX_BYTES], autojunk=False).ratio())
