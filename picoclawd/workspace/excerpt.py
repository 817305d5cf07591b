"""Lines of a file by their places in it, cut to what a row can show: from memory, or read where they stand."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from picoclawd.index.scan import Row
from picoclawd.text import blocks
from picoclawd.text.lines import BOM

REACH_BYTES = 2048  # kept on each side of a match: more than a row shows, and enough to know a secret by
_CHUNK_BYTES = 64 * 1024


class Source(msgspec.Struct, frozen=True):
    """The bytes of a file between two places, and its size."""

    read: Callable[[int, int], bytes]
    size: int

    @staticmethod
    def of_bytes(data: bytes) -> "Source":
        """A file in memory."""
        return Source(lambda start, end: data[start:end], len(data))

    @staticmethod
    def of_file(fd: int, size: int) -> "Source":
        """A file on disk; the descriptor stays the caller's, and must stay open."""
        return Source(lambda start, end: os.pread(fd, end - start, start), size)


# A line of a block: its number, its text or the part of it around the match, and the match's span in that.
BlockLine = tuple[int, bytes, tuple[int, int] | None]


class Lines:
    """The lines of one file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._first = len(BOM) if source.read(0, len(BOM)) == BOM else 0  # it belongs to no line

    @property
    def size(self) -> int:
        """The file's size in bytes."""
        return self._source.size

    def whole(self, start: int, end: int) -> bytes:
        """The bytes between two places, as of a line."""
        return self._source.read(start, end)

    def excerpt(self, start: int, end: int, focus: int) -> tuple[bytes, int]:
        """What a row may show of the line between two places, around `focus`; and the place where that begins."""
        left = max(start, focus - REACH_BYTES)
        return self._source.read(left, min(end, focus + 2 * REACH_BYTES)), left

    def blocks(self, rows: Sequence[Row], context: int) -> Iterator[Callable[[], tuple[BlockLine, ...]]]:
        """The blocks that matching rows make with `context` lines around each; a block is read when it is called."""
        line_nos = [row.line_no for row in rows]
        if not rows:
            return
        for lines in blocks.merge(line_nos, context, self._last_line(rows[-1], context)):
            first = bisect_left(line_nos, lines.start)
            last = bisect_left(line_nos, lines.stop)
            nearest = rows[max(0, last - 1) if first == last else first]  # a block's end may hold context only
            yield partial(self._read, lines, rows[first:last], nearest)

    def _read(self, lines: range, rows: Sequence[Row], nearest: Row) -> tuple[BlockLine, ...]:
        """The lines of a block, as far as the file has them; `rows` are those that match, `nearest` is one near it."""
        place = self._start_of(lines.start, nearest)
        by_line = {row.line_no: row for row in rows}
        read: list[BlockLine] = []
        for line_no in lines:
            row = by_line.get(line_no)
            if row is not None:
                text, at = self.excerpt(row.start, row.end, row.match_start)
                read.append((line_no, text, (row.match_start - at, row.match_end - at)))
                place = self._line_after(self._line_end(row.end))  # of a line searched in part the rest comes first
            elif place < self._source.size:
                end = self._line_end(place)
                read.append((line_no, self.excerpt(place, end, place)[0], None))
                place = self._line_after(end)
        return tuple(read)

    def _last_line(self, row: Row, context: int) -> int:
        """The number of the last line of the `context` lines after a matching one, as far as the file has them."""
        place = self._line_after(self._line_end(row.end))
        line_no = row.line_no
        while line_no < row.line_no + context and place < self._source.size:
            place = self._line_after(self._line_end(place))
            line_no += 1
        return line_no

    def _start_of(self, line_no: int, anchor: Row) -> int:
        """Where a line begins, found from a matching line near it."""
        place = anchor.start
        for _ in range(anchor.line_no - line_no):
            place = self._line_before(place)
        if line_no > anchor.line_no:
            place = self._line_after(self._line_end(anchor.end))
            for _ in range(line_no - anchor.line_no - 1):
                place = self._line_after(self._line_end(place))
        return place

    def _line_before(self, start: int) -> int:
        """Where the line before the one at `start` begins."""
        end = start - 1
        while end > 0:
            chunk_start = max(0, end - _CHUNK_BYTES)
            newline = self._source.read(chunk_start, end).rfind(b"\n")
            if newline >= 0:
                return chunk_start + newline + 1
            end = chunk_start
        return self._first

    def _line_end(self, start: int) -> int:
        """Where the text of the line at `start` ends, its `\\r` left out."""
        place = start
        while place < self._source.size:
            chunk = self._source.read(place, place + _CHUNK_BYTES)
            newline = chunk.find(b"\n")
            if newline >= 0:
                place += newline
                break
            if not chunk:
                break
            place += len(chunk)
        return place - 1 if place > start and self._source.read(place - 1, place) == b"\r" else place

    def _line_after(self, end: int) -> int:
        """Where the next line begins, `end` being where a line's text ends."""
        tail = self._source.read(end, end + 2)
        return end + tail.find(b"\n") + 1 if b"\n" in tail else self._source.size
