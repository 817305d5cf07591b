"""A search in two steps: count every file's matching lines once, then show pages of that one result.

What is kept of a search is small, (path, count, stamp) a file, so that a session can come back for the next page; the
files of a page are scanned again when it is shown.
"""

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from picoclawd import limits
from picoclawd.files.stamps import Stamp
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.contents import Allowance, Large, Text, Trouble
from picoclawd.index.listing import NONE_SKIPPED, Skipped
from picoclawd.index.pattern import SearchPattern
from picoclawd.index.scan import End, FileHits, Row, Want, scan_file, scan_stream
from picoclawd.workspace.excerpt import Lines, Source
from picoclawd.workspace.scope import Place
from picoclawd.workspace.search import FIRST_ROWS, LineHit, Missed, Searcher, Stop, miss

KEPT_MAX = 8  # searches of a session
KEPT_BYTES_MAX = 16 * limits.MIB  # of all of them together
_ENTRY_BYTES = 250  # an entry without its path
WHOLE_MAX_BYTES = 64 * limits.MIB  # a multiline search needs the whole file in memory
UNBOUNDED = 1 << 62


@dataclass(frozen=True, slots=True)
class Job:
    """A file to search for the lines that any of some patterns match."""

    place: Place
    path: bytes
    patterns: tuple[SearchPattern, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A file with matches, as it was when they were counted."""

    job: Job
    count: int
    stamp: Stamp
    first_rows: tuple[int, ...]


@dataclass(slots=True)
class Census:
    """The result of a whole search. Not `complete`: it ended at its deadline, so there may be more."""

    entries: list[Entry] = field(default_factory=list)
    complete: bool = True
    missed: Missed = field(default_factory=Missed)
    skipped: Skipped = NONE_SKIPPED
    consistency: str = "verified"
    starts: list[int] = field(default_factory=list)

    @property
    def files(self) -> int:
        """How many files match."""
        return len(self.entries)

    @property
    def lines(self) -> int:
        """How many lines match."""
        return self.starts[-1] if self.starts else 0

    def close(self) -> None:
        """Number the lines of all files, once they are known."""
        self.starts = list(accumulate((entry.count for entry in self.entries), initial=0))

    @property
    def size_bytes(self) -> int:
        """What it takes to keep, roughly."""
        return sum(len(entry.job.path) + _ENTRY_BYTES for entry in self.entries)


@dataclass(frozen=True, slots=True)
class FileLines:
    """The lines of one file on a page. `changed`: the file is no longer what was counted."""

    job: Job
    lines: tuple[LineHit, ...]
    changed: bool


class Kept:
    """The searches that a session may page through; the least recently used go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[object, Census] = OrderedDict()

    def get(self, key: object) -> Census | None:
        """The search of this key, if it is still kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: object, census: Census) -> None:
        """Keep a search; one that is too large by itself is not kept."""
        self._kept.pop(key, None)
        self._kept[key] = census
        while len(self._kept) > KEPT_MAX or self._bytes() > KEPT_BYTES_MAX:
            self._kept.popitem(last=False)

    def _bytes(self) -> int:
        return sum(census.size_bytes for census in self._kept.values())


class Counter:
    """Counts, and shows pages. One for a workspace."""

    def __init__(self, searcher: Searcher, threads: Threads) -> None:
        self._searcher = searcher
        self._threads = threads

    async def count(self, jobs: Sequence[Job], stop: Stop) -> Census:
        """Search every file to its end; `stop` ends it, with what was counted so far."""
        return await self._threads.run(Lane.SCAN, self._count, jobs, stop)

    async def lines(self, census: Census, offset: int, limit: int, context: int, stop: Stop) -> list[FileLines]:
        """The matching lines `offset` to `offset + limit` of a census, with `context` lines around each."""
        return await self._threads.run(Lane.SCAN, self._lines, census, offset, limit, context, stop)

    def _count(self, jobs: Iterable[Job], stop: Stop) -> Census:
        census = Census()
        for job in jobs:
            if stop():
                census.complete = False
                break
            counted = self._scan(job, Want(rows=FIRST_ROWS), census.missed, stop)
            if counted is None:
                continue
            hits, stamp, _lines = counted
            census.complete = census.complete and hits.end is not End.STOPPED
            if hits.count:
                census.entries.append(Entry(job, hits.count, stamp, tuple(row.line_no for row in hits.rows)))
        census.close()
        return census

    def _lines(self, census: Census, offset: int, limit: int, context: int, stop: Stop) -> list[FileLines]:
        shown: list[FileLines] = []
        for entry, first, last in _on_page(census, offset, limit):
            counted = self._scan(entry.job, Want(), Missed(), stop)
            if counted is None:
                shown.append(FileLines(entry.job, (), changed=True))
                continue
            hits, stamp, lines = counted
            read = tuple(_read(lines, hits.rows[first:last], hits.rows, context))
            shown.append(FileLines(entry.job, read, changed=stamp != entry.stamp))
        return shown

    def _scan(self, job: Job, want: Want, missed: Missed, stop: Stop) -> tuple[FileHits, Stamp, Lines] | None:
        """Scan one file for all its patterns; None where it has no text. What is missed is counted."""
        found = self._searcher.text(job.place, job.path, Allowance(UNBOUNDED, UNBOUNDED))
        match found:
            case Trouble():
                miss(missed, found)
                return None
            case Text(data, encoding, stamp):
                if encoding is None:
                    missed.binary += 1
                    return None
                each = [scan_file(pattern, data, _one(job, want), stop, encoding) for pattern in job.patterns]
                lines = Lines(Source.of_bytes(data))
            case Large(fd, stamp):
                try:
                    data, each = _scan_large(job, fd, stamp, _one(job, want), missed, stop)
                except OSError:
                    missed.unreadable += 1
                    return None
                finally:
                    os.close(fd)
                if not each:
                    return None
                lines = Lines(Source.of_bytes(data))
        hits = _united(each, want)
        missed.truncated_lines += hits.truncated_lines
        return hits, stamp, lines


def _one(job: Job, want: Want) -> Want:
    """Of several patterns every row is needed: only then can it be told which lines they share."""
    return want if len(job.patterns) == 1 else Want()


def _scan_large(
    job: Job, fd: int, stamp: Stamp, want: Want, missed: Missed, stop: Stop
) -> tuple[bytes, list[FileHits]]:
    """Scan a large file: whole where it fits or must, else as a stream, of which no line can be shown."""
    if stamp.size <= WHOLE_MAX_BYTES:
        with open(fd, "rb", closefd=False) as file:
            data = file.read()
        each = [scan_file(pattern, data, want, stop) for pattern in job.patterns]
    elif any(pattern.multiline for pattern in job.patterns):
        missed.over_budget += 1
        return b"", []
    else:
        data, each = b"", []
        for pattern in job.patterns:
            os.lseek(fd, 0, os.SEEK_SET)
            with open(fd, "rb", closefd=False) as file:
                each.append(scan_stream(pattern, file.read, want, stop))
    if any(hits.end is End.BINARY for hits in each):
        missed.binary += 1
        return b"", []
    return data, each


def _united(each: list[FileHits], want: Want) -> FileHits:
    """The lines that any of several scans of one file found."""
    if len(each) == 1:
        return each[0]
    by_line: dict[int, Row] = {row.line_no: row for hits in reversed(each) for row in hits.rows}
    rows = tuple(by_line[line_no] for line_no in sorted(by_line))
    end = End.STOPPED if any(hits.end is End.STOPPED for hits in each) else End.COMPLETE
    return FileHits(len(rows), rows[: want.rows], end, max(hits.truncated_lines for hits in each))


def _on_page(census: Census, offset: int, limit: int) -> Iterator[tuple[Entry, int, int]]:
    """The files that have lines on a page, and which of their matching lines these are."""
    for entry, start in zip(census.entries, census.starts, strict=False):
        first, last = max(offset - start, 0), min(offset + limit - start, entry.count)
        if first < last:
            yield entry, first, last


def _read(lines: Lines, page: Sequence[Row], rows: Sequence[Row], context: int) -> Iterator[LineHit]:
    """The matching lines of a page, and those around them. A neighbour that matches too, but is of another page, is
    shown as context."""
    on_page = {row.line_no for row in page}
    if not context:
        for row in page:
            text, at = lines.excerpt(row.start, row.end, row.match_start)
            yield LineHit(row.line_no, text, (row.match_start - at, row.match_end - at))
        return
    for block in lines.blocks(page, context):
        for line_no, text, match in block():
            yield LineHit(line_no, text, match if line_no in on_page else None)
