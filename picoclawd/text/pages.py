"""Cut a page out of a file: by bytes without tearing a character, or by numbered lines under a budget."""

from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from picoclawd.text.lines import BOM, body

# What is read around a page so that a secret cut by its edge is recognised. Longer than any token we know.
EDGE_BYTES = 4096
CUT_MARK = " … [truncated]"
_SKIP_CHUNK_BYTES = 65_536


class BytePage(NamedTuple):
    """`data` stands at `offset`; `before` and `after` are what the file holds around it, at most EDGE_BYTES each."""

    offset: int
    data: bytes
    before: bytes
    after: bytes
    eof: bool
    lossy: bool

    @property
    def end(self) -> int:
        """The offset of the first byte after the page."""
        return self.offset + len(self.data)


def byte_page(window: bytes, window_start: int, total_bytes: int, offset: int, length: int) -> BytePage:
    """Cut at most `length` bytes at `offset` out of a window of the file that reaches EDGE_BYTES beyond both.

    An offset inside a UTF-8 sequence starts at its first byte. A page that would end inside one gives back up to
    3 bytes, but a page shorter than the one character it stands on takes that character whole.
    """
    if offset >= total_bytes:
        return BytePage(total_bytes, b"", window[-EDGE_BYTES:], b"", eof=True, lossy=False)
    start = _sequence_start(window, offset - window_start)
    stop = min(start + length, len(window), total_bytes - window_start)
    if stop < len(window):
        lead = _sequence_start(window, stop)
        stop = lead if lead > start else _sequence_end(window, start)
    data = window[start:stop]
    return BytePage(
        offset=window_start + start,
        data=data,
        before=window[max(0, start - EDGE_BYTES) : start],
        after=window[stop : stop + EDGE_BYTES],
        eof=window_start + stop >= total_bytes,
        lossy=not _is_utf8(data),
    )


def _sequence_start(window: bytes, index: int) -> int:
    """The first byte of the valid UTF-8 sequence that `index` lies inside of; `index` itself outside of one."""
    for back in range(1, 4):
        lead = index - back
        if lead < 0 or index >= len(window):
            return index
        size = _sequence_size(window[lead])
        if size > back and _is_utf8(window[lead : lead + size]):
            return lead
        if not 0x80 <= window[lead] < 0xC0:
            return index
    return index


def _sequence_end(window: bytes, start: int) -> int:
    return start + max(1, _sequence_size(window[start]))


def _sequence_size(lead: int) -> int:
    if lead >= 0xF0:
        return 4 if lead <= 0xF4 else 0
    if lead >= 0xE0:
        return 3
    return 2 if lead >= 0xC2 else 0


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class LineRow:
    """One line as shown. `rest` is what its line holds beyond the cut, at most EDGE_BYTES, not shown."""

    line_no: int
    text: str
    rest: str
    cut: bool


@dataclass(frozen=True, slots=True)
class LinePage:
    """Rows of a page. `file_bytes` is what they take in the file, `output_bytes` what they take in the answer.

    `next_line` is None at the end of the file. `cut_line` is the number of the first line where it alone
    was longer than the whole budget.
    """

    rows: tuple[LineRow, ...]
    start_line: int
    file_bytes: int
    output_bytes: int
    next_line: int | None
    cut_line: int | None
    lossy: bool

    @property
    def end_line(self) -> int:
        """The number of the last line shown; `start_line - 1` where there is none."""
        return self.start_line + len(self.rows) - 1


def line_page(
    source: BinaryIO, start_line: int, max_lines: int, budget_bytes: int, max_line_chars: int
) -> LinePage | None:
    """Read numbered lines from the start of `source`, a file of any size, holding one line at a time.

    The budget counts prefixes (`12|`) and newlines. A line that does not fit is not begun, but the first one is
    cut at the budget. A line over `max_line_chars` is cut there and marked. Returns None where `start_line` lies
    past the end.
    """
    if not _skip_lines(source, start_line):
        return None
    reader = _LineReader(source, keep_bytes=max(4 * max_line_chars, budget_bytes) + EDGE_BYTES)
    rows: list[LineRow] = []
    file_bytes = output_bytes = 0
    cut_line: int | None = None
    lossy = False
    next_line: int | None = None
    while (line := reader.next()) is not None:
        line_no = start_line + len(rows)
        raw, size = line
        if len(rows) == max_lines:
            next_line = line_no
            break
        row, row_bytes = _row(raw, line_no, max_line_chars)
        if output_bytes + row_bytes > budget_bytes:
            if rows:
                next_line = line_no
                break
            row, row_bytes = _cut_to(row, budget_bytes), budget_bytes
            cut_line = line_no
        rows.append(row)
        lossy = lossy or "\ufffd" in row.text
        file_bytes += size
        output_bytes += row_bytes
        if cut_line is not None:
            next_line = line_no + 1 if reader.next() is not None else None
            break
    if start_line > 1 and not rows:
        return None
    return LinePage(tuple(rows), start_line, file_bytes, output_bytes, next_line, cut_line, lossy)


def _row(raw: bytes, line_no: int, max_line_chars: int) -> tuple[LineRow, int]:
    text = body(raw).decode("utf-8", "replace")
    newline = raw.endswith(b"\n")
    cut = len(text) > max_line_chars
    row = LineRow(line_no, text[:max_line_chars], text[max_line_chars:][:EDGE_BYTES], cut)
    shown = len(row.text.encode("utf-8", "replace")) + (len(CUT_MARK.encode()) if cut else 0)
    return row, len(f"{line_no}|") + shown + newline


def _cut_to(row: LineRow, budget_bytes: int) -> LineRow:
    room = max(0, budget_bytes - len(f"{row.line_no}|") - 1)
    text = row.text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    return LineRow(row.line_no, text, (row.text[len(text) :] + row.rest)[:EDGE_BYTES], cut=False)


def _skip_lines(source: BinaryIO, start_line: int) -> bool:
    """Move to the first byte of `start_line`, behind a byte order mark; False where the file ends before it."""
    head = source.read(len(BOM))
    if head != BOM:
        source.seek(0)
    to_skip = start_line - 1
    while to_skip:
        position = source.tell()
        chunk = source.read(_SKIP_CHUNK_BYTES)
        if not chunk:
            return False
        newlines = chunk.count(b"\n")
        if newlines < to_skip:
            to_skip -= newlines
            continue
        index = -1
        for _ in range(to_skip):
            index = chunk.index(b"\n", index + 1)
        source.seek(position + index + 1)
        return True
    return True


class _LineReader:
    """Read line after line, keeping at most `keep_bytes` of each."""

    def __init__(self, source: BinaryIO, keep_bytes: int) -> None:
        self._source = source
        self._keep_bytes = keep_bytes

    def next(self) -> tuple[bytes, int] | None:
        """The next line, cut at `keep_bytes` but with its ending, and its whole size in bytes."""
        raw = self._source.readline(self._keep_bytes)
        if not raw:
            return None
        size = len(raw)
        part = raw
        while not part.endswith(b"\n"):
            part = self._source.readline(_SKIP_CHUNK_BYTES)
            if not part:
                return raw, size
            size += len(part)
        return (raw if part is raw else raw.rstrip(b"\r") + b"\n"), size
