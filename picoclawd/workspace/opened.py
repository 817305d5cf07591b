"""A file that is opened to be scanned for several patterns: in memory, or as a stream where it is large."""

import os
from collections.abc import Callable
from typing import Self

from picoclawd import limits
from picoclawd.files import closing
from picoclawd.index.contents import Allowance, Large, Text, Trouble
from picoclawd.index.pattern import Encoding, SearchPattern, encoding_of
from picoclawd.index.scan import End, FileHits, Row, Want, is_binary, scan_file, scan_stream
from picoclawd.index.trust import Facts
from picoclawd.workspace.excerpt import Lines, Source
from picoclawd.workspace.scope import Place
from picoclawd.workspace.search import Missed, Searcher, Sieve, Stop, is_document, miss, miss_binary

WHOLE_MAX_BYTES = 64 * limits.MIB  # a multiline search needs the whole file in memory
_UNBOUNDED = 1 << 62

Patterns = tuple[SearchPattern, ...]
# Makes the sieve of a file's patterns, where the reader may not know of every line.
MakeSieve = Callable[[Patterns], Sieve]


def open_to_scan(searcher: Searcher, place: Place, path: bytes, patterns: Patterns, missed: Missed) -> "Opened | None":
    """Open a file for a `with` block; None where it has no text, which is counted."""
    found = searcher.text(place, path, Allowance(_UNBOUNDED, _UNBOUNDED))
    match found:
        case Text(data, encoding, facts):
            if encoding is not None:
                return _Small(patterns, facts, data, encoding)
            miss_binary(missed, is_document=found.is_document)
        case Trouble():
            miss(missed, found)
        case Large(fd, facts, size):
            opened = _large(patterns, facts, fd, size, missed)
            if not isinstance(opened, _Stream):
                closing.close(fd)
            return opened
    return None


def _large(patterns: Patterns, facts: Facts, fd: int, size: int, missed: Missed) -> "Opened | None":
    """A large file: a stream, or whole where a match may span its lines and it is not too large for that."""
    try:
        if is_binary(os.pread(fd, limits.BINARY_SNIFF_BYTES, 0)):
            miss_binary(missed, is_document=is_document(fd))
            return None
        if not any(pattern.multiline for pattern in patterns):
            return _Stream(patterns, facts, fd, size)
        if size > WHOLE_MAX_BYTES:
            missed.over_budget += 1
            return None
        with open(fd, "rb", closefd=False) as file:
            data = file.read()
    except OSError:
        missed.unreadable += 1
        return None
    return _Small(patterns, facts, data, encoding_of(data))


class Opened:
    """A file to scan for all its patterns, to be closed by its `with` block."""

    def __init__(self, patterns: Patterns, facts: Facts) -> None:
        self.patterns = patterns
        self.facts = facts

    @property
    def lines(self) -> Lines:
        """The file's lines."""
        return Lines(self.source())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def scan(self, want: Want, make_sieve: MakeSieve | None, missed: Missed, stop: Stop) -> FileHits:
        """Scan for the lines that any pattern matches. Of several, or with a sieve, every row is needed: only then
        can it be told which lines they share, or which are kept."""
        plain = len(self.patterns) == 1 and make_sieve is None
        try:
            hits = _united([self.one(pattern, want if plain else Want(), stop) for pattern in self.patterns])
            rows = hits.rows if make_sieve is None else make_sieve(self.patterns)(hits.rows, self.lines, stop)
        except OSError:
            missed.unreadable += 1
            return FileHits(0, (), End.COMPLETE)
        missed.truncated_lines += hits.truncated_lines
        if plain:
            return hits
        missed.redacted += len(hits.rows) - len(rows)
        return FileHits(len(rows), rows[: want.rows], End.STOPPED if stop() else hits.end)

    def source(self) -> Source:
        """Where the file's bytes are."""
        raise NotImplementedError

    def one(self, pattern: SearchPattern, want: Want, stop: Stop) -> FileHits:
        """Scan for one pattern."""
        raise NotImplementedError


class _Small(Opened):
    """A file in memory."""

    def __init__(self, patterns: Patterns, facts: Facts, data: bytes, encoding: Encoding) -> None:
        super().__init__(patterns, facts)
        self._data = data
        self._encoding = encoding

    def source(self) -> Source:
        return Source.of_bytes(self._data)

    def one(self, pattern: SearchPattern, want: Want, stop: Stop) -> FileHits:
        if pattern.literal and pattern.literal not in self._data:
            return FileHits(0, (), End.COMPLETE)
        return scan_file(pattern, self._data, want, stop, self._encoding)


class _Stream(Opened):
    """A large file on disk, whose descriptor this owns."""

    def __init__(self, patterns: Patterns, facts: Facts, fd: int, size: int) -> None:
        super().__init__(patterns, facts)
        self._fd = fd
        self._size = size

    def source(self) -> Source:
        return Source.of_file(self._fd, self._size)

    def __exit__(self, *_: object) -> None:
        closing.close(self._fd)

    def one(self, pattern: SearchPattern, want: Want, stop: Stop) -> FileHits:
        os.lseek(self._fd, 0, os.SEEK_SET)
        with open(self._fd, "rb", closefd=False) as file:
            return scan_stream(pattern, file.read, want, stop)


def _united(each: list[FileHits]) -> FileHits:
    """The lines that any of several scans of one file found."""
    if len(each) == 1:
        return each[0]
    by_line: dict[int, Row] = {row.line_no: row for hits in reversed(each) for row in hits.rows}
    rows = tuple(by_line[line_no] for line_no in sorted(by_line))
    end = End.STOPPED if any(hits.end is End.STOPPED for hits in each) else End.COMPLETE
    return FileHits(len(rows), rows, end, max(hits.truncated_lines for hits in each))
