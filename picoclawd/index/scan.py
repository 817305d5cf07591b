r"""Search the text of one file for the lines that match a pattern.

What a line is: it ends at `\n` only; a `\r` before that, or at the end of the file, is no part of it, nor is a BOM at
the start of the file. A line is searched up to 1 MiB, or as far as a slow pattern gets in a quarter of a second. A NUL
in the first 8 KiB makes a file binary: it is not searched.

Blocking, so call it in a thread; RE2 releases the GIL while it searches a piece.
"""

from collections.abc import Callable
from enum import Enum
from math import inf
from time import thread_time

import msgspec

from picoclawd.index.pattern import Encoding, SearchPattern, Span
from picoclawd.index.pieces import BLOCK_BYTES, LINE_MAX_BYTES, Piece, affordable, kept_bytes, piece_bytes, runs
from picoclawd.limits import BINARY_SNIFF_BYTES
from picoclawd.text.lines import BOM

Stop = Callable[[], bool]


class End(Enum):
    """How a scan ended."""

    COMPLETE = "complete"  # everything was searched
    ENOUGH = "enough"  # as many lines as were wanted were found
    STOPPED = "stopped"  # `stop` said so
    BINARY = "binary"  # nothing was searched


class Want(msgspec.Struct, frozen=True):
    """What a scan is for: how many matching lines to keep as rows, and after how many to end; None: all."""

    rows: int | None = None
    lines: int | None = None


ROWS = Want()
COUNT = Want(rows=0)
EXISTS = Want(rows=0, lines=1)


class Row(msgspec.Struct, frozen=True):
    """One matching line: its number, and the offsets in the file of its text and of the first match in it.

    Of a line that was searched in part the text ends where the search did. A match of several lines is cut to each.
    """

    line_no: int
    start: int
    end: int
    match_start: int
    match_end: int


class FileHits(msgspec.Struct, frozen=True):
    """What a scan found: the number of matching lines, the rows kept, and how many lines were searched in part."""

    count: int
    rows: tuple[Row, ...]
    end: End
    truncated_lines: int = 0


def never() -> bool:
    """The `stop` of a scan that nothing stops."""
    return False


def is_binary(start: bytes) -> bool:
    """Tell from the start of a file whether it is no text."""
    return start.find(b"\0", 0, BINARY_SNIFF_BYTES) >= 0


def scan_file(
    pattern: SearchPattern, data: bytes, want: Want = ROWS, stop: Stop = never, encoding: Encoding | None = None
) -> FileHits:
    """Search a whole file in memory.

    `stop` is asked between pieces: a flag, a deadline, or both. `encoding` of the file, where known, spares finding
    it out. With a multiline pattern each line that a match spans is a row, and `stop` is asked between matches.
    """
    if is_binary(data):
        return FileHits(0, (), End.BINARY)
    scan = _Scan(pattern, want, stop, encoding)
    if pattern.multiline:
        scan.take_whole(data)
    else:
        scan.take(data, 0)
    return scan.result()


def scan_stream(
    pattern: SearchPattern, read: Callable[[int], bytes], want: Want = ROWS, stop: Stop = never
) -> FileHits:
    """Search a file too large to hold: some 3 MiB of it are in memory at a time.

    `read` gives at most as many bytes as it is asked for, and none at the end. The pattern must not be multiline:
    that needs the whole file.
    """
    if pattern.multiline:
        raise ValueError("a multiline pattern needs the whole file")
    first = b""
    while len(first) < BINARY_SNIFF_BYTES and (block := read(BLOCK_BYTES)):
        first += block
    if is_binary(first):
        return FileHits(0, (), End.BINARY)
    scan = _Scan(pattern, want, stop, None)
    for run in runs(first, read):
        if not scan.take(run.text, run.offset):
            break
        scan.leave(run.text, run.is_line_end)
    return scan.result()


class _Scan:
    """One scan as far as it has come."""

    def __init__(self, pattern: SearchPattern, want: Want, stop: Stop, encoding: Encoding | None) -> None:
        self._pattern = pattern
        self._want = want
        self._stop = stop
        self._encoding = encoding
        self._size = piece_bytes(pattern.cost if pattern.literal is None else 0)
        self._count = 0
        self._rows: list[Row] = []
        self._end = End.COMPLETE
        self._truncated_lines = 0
        self._counted_to = 0  # an offset in the run that is taken
        self._lines_before = 0  # lines that end before it

    def result(self) -> FileHits:
        return FileHits(self._count, tuple(self._rows), self._end, self._truncated_lines)

    def take(self, run: bytes, offset: int) -> bool:
        """Search whole lines that begin at an offset of the file; False when the scan is over."""
        if not run:
            return not self._is_over()
        pos = len(BOM) if offset == 0 and run.startswith(BOM) else 0
        while pos < len(run):
            if self._is_over():
                return False
            end = run.rfind(b"\n", pos, pos + self._size) + 1
            if end:
                self._search(Piece(run, pos, end), run, offset)
            else:
                end = run.find(b"\n", pos + self._size) + 1 or len(run)
                self._search_long(Piece(run, pos, end), run, offset)
            pos = end
        return self._end is End.COMPLETE

    def take_whole(self, data: bytes) -> None:
        """Search a whole file as one text; find each line that a match spans, once."""
        piece = Piece(data, len(BOM) if data.startswith(BOM) else 0, len(data))
        self._cut_whole(piece)
        if self._is_over():
            return
        text = piece.text
        shown = -1  # where the last line that was found ends
        for start, stop in self._pattern.spans(text, piece.end, self._encoding):
            if self._is_over():
                return
            last = max(start, stop - 1)  # a newline that ends a match is of the line before it
            if last <= shown:
                continue
            line_start = max(text.rfind(b"\n", max(shown, 0), start), shown) + 1
            while line_start <= last and line_start < piece.end and self._end is End.COMPLETE:
                shown = piece.line_end(line_start)
                self._found(piece, line_start, shown, (max(start, line_start), min(stop, shown)), data, 0)
                line_start = shown + 1

    def leave(self, run: bytes, is_line_end: bool) -> None:
        """Number the lines of a run that was taken, before the next one is."""
        self._lines_before += run.count(b"\n", self._counted_to) + is_line_end
        self._counted_to = 0

    def _is_over(self) -> bool:
        if self._end is End.COMPLETE and self._stop():
            self._end = End.STOPPED
        return self._end is not End.COMPLETE

    def _search(self, piece: Piece, run: bytes, offset: int) -> None:
        if self._want.lines is None and len(self._rows) == self._want.rows:
            self._count += self._pattern.count(piece.text, piece.end, self._encoding)
            return
        for span in self._pattern.hits(piece.text, piece.end, self._encoding):
            line_start = piece.text.rfind(b"\n", 0, span[0]) + 1
            self._found(piece, line_start, piece.line_end(span[1]), span, run, offset)
            if self._end is End.ENOUGH:
                return

    def _search_long(self, piece: Piece, run: bytes, offset: int) -> None:
        """Search the one line that the piece is, as far as it is kept, and as far as a slow pattern gets."""
        length = piece.line_end(0)
        kept = kept_bytes(piece.text, length, LINE_MAX_BYTES)
        afforded = affordable(kept, self._size, lambda pos, end: self._seconds_for(piece.text, pos, end))
        if self._is_over():
            return
        if (kept := kept_bytes(piece.text, kept, afforded)) < length:
            self._truncated_lines += 1
            piece.cut(kept)
        self._search(piece, run, offset)

    def _seconds_for(self, text: bytes, pos: int, end: int) -> float:
        """Search a part of a text only to learn how long that takes; no time is too long when the scan is over."""
        if self._is_over():
            return inf
        part = text[pos : end + 1]
        started = thread_time()
        if self._pattern.multiline:
            for _ in self._pattern.spans(part, end - pos, self._encoding):
                if self._is_over():
                    return inf
        else:
            next(self._pattern.hits(part, end - pos, self._encoding), None)
        return thread_time() - started  # of the processor: time spent waiting for it says nothing

    def _cut_whole(self, piece: Piece) -> None:
        """Leave out the lines that a slow pattern would not get to in time, and count them."""
        afforded = affordable(piece.end, self._size, lambda pos, end: self._seconds_for(piece.text, pos, end))
        if self._is_over():
            return
        if afforded < piece.end:
            kept = piece.text.rfind(b"\n", 0, afforded) + 1 or kept_bytes(piece.text, piece.end, afforded)
            self._truncated_lines += piece.text.count(b"\n", kept) + (not piece.text.endswith(b"\n"))
            piece.cut(kept)

    def _found(self, piece: Piece, line_start: int, line_end: int, span: Span, run: bytes, offset: int) -> None:
        """Take note of a matching line; all places are in the piece's text."""
        self._count += 1
        if self._count == self._want.lines:
            self._end = End.ENOUGH
        if self._want.rows is not None and len(self._rows) >= self._want.rows:
            return
        shift = piece.shift(line_start)
        start = line_start + shift
        self._lines_before += run.count(b"\n", self._counted_to, start)
        self._counted_to = start
        shift += offset
        places = (line_start + shift, line_end + shift, span[0] + shift, span[1] + shift)
        self._rows.append(Row(self._lines_before + 1, *places))
