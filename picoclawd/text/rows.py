"""Cut a page of numbered rows out of a text of any size, to a budget of characters: `12<tab>text`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from picoclawd.text.pages import CUT_MARK, EDGE_BYTES

LIMIT = 2048  # rows of a page where the caller does not say
CONTEXT = 20  # rows shown on each side of one that `around` names
GAP = "..."  # stands for rows left out between two that are shown


@dataclass(frozen=True, slots=True)
class Row:
    """One line as shown. `rest` is what its line holds beyond the cut, at most EDGE_BYTES characters, not shown.

    `heading` stands above it in place of its number: for a page of a document, which is several lines.
    """

    line_no: int
    text: str
    rest: str = ""
    cut: bool = False
    heading: str = ""

    @property
    def prefix(self) -> str:
        """What stands before its text."""
        return f"{self.heading}\n" if self.heading else f"{self.line_no}\t"

    @property
    def shown(self) -> str:
        """The row as it is written, without a newline."""
        return f"{self.prefix}{self.text}{CUT_MARK if self.cut else ''}"


@dataclass(frozen=True, slots=True)
class RowPage:
    """Rows in order, out of a text of `total` lines. `start` is the first row asked for; `anchors` the rows that were
    named, where rows around them were asked for; `is_short`: some of what was asked for did not fit."""

    rows: tuple[Row, ...]
    start: int
    total: int
    anchors: tuple[int, ...] = ()
    is_short: bool = False

    @property
    def end(self) -> int:
        """The last row shown; `start - 1` where there is none."""
        return self.rows[-1].line_no if self.rows else self.start - 1

    @property
    def eof(self) -> bool:
        """Whether no line comes after the last one shown."""
        return self.end >= self.total

    @property
    def next_offset(self) -> int | None:
        """Where to go on; None at the end of the text, and where all rows around the anchors are shown."""
        if not self.rows or self.eof or (self.anchors and not self.is_short):
            return None
        return self.end + 1

    @property
    def cut_row(self) -> int | None:
        """The row that alone did not fit, and was cut."""
        return self.rows[-1].line_no if self.rows and self.rows[-1].cut else None

    @property
    def unshown(self) -> tuple[int, ...]:
        """The anchors that did not fit."""
        return tuple(anchor for anchor in self.anchors if self.end < anchor <= self.total)

    @property
    def cost(self) -> int:
        """The characters that the rows take, a newline for each included."""
        return sum(_cost(row, before) for row, before in zip(self.rows, (None, *self.rows), strict=False))

    def text(self) -> str:
        """The rows as they are written, with a `...` line for what is skipped between two."""
        lines: list[str] = []
        for row, before in zip(self.rows, (None, *self.rows), strict=False):
            lines += [GAP, row.shown] if _has_gap(row, before) else [row.shown]
        return "\n".join(lines)


def page(chunks: Iterable[bytes], offset: int, limit: int, max_chars: int) -> RowPage:
    """Read up to `limit` rows from row `offset` on, 1-based, holding one line at a time, and count all lines.

    `chunks` are the text in UTF-8, without a byte order mark; none is empty. A line ends at `\\n`; that and a `\\r`
    before it are not shown. A row that does not fit into `max_chars` is not begun, but the first one is cut there.
    """
    return _taken(chunks, [range(offset, offset + limit)], max_chars)


def around(chunks: Iterable[bytes], anchors: Iterable[int], context: int, max_chars: int) -> RowPage:
    """Read the rows named, 1-based, with `context` rows on each side of each; what overlaps or touches is merged."""
    named = tuple(sorted(set(anchors)))
    return replace(_taken(chunks, windows(named, context), max_chars), anchors=named)


def windows(anchors: Sequence[int], context: int) -> list[range]:
    """The ranges of rows around ascending anchors, apart from each other."""
    merged: list[range] = []
    for anchor in anchors:
        start, stop = max(1, anchor - context), anchor + context + 1
        if merged and start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, stop)
        else:
            merged.append(range(start, stop))
    return merged


def fit(shown: RowPage, max_chars: int) -> RowPage:
    """The same page under a smaller budget."""
    rows, is_short = _fitting(shown.rows, max_chars)
    return replace(shown, rows=tuple(rows), is_short=shown.is_short or is_short)


def shares(needs: Sequence[int], room: int) -> list[int]:
    """Share `room` fairly: who needs less than an equal part gets it, and what that leaves goes to the others."""
    given = [0] * len(needs)
    left = max(0, room)
    for rank, index in enumerate(sorted(range(len(needs)), key=lambda index: needs[index])):
        given[index] = min(needs[index], left // (len(needs) - rank))
        left -= given[index]
    return given


def _taken(chunks: Iterable[bytes], wanted: Sequence[range], max_chars: int) -> RowPage:
    # A character has at most 4 bytes.
    lines = _Lines(iter(chunks), keep_bytes=4 * (max_chars + EDGE_BYTES))
    rows, is_short = _fitting(_wanted(lines, wanted), max_chars)
    return RowPage(tuple(rows), start=wanted[0].start, total=lines.count_all(), is_short=is_short)


def _wanted(lines: "_Lines", wanted: Sequence[range]) -> Iterator[Row]:
    for window in wanted:
        if not lines.skip_to(window.start):
            return
        for line_no in window:
            raw = lines.next()
            if raw is None:
                return
            yield Row(line_no, raw.decode("utf-8", "replace"))


def _fitting(rows: Iterable[Row], max_chars: int) -> tuple[list[Row], bool]:
    """The first rows that fit, and whether some did not; one that alone does not is cut."""
    fitting: list[Row] = []
    room = max_chars
    for row in rows:
        cost = _cost(row, fitting[-1] if fitting else None)
        if cost > room:
            return fitting or [_cut_to(row, max_chars)], True
        fitting.append(row)
        room -= cost
    return fitting, False


def _cost(row: Row, before: Row | None) -> int:
    cost = len(row.prefix) + len(row.text) + 1
    return cost + row.cut * len(CUT_MARK) + _has_gap(row, before) * (len(GAP) + 1)


def _has_gap(row: Row, before: Row | None) -> bool:
    return before is not None and row.line_no > before.line_no + 1


def _cut_to(row: Row, max_chars: int) -> Row:
    room = max(0, max_chars - _cost(replace(row, text="", cut=True), None))
    return replace(row, text=row.text[:room], rest=(row.text[room:] + row.rest)[:EDGE_BYTES], cut=True)


class _Lines:
    """Walk through the lines of a text that comes in chunks, forwards only, and keep a bounded part of each."""

    def __init__(self, chunks: Iterator[bytes], keep_bytes: int) -> None:
        self._chunks = chunks
        self._keep_bytes = keep_bytes
        self._chunk = b""
        self._at = 0
        self._line_no = 1

    def skip_to(self, line_no: int) -> bool:
        """Move to the first byte of a line that lies ahead; False where the text ends before it."""
        while self._line_no < line_no:
            missing = line_no - self._line_no
            newlines = self._chunk.count(b"\n", self._at)
            if newlines < missing:
                self._line_no += newlines
                if not self._load():
                    return False
                continue
            for _ in range(missing):
                self._at = self._chunk.index(b"\n", self._at) + 1
            self._line_no = line_no
        return True

    def next(self) -> bytes | None:
        """The line here, without its ending, cut at what is kept; None at the end of the text."""
        stop = self._chunk.find(b"\n", self._at)
        if not 0 <= stop - self._at <= self._keep_bytes:
            return self._next_in_parts()
        line = self._chunk[self._at : stop]
        self._at = stop + 1
        self._line_no += 1
        return line.removesuffix(b"\r")

    def _next_in_parts(self) -> bytes | None:
        """As `next`, for a line that reaches over chunks, is the last, or is longer than what is kept."""
        parts: list[bytes] = []
        kept = 0
        while True:
            stop = self._chunk.find(b"\n", self._at)
            end = stop if stop >= 0 else len(self._chunk)
            parts.append(self._chunk[self._at : min(end, self._at + self._keep_bytes - kept)])
            kept += len(parts[-1])
            self._at = end
            if stop >= 0:
                self._at += 1
                self._line_no += 1
                return b"".join(parts).removesuffix(b"\r")
            if not self._load():
                return b"".join(parts).removesuffix(b"\r") if kept else None

    def count_all(self) -> int:
        """Read to the end; the number of lines of the text."""
        while True:
            self._line_no += self._chunk.count(b"\n", self._at)
            self._at = len(self._chunk)
            if not self._load():
                is_open = self._chunk != b"" and not self._chunk.endswith(b"\n")
                return self._line_no - 1 + is_open

    def _load(self) -> bool:
        """Go on to the next chunk; False at the end, where the last one stays."""
        chunk = next(self._chunks, None)
        self._at = len(self._chunk) if chunk is None else 0
        self._chunk = self._chunk if chunk is None else chunk
        return chunk is not None
