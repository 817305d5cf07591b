"""The texts of the workspace for searching: joined in bundles where they are settled, singly in `Contents` where not.

A file's text is in one of three states: not kept; kept singly, as after a change or a first read; or joined. A change
kills it in its bundle, the next read keeps it singly, and `join` puts what is kept singly into bundles again and makes
bundles with many dead files anew. Nothing here is the truth: `check` asks the disk, as `Contents.text` does.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from picoclawd.index.anchors import choose
from picoclawd.index.bundles import BUNDLE_BYTES, Bundle, Joinable, joinable, pack
from picoclawd.index.contents import Allowance, Contents, ContentsStatistics, Large, Text, Trouble
from picoclawd.index.literals import requirement
from picoclawd.index.pathblob import order_key
from picoclawd.index.pattern import SearchPattern
from picoclawd.index.requirements import Query, trigram_query
from picoclawd.index.trust import Trust

_FILE_BYTES = 300  # of a joined file: its path, its facts, its place
JOIN_BYTES = 4 * BUNDLE_BYTES  # kept singly: below that, joining makes bundles too small
_DEAD_SHARE = 4  # a bundle with a fourth of its files dead is made anew
_COVERS_MAX = 4  # each is as large as the tree has files
_SAMPLES = 8  # bundles by which anchors are judged
_CHUNK = 500  # files looked at between two polls


class Matrix(Protocol):
    """Which bundles hold which trigrams (`trigrams.TrigramMatrix`)."""

    def add(self, column: int, data: bytes) -> None:
        """Note the trigrams of a text."""
        ...

    def reset(self, column: int) -> None:
        """Forget those of a bundle that is no more."""
        ...

    def candidates(self, query: Query) -> Iterable[int]:
        """The columns that may hold what a query needs."""
        ...


@dataclass(slots=True)
class Part:
    """What a search wants of one bundle. `wanted` marks its files, None for all."""

    number: int
    bundle: Bundle
    wanted: bytearray | None

    def wants(self, index: int) -> bool:
        """Whether a file of the bundle is to be searched, and still is what it was."""
        return bool(self.bundle.alive[index]) and (self.wanted is None or bool(self.wanted[index]))


@dataclass(slots=True)
class Cover:
    """Some files, as far as they are joined, and those that must be looked at alone."""

    parts: list[Part] = field(default_factory=list)
    singles: list[bytes] = field(default_factory=list)

    @property
    def numbers(self) -> frozenset[int]:
        """The bundles that hold any of the files."""
        return frozenset(part.number for part in self.parts)


class Corpus:
    """All texts that are kept. Safe between threads; blocks. `new_matrix` is called once there are bundles."""

    def __init__(
        self,
        root_fd: int,
        contents: Contents,
        trust: Trust,
        new_matrix: Callable[[], Matrix] | None = None,
        bundle_bytes: int = BUNDLE_BYTES,
        join_bytes: int = JOIN_BYTES,
    ) -> None:
        self._root_fd = root_fd
        self._contents = contents
        self._trust = trust
        self._new_matrix = new_matrix
        self._bundle_bytes = bundle_bytes
        self._join_bytes = join_bytes
        self._matrix: Matrix | None = None
        self._indexed: set[int] = set()  # bundles whose trigrams are all in the matrix
        self._bundles: dict[int, Bundle] = {}
        self._free: list[int] = []
        self._places: dict[bytes, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._covers: dict[object, tuple[int, Cover]] = {}
        self.generation = 0  # changes whenever a file comes into a bundle or dies in one

    def text(self, relative: bytes, allowance: Allowance) -> Text | Large | Trouble:
        """The text of a file of the workspace as it is now; see `Contents.text`."""
        place = self._places.get(relative)
        if place is not None:
            number, index = place
            bundle = self._bundles.get(number)
            if bundle is not None and bundle.alive[index]:
                if self._is_current(relative, bundle, index):
                    return Text(bundle.text_of(index), bundle.encoding, bundle.facts[index], trusted=True)
                self.forget(relative)
        return self._contents.text(relative, allowance)

    def has(self, relative: bytes) -> bool:
        """Whether a text is kept, fresh or not."""
        return relative in self._places or self._contents.has(relative)

    def forget(self, relative: bytes) -> None:
        """Drop a text."""
        with self._lock:
            place = self._places.pop(relative, None)
            if place is not None and place[0] in self._bundles:
                self._bundles[place[0]].kill(place[1])
                self.generation += 1
        self._contents.forget(relative)

    def recheck(self, relative: bytes) -> bool:
        """Follow a hint that a file changed: forget it unless a stat says otherwise. True where it changed."""
        place = self._places.get(relative)
        if place is None:
            return self._contents.recheck(relative)
        bundle = self._bundles.get(place[0])
        if bundle is not None and bundle.alive[place[1]] and self._is_current(relative, bundle, place[1]):
            return False
        self.forget(relative)
        return True

    def retain(self, relatives: Iterable[bytes]) -> None:
        """Drop every text but those of these files."""
        kept = frozenset(relatives)
        for relative in [each for each in list(self._places) if each not in kept]:
            self.forget(relative)
        self._contents.retain(kept)

    def distrust(self) -> None:
        """Drop everything: the clock was set, so stamps prove nothing."""
        with self._lock:
            for number in list(self._bundles):
                self._drop(number)
            self._places.clear()
            self.generation += 1
        self._contents.distrust()

    def join(self) -> None:
        """Put what is kept singly into bundles, if that is worth it, and make anew those with many dead files."""
        stale = [number for number, each in list(self._bundles.items()) if each.dead * _DEAD_SHARE > each.files]
        loose = self._contents.settled()
        if not stale and sum(len(text.data) for _path, text in loose) < self._join_bytes:
            return
        texts = [
            Joinable(path, text, found.facts)
            for path, found in loose
            if found.encoding is not None and (text := joinable(found.data, found.encoding)) is not None
        ]
        for number in stale:
            bundle = self._bundles[number]
            texts += [Joinable(bundle.paths[i], bundle.text_of(i), bundle.facts[i]) for i in bundle.living()]
        texts.sort(key=lambda each: order_key(each.path))
        for bundle in pack(texts, self._bundle_bytes):
            self._take_in(bundle)
        with self._lock:
            for number in stale:
                self._drop(number)

    def _take_in(self, bundle: Bundle) -> None:
        """Make a bundle the place of its files. Whoever reads meanwhile finds them here or where they were."""
        with self._lock:
            number = self._free.pop() if self._free else len(self._bundles) + len(self._free)
            while number in self._bundles:
                number += 1
            self._bundles[number] = bundle
            for index, path in enumerate(bundle.paths):
                self._places[path] = (number, index)
            self.generation += 1
        self._contents.give_up(bundle.paths, _cost(bundle))

    def index_trigrams(self, stop: Callable[[], bool]) -> bool:
        """Put the trigrams of bundles that lack them into the matrix; True once all are in."""
        if self._new_matrix is None:
            return False
        if self._matrix is None:
            self._matrix = self._new_matrix()
        for number, bundle in list(self._bundles.items()):
            if number in self._indexed:
                continue
            if stop():
                return False
            self._matrix.reset(number)
            self._matrix.add(number, bundle.text)
            self._indexed.add(number)
        return True

    def cover(self, files: Sequence[bytes], key: object = None) -> Cover:
        """Where these files' texts are. `key`, where given, stands for the files: the answer is kept by it."""
        generation = self.generation
        known = self._covers.get(key) if key is not None else None
        if known is None or known[0] != generation:
            known = generation, self._cover(files)
            if key is not None:
                self._covers[key] = known
                if len(self._covers) > _COVERS_MAX:
                    self._covers.pop(next(iter(self._covers)), None)
        return Cover(list(known[1].parts), list(known[1].singles))

    def _cover(self, files: Sequence[bytes]) -> Cover:
        wanted: dict[int, bytearray] = {}
        cover = Cover()
        places, bundles = self._places, self._bundles
        for path in files:
            place = places.get(path)
            if place is None or place[0] not in bundles:
                cover.singles.append(path)
                continue
            marks = wanted.get(place[0])
            if marks is None:
                marks = wanted[place[0]] = bytearray(bundles[place[0]].files)
            marks[place[1]] = 1
        for number, marks in wanted.items():
            bundle = bundles[number]
            cover.parts.append(Part(number, bundle, None if all(marks) else marks))
        return cover

    def searchable(self, files: Sequence[bytes], trusts_hints: bool) -> tuple[list[bytes], int]:
        """Of files that are not joined, those that may have text, and how many are known to have none.

        With `trusts_hints` a file that was binary is believed to be so still.
        """
        if not trusts_hints:
            return list(files), 0
        texts = [path for path in files if not self._contents.is_binary(path)]
        return texts, len(files) - len(texts)

    def check(self, cover: Cover, stop: Callable[[], bool]) -> list[bytes]:
        """Ask the disk whether joined files still are what they were; those that are not are given, and forgotten.

        `stop` ends it: then the search is over, too.
        """
        changed: list[bytes] = []
        looked = 0
        facts_of, root_fd, stat = self._trust.facts, self._root_fd, os.stat
        for part in cover.parts:
            bundle = part.bundle
            for index, path in enumerate(bundle.paths):
                if not part.wants(index):
                    continue
                looked += 1
                if looked % _CHUNK == 0 and stop():
                    break
                try:
                    if facts_of(stat(path, dir_fd=root_fd, follow_symlinks=False)) == bundle.facts[index]:
                        continue
                except OSError:
                    pass
                changed.append(path)
        for path in changed:
            self.forget(path)
        return changed

    def sift(self, files: Sequence[bytes], cover: Cover, pattern: SearchPattern) -> Iterator[bytes]:
        """Those of the files, which `cover` is of, that may match, in their order; a bundle is searched when the first
        of its files comes up."""
        parts = {part.number: part for part in self.narrow(cover, trigram_query(requirement(pattern.source)))}
        alone = frozenset(cover.singles)
        numbers = cover.numbers
        anchors = choose(pattern, [part.bundle.text for part in list(parts.values())[:_SAMPLES]])
        matching: dict[int, frozenset[bytes]] = {}
        for path in files:
            place = None if path in alone else self._places.get(path)
            if place is None:
                yield path
                continue
            part = parts.get(place[0])
            if part is None:
                if place[0] not in numbers:  # it was joined meanwhile
                    yield path
                continue
            if part.bundle.is_large:
                yield path
                continue
            if place[0] not in matching:
                found = part.bundle.tally(pattern, anchors)
                matching[place[0]] = frozenset(part.bundle.paths[index] for index, _count in found)
            if path in matching[place[0]]:
                yield path

    def loose_bytes(self) -> int:
        """How much is kept singly."""
        return self._contents.loose_bytes()

    def split(self, parts: Sequence[Part]) -> tuple[list[Part], list[bytes]]:
        """The parts that may be searched in one call each, and the files of the others."""
        small = [part for part in parts if not part.bundle.is_large]
        large = [part for part in parts if part.bundle.is_large]
        return small, [path for part in large for index, path in enumerate(part.bundle.paths) if part.wants(index)]

    def narrow(self, cover: Cover, query: Query) -> list[Part]:
        """The parts whose bundles may hold what a query needs; all of them while the matrix is not whole."""
        matrix, indexed = self._matrix, self._indexed
        if matrix is None:
            return cover.parts
        found = frozenset(matrix.candidates(query))
        return [part for part in cover.parts if part.number in found or part.number not in indexed]

    def read_opened(self, fd: int, allowance: Allowance) -> Text | Large | Trouble:
        """See `Contents.read_opened`."""
        return self._contents.read_opened(fd, allowance)

    def room(self) -> int:
        """How many more bytes of text would be kept."""
        return self._contents.room()

    def statistics(self) -> ContentsStatistics:
        """Count what is kept, joined or not."""
        singly = self._contents.statistics()
        return ContentsStatistics(singly.files + len(self._places), singly.bytes)

    def _is_current(self, relative: bytes, bundle: Bundle, index: int) -> bool:
        try:
            now = os.stat(relative, dir_fd=self._root_fd, follow_symlinks=False)
        except OSError:
            return False
        return self._trust.facts(now) == bundle.facts[index]

    def _drop(self, number: int) -> None:
        self._contents.hold(-_cost(self._bundles.pop(number)))
        self._indexed.discard(number)
        self._free.append(number)


def _cost(bundle: Bundle) -> int:
    return len(bundle.text) + _FILE_BYTES * bundle.files
