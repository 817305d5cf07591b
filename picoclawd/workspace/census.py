"""A search in two steps: count every file's matching lines once, then show pages of that one result.

What is kept of a search is small, path, count and the facts of its stat for a file, so that a session can come back
for the next page; the files of a page are scanned again when it is shown.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import msgspec
import trio
from msgspec.structs import replace

from picoclawd import limits
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.corpus import Corpus, Selection
from picoclawd.index.listing import NONE_SKIPPED, Skipped
from picoclawd.index.literals import requirement
from picoclawd.index.pathblob import order_key
from picoclawd.index.pattern import SearchPattern
from picoclawd.index.requirements import trigram_query
from picoclawd.index.scan import End, Row, Want
from picoclawd.index.tally import Tally
from picoclawd.index.trust import Facts
from picoclawd.workspace.excerpt import Lines
from picoclawd.workspace.opened import MakeSieve, Opened, Patterns, open_to_scan
from picoclawd.workspace.scope import Candidates, Consistency, Place
from picoclawd.workspace.search import LineHit, Missed, Searcher, Stop

FIRST_ROWS = 5  # row numbers that a file's entry names
KEPT_MAX = 8  # searches of a session
KEPT_BYTES_MAX = 16 * limits.MIB  # of all of them together
_SHARES = 2  # threads that search at once; the lane has as many
_ENTRY_BYTES = 250  # an entry without its path


class Job(msgspec.Struct, frozen=True):
    """A file to search for the lines that any of some patterns match."""

    place: Place
    path: bytes
    patterns: Patterns


class Entry(msgspec.Struct, frozen=True):
    """A file with matches, as it was when they were counted. `first_rows` is None where they were not looked for."""

    job: Job
    count: int
    facts: Facts
    first_rows: tuple[int, ...] | None


@dataclass(slots=True)
class Census:
    """The result of a whole search. Not `complete`: it ended at its deadline, so there may be more."""

    entries: list[Entry] = field(default_factory=list)
    complete: bool = True
    missed: Missed = field(default_factory=Missed)
    skipped: Skipped = NONE_SKIPPED
    consistency: Consistency = "verified"
    degraded: str | None = None
    make_sieve: MakeSieve | None = None
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


class FileLines(msgspec.Struct, frozen=True):
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
        """Keep a search; one that is too large by itself is not kept, and costs no other its place."""
        self._kept.pop(key, None)
        if census.size_bytes > KEPT_BYTES_MAX:
            return
        self._kept[key] = census
        while len(self._kept) > KEPT_MAX or self._bytes() > KEPT_BYTES_MAX:
            self._kept.popitem(last=False)

    def _bytes(self) -> int:
        return sum(census.size_bytes for census in self._kept.values())


class Counter:
    """Counts, and shows pages. One for a workspace."""

    def __init__(self, searcher: Searcher, corpus: Corpus, threads: Threads) -> None:
        self._searcher = searcher
        self._corpus = corpus
        self._threads = threads

    async def count(self, jobs: Sequence[Job], stop: Stop, make_sieve: MakeSieve | None = None) -> Census:
        """Search every file to its end; `stop` ends it, with what was counted so far."""
        return await self._threads.run(Lane.SCAN, self._count, jobs, stop, make_sieve)

    async def count_all(self, candidates: Candidates, pattern: SearchPattern, stop: Stop) -> Census:
        """The same for one pattern over many files of the workspace: joined texts are searched as one.

        Files that only their trigrams speak of are not opened. With `verified` candidates each is asked of the disk
        first, with `watched` ones the watcher's word counts.
        """
        selection = await self._threads.run(Lane.SCAN, self._select, candidates, pattern, stop)
        jobs = [Job(candidates.place, path, (pattern,)) for path in selection.alone]
        tally = Tally(self._corpus, pattern, selection.parts, stop)
        await self._threads.run(Lane.SCAN, tally.prepare)
        found: list[Census] = []

        async def search(jobs: Sequence[Job]) -> None:
            found.append(await self._threads.run(Lane.SCAN, self._share, candidates.place, tally, jobs, stop))

        async with trio.open_nursery() as nursery:
            for first in range(_SHARES):
                nursery.start_soon(search, jobs[first::_SHARES])
        census = _united(found)
        census.missed.binary += len(selection.binary) - selection.documents
        census.missed.documents += selection.documents
        return census

    def _select(self, candidates: Candidates, pattern: SearchPattern, stop: Stop) -> Selection:
        query = trigram_query(requirement(pattern.source))
        verified = candidates.consistency == "verified"
        return self._corpus.select(candidates.files, query, verified=verified, stop=stop, key=candidates.key)

    def _share(self, place: Place, tally: Tally, jobs: Sequence[Job], stop: Stop) -> Census:
        """One thread's share of a search: files alone, then groups of files, while there are any."""
        patterns = (tally.pattern,)
        census = self._count(jobs, stop, None)
        share = tally.run()
        census.entries += [Entry(Job(place, path, patterns), count, facts, None) for path, count, facts in share.found]
        rest = self._count([Job(place, path, patterns) for path in share.alone], stop, None)
        census = _united((census, rest))
        census.complete = census.complete and not stop()
        return census

    async def filled(self, entries: Sequence[Entry], stop: Stop) -> list[Entry]:
        """The same entries, all with their first rows."""
        if all(entry.first_rows is not None for entry in entries):
            return list(entries)
        return await self._threads.run(Lane.SCAN, self._filled, entries, stop)

    def _filled(self, entries: Sequence[Entry], stop: Stop) -> list[Entry]:
        return [entry if entry.first_rows is not None else self._with_rows(entry, stop) for entry in entries]

    def _with_rows(self, entry: Entry, stop: Stop) -> Entry:
        file = self._open(entry.job, Missed())
        if file is None:
            return replace(entry, first_rows=())
        with file:
            rows = file.scan(Want(rows=FIRST_ROWS, lines=FIRST_ROWS), None, Missed(), stop).rows
        return replace(entry, first_rows=tuple(row.line_no for row in rows))

    async def lines(self, census: Census, offset: int, limit: int, context: int, stop: Stop) -> list[FileLines]:
        """The matching lines `offset` to `offset + limit` of a census, with `context` lines around each."""
        return await self._threads.run(Lane.SCAN, self._lines, census, offset, limit, context, stop)

    async def has_changed(self, entries: Sequence[Entry], stop: Stop) -> bool:
        """Whether any of these files is no longer what was counted."""
        return await self._threads.run(Lane.SCAN, self._has_changed, entries, stop)

    def _count(self, jobs: Iterable[Job], stop: Stop, make_sieve: MakeSieve | None) -> Census:
        census = Census(make_sieve=make_sieve)
        want = Want(rows=FIRST_ROWS)
        for job in jobs:
            if stop():
                census.complete = False
                break
            file = self._open(job, census.missed)
            if file is None:
                continue
            with file:
                hits = file.scan(want, make_sieve, census.missed, stop)
            census.complete = census.complete and hits.end is not End.STOPPED
            if hits.count:
                census.entries.append(Entry(job, hits.count, file.facts, tuple(row.line_no for row in hits.rows)))
        census.close()
        return census

    def _lines(self, census: Census, offset: int, limit: int, context: int, stop: Stop) -> list[FileLines]:
        shown: list[FileLines] = []
        for entry, first, last in _on_page(census, offset, limit):
            missed = Missed()
            file = self._open(entry.job, missed)
            if file is None:
                shown.append(FileLines(entry.job, (), changed=True))
                continue
            with file:
                rows = file.scan(Want(rows=last, lines=last), census.make_sieve, missed, stop).rows[first:last]
                read = tuple(_read(file.lines, rows, context))
                shown.append(FileLines(entry.job, read, changed=file.facts != entry.facts))
        return shown

    def _open(self, job: Job, missed: Missed) -> Opened | None:
        return open_to_scan(self._searcher, job.place, job.path, job.patterns, missed)

    def _has_changed(self, entries: Sequence[Entry], stop: Stop) -> bool:
        for entry in entries:
            if stop():
                break
            file = self._open(entry.job, Missed())
            if file is None:
                return True
            with file:
                if file.facts != entry.facts:
                    return True
        return False


def _united(shares: Iterable[Census]) -> Census:
    """The result of a search of which each thread did a share."""
    census = Census()
    for share in shares:
        census.entries += share.entries
        census.complete = census.complete and share.complete
        census.missed.add(share.missed)
    census.entries.sort(key=lambda entry: order_key(entry.job.path))
    census.close()
    return census


def _on_page(census: Census, offset: int, limit: int) -> Iterator[tuple[Entry, int, int]]:
    """The files that have lines on a page, and which of their matching lines these are."""
    index = max(0, bisect_right(census.starts, offset) - 1)
    for entry, start in zip(census.entries[index:], census.starts[index:], strict=False):
        if start >= offset + limit:
            break
        first, last = max(offset - start, 0), min(offset + limit - start, entry.count)
        if first < last:
            yield entry, first, last


def _read(lines: Lines, page: Sequence[Row], context: int) -> Iterator[LineHit]:
    """The matching lines of a page, and those around them. A neighbour that matches too, but is of another page, is
    shown as context."""
    if not context:
        for row in page:
            text, at = lines.excerpt(row.start, row.end, row.match_start)
            yield LineHit(row.line_no, text, (row.match_start - at, row.match_end - at))
        return
    for block in lines.blocks(page, context):
        for line_no, text, match in block():
            yield LineHit(line_no, text, match)
