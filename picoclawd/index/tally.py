"""Count a pattern's matching lines in groups of files: in memory, or read from disk for this one search."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from picoclawd.index.anchors import choose, is_dense
from picoclawd.index.bundles import Bundle
from picoclawd.index.columns import Column
from picoclawd.index.corpus import Corpus
from picoclawd.index.pattern import SearchPattern
from picoclawd.index.places import Part
from picoclawd.index.trust import Facts
from picoclawd.limits import KIB

_SAMPLES = 8  # bundles by which a way is chosen
_SAMPLE_BYTES = 16 * KIB  # of each: a hostile pattern is slow on them, too, and nothing can stop that


@dataclass(slots=True)
class Share:
    """What one thread found: of each file with matches its path, their number and its facts; and what is yet to be
    searched alone."""

    found: list[tuple[bytes, int, Facts]] = field(default_factory=list)
    alone: list[bytes] = field(default_factory=list)


class Tally:
    """One count. After `prepare` any number of threads may `run` it: each takes what is next. Blocks."""

    def __init__(self, corpus: Corpus, pattern: SearchPattern, parts: Sequence[Part], stop: Callable[[], bool]) -> None:
        self.pattern = pattern
        self._corpus = corpus
        self._parts = parts
        self._stop = stop
        self._next: Iterator[Part] = iter(parts)
        self._anchors: tuple[SearchPattern, ...] = ()
        self._dense: bytes | None = None

    def prepare(self) -> None:
        """Choose how to search, by samples of what will be."""
        texts = [part.group.text for part in self._parts if isinstance(part.group, Bundle)]
        samples = texts[:: max(1, len(texts) // _SAMPLES)]
        if not samples:
            columns = self._parts[:: max(1, len(self._parts) // _SAMPLES)]
            samples = [self._corpus.load(part).bundle.text for part in columns]
        samples = [_middle(sample) for sample in samples]
        if is_dense(self.pattern, samples):
            self._dense = self.pattern.literal
        self._anchors = choose(self.pattern, samples)

    def run(self) -> Share:
        """Search, until nothing is left or `stop` says so."""
        share = Share()
        for part in self._next:
            if self._stop():
                break
            group = part.group
            if isinstance(group, Column):
                loaded = self._corpus.load(part)
                share.alone += loaded.alone
                self._search(Part(loaded.bundle, None), loaded.bundle, share)
            elif isinstance(group, Bundle):
                self._search(part, group, share)
        return share

    def _search(self, part: Part, bundle: Bundle, share: Share) -> None:
        for index, count in bundle.tally(self._count, self._stop):
            if part.wants(index):
                share.found.append((bundle.paths[index], count, bundle.facts[index]))

    def _count(self, text: bytes, starts: Sequence[int]) -> list[tuple[int, int]]:
        if self._dense is None:
            return self.pattern.tally(text, starts, self._anchors)
        from picoclawd.index.dense import tally_dense  # numpy: the daemon starts without it

        return tally_dense(text, starts, self._dense)


def _middle(text: bytes) -> bytes:
    """A part of a text that does not speak of how files begin."""
    start = max(0, len(text) - _SAMPLE_BYTES) // 2
    return text[start : start + _SAMPLE_BYTES]
