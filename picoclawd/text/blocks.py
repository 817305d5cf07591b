"""Put matching lines and the lines around them together into blocks, as `rg -C` groups its rows."""

from collections.abc import Iterable
from dataclasses import dataclass

BLOCK_MAX_LINES = 50  # a block is one result of a page, so it is to stay readable and cheap to skip


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines of one file: each line's number, 1-based, and whether it matches."""

    start_line: int
    lines: tuple[tuple[int, bool], ...]


def merge(matches: Iterable[int], context: int, line_count: int | None) -> list[range]:
    """Give the line numbers to show: each match with `context` lines on both sides, as ranges in order.

    Ranges that touch or overlap are one; it is then split after every 50 lines, so a piece at its end may hold
    context only. `matches` are ascending line numbers, 1-based. Where the number of lines is not known (None) the
    last range may go past the end of the file.
    """
    merged: list[range] = []
    for line_no in matches:
        start = max(1, line_no - context)
        stop = line_no + context + 1
        if line_count is not None:
            stop = min(stop, line_count + 1)
        if merged and start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(stop, merged[-1].stop))
        else:
            merged.append(range(start, stop))
    return [part for whole in merged for part in _split(whole)]


def blocks(matches: Iterable[int], context: int, line_count: int | None) -> list[Block]:
    """Give the same as blocks that tell matches from context."""
    found = sorted(set(matches))
    matching = frozenset(found)
    return [
        Block(part.start, tuple((line_no, line_no in matching) for line_no in part))
        for part in merge(found, context, line_count)
    ]


def _split(whole: range) -> list[range]:
    return [whole[index : index + BLOCK_MAX_LINES] for index in range(0, len(whole), BLOCK_MAX_LINES)]
