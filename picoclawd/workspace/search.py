"""Search the texts of candidates, file after file in their order, and keep one page of results.

It runs in the scan lane. What is not in the cache is read from disk under the search's own allowance. A search
never fails because one file does: it is counted and passed over.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import partial

import msgspec

from picoclawd import limits
from picoclawd.documents import kinds
from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, paths
from picoclawd.files.policy import Access
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.contents import Allowance, Large, Text, Trouble
from picoclawd.index.corpus import Corpus
from picoclawd.index.pattern import SearchPattern
from picoclawd.index.scan import End, FileHits, Row, Want, scan_file, scan_stream
from picoclawd.index.sifting import sift
from picoclawd.index.trust import Facts
from picoclawd.text.blocks import BLOCK_MAX_LINES
from picoclawd.workspace.excerpt import BlockLine, Lines, Source
from picoclawd.workspace.scope import Candidates, Place

Stop = Callable[[], bool]
# Given matching rows, the file's lines and when to stop, gives the rows that the reader may know of.
Sieve = Callable[[Sequence[Row], Lines, Stop], tuple[Row, ...]]


class Shape(Enum):
    """What one result is."""

    LINES = "lines"
    BLOCKS = "blocks"
    FILES = "files"
    COUNTS = "counts"


class Query(msgspec.Struct, frozen=True):
    """What to look for, and which page of it to keep. `stop_early` ends the search one result after the page.

    `context` is for BLOCKS; `sieve` drops matching lines for a reason of the reader's own, and is slow.
    `compare_at`: see `Outcome`.
    """

    pattern: SearchPattern
    shape: Shape
    offset: int
    limit: int
    stop_early: bool
    context: int = 0
    sieve: Sieve | None = None
    compare_at: int = 0

    @property
    def enough(self) -> int:
        """The number of results after which an early stop knows that there are more."""
        return self.offset + self.limit + 1


class LineHit(msgspec.Struct, frozen=True):
    """One line of a file, or the part of a long one around its match. `match` is the span of the first match in
    `text`, None for context."""

    line_no: int
    text: bytes
    match: tuple[int, int] | None


class Hit(msgspec.Struct, frozen=True):
    """One result: a line, a block of lines, or a file with its count of matching lines."""

    path: bytes
    count: int
    lines: tuple[LineHit, ...] = ()


@dataclass(slots=True)
class Missed:
    """What was not searched, or not in full, and how often."""

    binary: int = 0
    documents: int = 0
    unreadable: int = 0
    special: int = 0
    vanished: int = 0
    over_budget: int = 0
    truncated_lines: int = 0
    redacted: int = 0

    def add(self, other: "Missed") -> None:
        """Count what another part of the same search missed, too."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(slots=True)
class Outcome:
    """A page of results. `total` is None where the search ended before it knew; not `complete`: it was stopped.

    `seen` is how many files had matches, and a hash over their names and stats; `passed` is that hash when there had
    been as many as `Query.compare_at` says: equal hashes mean that no page before this one would be another now.
    """

    hits: list[Hit] = field(default_factory=list)
    total: int | None = None
    complete: bool = True
    missed: Missed = field(default_factory=Missed)
    seen: tuple[int, int] = (0, 0)
    passed: int | None = None


class Searcher:
    """Searches. One for a workspace."""

    def __init__(self, rooted: Rooted, contents: Corpus, threads: Threads) -> None:
        self._rooted = rooted
        self._contents = contents
        self._threads = threads

    async def search(self, query: Query, candidates: Candidates, allowance: Allowance, stop: Stop) -> Outcome:
        """Search the candidates in their order. `stop` ends it, with what was found so far."""
        return await self._threads.run(Lane.SCAN, self._search, query, candidates, allowance, stop)

    def _search(self, query: Query, candidates: Candidates, allowance: Allowance, stop: Stop) -> Outcome:
        run = _Run(query, stop)
        run.outcome.complete = candidates.complete
        run.outcome.missed.vanished = candidates.vanished
        for path in self._may_match(query, candidates, stop):
            if stop():
                run.outcome.complete = False
                break
            self._search_file(run, candidates.place, path, allowance)
            if run.is_over:
                break
        run.outcome.complete = run.outcome.complete and not stop()
        return run.finish()

    def _may_match(self, query: Query, candidates: Candidates, stop: Stop) -> Iterator[bytes]:
        """The candidates, but for those that a filter proves to hold no match."""
        if not candidates.place.inside or not query.pattern.suits_bundles:
            return iter(candidates.files)
        verified = candidates.consistency == "verified"
        return sift(self._contents, candidates.files, query.pattern, verified=verified, stop=stop)

    def _search_file(self, run: "_Run", place: Place, path: bytes, allowance: Allowance) -> None:
        found = self.text(place, path, allowance)
        match found:
            case Text(data, encoding, facts):
                if encoding is None:
                    miss_binary(run.outcome.missed, is_document=found.is_document)
                elif run.literal is None or run.literal in data:
                    hits = scan_file(run.query.pattern, data, run.want(), run.stop, encoding)
                    if hits.count or hits.truncated_lines or hits.end is End.STOPPED:
                        run.take(path, facts, hits, Lines(Source.of_bytes(data)))
            case Trouble():
                miss(run.outcome.missed, found)
            case Large(fd, facts, size):
                try:
                    _search_large(run, path, facts, fd, size)
                except OSError:
                    run.outcome.missed.unreadable += 1
                finally:
                    closing.close(fd)

    def text(self, place: Place, path: bytes, allowance: Allowance) -> Text | Large | Trouble:
        """The text of a candidate: cached inside the workspace, read anew through a link or outside."""
        is_link = False
        if place.inside:
            found = self._contents.text(path, allowance)
            if found is not Trouble.LINK:
                return found
            is_link = True
        try:
            given = paths.parse(place.absolute(path), (self._rooted.workspace,))
            with self._rooted.open_file(given, Access.READ) as opened:
                return self._contents.read_opened(os.dup(opened.fd), allowance)
        except Fault as fault:
            if is_link:
                return Trouble.LINK
            return Trouble.VANISHED if fault.slug is Slug.NOT_FOUND else Trouble.UNREADABLE
        except OSError:
            return Trouble.UNREADABLE


def _search_large(run: "_Run", path: bytes, facts: Facts, fd: int, size: int) -> None:
    with open(fd, "rb", closefd=False) as stream:
        hits = scan_stream(run.query.pattern, stream.read, run.want(), run.stop)
    if hits.end is End.BINARY:
        miss_binary(run.outcome.missed, is_document=is_document(fd))
    else:
        run.take(path, facts, hits, Lines(Source.of_file(fd, size)))


class _Run:
    """One search as far as it has come. `literal`: a text that holds it nowhere has no match, and `in` is fast."""

    def __init__(self, query: Query, stop: Stop) -> None:
        self.query = query
        self.stop = stop
        self.literal = query.pattern.literal or None
        self.outcome = Outcome()
        self._count = 0
        self._files = 0
        self._hash = 0

    @property
    def is_over(self) -> bool:
        return self.query.stop_early and self._count >= self.query.enough

    def _sees(self, path: bytes, facts: Facts) -> None:
        self._files += 1
        self._hash = hash((self._hash, path, facts))
        if self._files == self.query.compare_at:
            self.outcome.passed = self._hash

    def want(self) -> Want:
        """How much of the next file to look for."""
        query = self.query
        if query.sieve is not None:
            return Want()
        left = max(query.enough - self._count, 0)
        match query.shape:
            case Shape.FILES:
                return Want(rows=0, lines=1)
            case Shape.COUNTS:
                return Want(rows=0)
            case Shape.LINES:
                return Want(rows=left, lines=left if query.stop_early else None)
            case Shape.BLOCKS:
                return Want(rows=left * BLOCK_MAX_LINES if query.stop_early else None)

    def take(self, path: bytes, facts: Facts, hits: FileHits, lines: Lines) -> None:
        """Add what was found in one file."""
        self.outcome.missed.truncated_lines += hits.truncated_lines
        if hits.end is End.STOPPED:
            self.outcome.complete = False
        rows, count = hits.rows, hits.count
        if self.query.sieve is not None:
            rows = self.query.sieve(rows, lines, self.stop)
            self.outcome.missed.redacted += count - len(rows)
            count = len(rows)
            self.outcome.complete = self.outcome.complete and not self.stop()
        if not count:
            return
        self._sees(path, facts)
        match self.query.shape:
            case Shape.FILES | Shape.COUNTS:
                self._add(lambda: Hit(path, count))
            case Shape.LINES:
                after = self._count + count
                for row in rows[: max(0, self.query.enough - self._count)]:
                    self._add(partial(_line_hit, path, lines, row))
                self._count = after
            case Shape.BLOCKS:
                for block in lines.blocks(rows, self.query.context):
                    self._add(partial(_block_hit, path, block))

    def _add(self, make: Callable[[], Hit]) -> None:
        """Count a result, and make it where it is on the page."""
        if self.query.offset <= self._count < self.query.offset + self.query.limit:
            self.outcome.hits.append(make())
        self._count += 1

    def finish(self) -> Outcome:
        outcome = self.outcome
        if outcome.complete and not self.is_over:
            outcome.total = self._count
        outcome.seen = (self._files, self._hash)
        return outcome


def _line_hit(path: bytes, lines: Lines, row: Row) -> Hit:
    text, at = lines.excerpt(row.start, row.end, row.match_start)
    return Hit(path, 1, (LineHit(row.line_no, text, (row.match_start - at, row.match_end - at)),))


def _block_hit(path: bytes, block: Callable[[], tuple[BlockLine, ...]]) -> Hit:
    found = tuple(LineHit(*line) for line in block())
    return Hit(path, len(found), found)


def miss_binary(missed: Missed, *, is_document: bool) -> None:
    """Count a file that has no text, apart where read_files can read it."""
    if is_document:
        missed.documents += 1
    else:
        missed.binary += 1


def is_document(fd: int) -> bool:
    """Whether a binary file is of a kind that read_files can read. Raises: OSError."""
    return kinds.is_readable(os.pread(fd, limits.BINARY_SNIFF_BYTES, 0))


def miss(missed: Missed, trouble: Trouble) -> None:
    """Count a file that was not searched."""
    match trouble:
        case Trouble.VANISHED:
            missed.vanished += 1
        case Trouble.SPECIAL:
            missed.special += 1
        case Trouble.OVER_BUDGET:
            missed.over_budget += 1
        case Trouble.UNREADABLE:
            missed.unreadable += 1
        case Trouble.LINK:
            return  # one that leads to nothing that may be searched is no file
