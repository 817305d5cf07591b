r"""Cut the text of a file into pieces of whole lines, as a pattern is to see them.

A line ends at `\n` only. A `\r` before that, or at the end of the file, is no part of it: a piece's text lacks it. How
large a piece is depends on the pattern, so that a scan can be stopped within a quarter of a second.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

import msgspec

from picoclawd.limits import KIB, MIB

LINE_MAX_BYTES = MIB  # kept of a line: longer ones are data that nobody reads as lines
BLOCK_BYTES = MIB  # read at once from a stream

_PIECE_MIN_BYTES = 2 * KIB  # 0.2 s at 0.01 MB/s, the slowest that was measured
_PIECE_MAX_BYTES = 256 * KIB  # larger ones are no faster, and the densest matches take 0.1 s of Python for one
_PIECE_WORK = 4 * MIB  # bytes times instructions: some 0.1 s of the engine that RE2 falls back on
_SLOW_BYTES_PER_S = 8 * MIB  # the automaton, once built, does 20 to 400 times 1 MiB; a hostile pattern 0.01 to 6
_FIRST_S = 0.04  # no more than this for a fair pattern, while the automaton is built
_LATER_S = 0.002  # less is too short to judge by


class Piece:
    r"""Some lines of a run of bytes: `text` up to `end`, without the `\r` of `\r\n`.

    `end` is before the end of the text where the last line was cut: one more byte shows that it goes on.
    """

    __slots__ = ("_base", "_raw", "_starts", "end", "text")

    def __init__(self, run: bytes, start: int, stop: int) -> None:
        raw = run[start:stop]
        self.text = raw
        self._base = start
        self._raw = b""
        self._starts: tuple[list[int], list[int]] | None = None
        if b"\r" in raw:
            self.text = raw.replace(b"\r\n", b"\n").removesuffix(b"\r")
            self._raw = raw if b"\r\n" in raw else b""
        self.end = len(self.text)

    def line_end(self, offset: int) -> int:
        """Where the line ends that an offset is in, both in the text."""
        newline = self.text.find(b"\n", offset, self.end)
        return self.end if newline < 0 else newline

    def cut(self, kept: int) -> None:
        """Keep so many bytes of the text."""
        self.text = self.text[: kept + 1]
        self.end = kept

    def shift(self, line_start: int) -> int:
        """What to add to an offset in the line that starts there, to have its offset in the run."""
        if not self._raw:
            return self._base
        if self._starts is None:
            self._starts = _line_starts(self.text), _line_starts(self._raw)
        in_text, in_raw = self._starts
        return self._base + in_raw[bisect_right(in_text, line_start) - 1] - line_start


def _line_starts(text: bytes) -> list[int]:
    return list(accumulate((len(line) + 1 for line in text.split(b"\n")), initial=0))


def kept_bytes(line: bytes, length: int, most: int) -> int:
    """How much of a line so long fits into `most` bytes, cut on a character if it is UTF-8: all of it, if it does."""
    if length <= most:
        return length
    kept = most
    while kept > most - 3 and line[kept] & 0xC0 == 0x80:  # a character has at most 3 bytes after its first
        kept -= 1
    return kept


def piece_bytes(cost: int) -> int:
    """How much to search at once with a pattern of so many instructions, 0 for plain text: some 0.1 s at worst."""
    most = _PIECE_WORK // cost if cost else _PIECE_MAX_BYTES
    return max(_PIECE_MIN_BYTES, min(most, _PIECE_MAX_BYTES))


def affordable(total: int, first: int, seconds_for: Callable[[int, int], float]) -> int:
    """How many of so many bytes to search in one go: all, unless the pattern shows on a part of them to be slow.

    `seconds_for` searches from one place to another and tells what that took; `first` bytes are never too many for it.
    RE2 builds its automaton as it goes: the first part may take long for that, the second does only if there is no end
    to it. It also gives up the automaton in the middle of a text that turns hostile, and begins anew with its slowest
    engine: so what follows is searched in small parts before it is searched as one with what is known to be fair.
    """
    size = first
    while size < total:
        seconds = seconds_for(0, size)
        is_first = size == first
        if seconds > (_FIRST_S if is_first else _LATER_S) and size < seconds * _SLOW_BYTES_PER_S:
            return size
        following = min(size * (2 if is_first else 4), total)
        if _turns_slow(size, following, first, seconds_for):
            return size
        size = following
    return total


def _turns_slow(start: int, end: int, step: int, seconds_for: Callable[[int, int], float]) -> bool:
    """Whether the pattern is slow anywhere between two places; each step may be slow alone, but not many in a row."""
    owed = 0.0
    for pos in range(start, end, step):
        stop = min(pos + step, end)
        owed = max(0.0, owed + seconds_for(pos, stop) - (stop - pos) / _SLOW_BYTES_PER_S)
        if owed > _FIRST_S:
            return True
    return False


class Run(msgspec.Struct, frozen=True):
    r"""Whole lines of a stream, and their offset in it.

    Of a line too long to keep `text` is the start; runs without text follow while the rest is passed over, and
    `is_line_end` is set on the one that reaches the line's `\n`.
    """

    text: bytes
    offset: int
    is_line_end: bool = False


def runs(first: bytes, read: Callable[[int], bytes]) -> Iterator[Run]:
    """Cut a stream into runs: `first` is what was read of it already, `read` gives the rest, nothing at the end."""
    offset = 0
    held = first
    while True:
        cut = held.rfind(b"\n") + 1
        if cut == 0 and len(held) > LINE_MAX_BYTES + 1:  # one of them may be the `\r` of the line's end
            yield Run(held, offset)
            offset += len(held)
            block = b""
            while (newline := block.find(b"\n")) < 0:
                offset += len(block)
                if not (block := read(BLOCK_BYTES)):
                    return
                yield Run(b"", offset)
            yield Run(b"", offset, is_line_end=True)
            offset += newline + 1
            held = block[newline + 1 :]
            continue
        if cut:
            yield Run(held[:cut], offset)
            offset += cut
            held = held[cut:]
        block = read(BLOCK_BYTES)
        if not block:
            if held:
                yield Run(held, offset)
            return
        held += block
