"""The texts of the workspace for searching: joined in bundles where they are settled, singly in `Contents` where not,
and only their trigrams, in columns, where there is no room for more.

A change kills a file in its group, the next read keeps it singly if there is room, and `join` puts what is kept singly
into bundles again, and makes bundles with many dead files anew; `note` does so for columns. Nothing here is the truth:
`select` asks the disk where it is told to, as `Contents.text` always does.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from picoclawd.index.bundles import BUNDLE_BYTES, Bundle, Joinable, joinable, joinables, pack
from picoclawd.index.columns import COLUMN_BYTES, Column
from picoclawd.index.contents import Allowance, Contents, ContentsStatistics, Large, Text, Trouble
from picoclawd.index.groups import Group
from picoclawd.index.matrix import Matrix
from picoclawd.index.noting import Noting
from picoclawd.index.pathblob import order_key
from picoclawd.index.places import Cover, Part, Places
from picoclawd.index.requirements import Query
from picoclawd.index.trust import Facts, Trust

_FILE_BYTES = 300  # of a joined file: its path, its facts, its place
JOIN_BYTES = 4 * BUNDLE_BYTES  # kept singly: below that, joining makes bundles too small
_DEAD_SHARE = 4  # a bundle with a fourth of its files dead is made anew


class Selection(msgspec.Struct, frozen=True):
    """Where to look for a pattern: the files of `parts`, and those of `alone`. Of all others `binary` ones have no
    text (`documents` of them are of a kind that read_files can read), and the rest has no match."""

    parts: list[Part]
    alone: list[bytes]
    binary: list[bytes]
    documents: int


@dataclass(slots=True)
class Loaded:
    """A column's files that were read for one search: joined, as far as they can be, and those to be searched alone."""

    bundle: Bundle
    alone: list[bytes]


class Corpus:
    """All texts that are kept, and the trigrams of all. Safe between threads; blocks. One thread at a time joins,
    notes and indexes. `new_matrix` is called when there is something to index; without it nothing is."""

    def __init__(
        self,
        root_fd: int,
        contents: Contents,
        trust: Trust,
        new_matrix: Callable[[], Matrix] | None = None,
        bundle_bytes: int = BUNDLE_BYTES,
        join_bytes: int = JOIN_BYTES,
        column_bytes: int = COLUMN_BYTES,
    ) -> None:
        self._root_fd = root_fd
        self._contents = contents
        self._trust = trust
        self._new_matrix = new_matrix
        self._bundle_bytes = bundle_bytes
        self._join_bytes = join_bytes
        self._matrix: Matrix | None = None
        self._places = Places()
        self._noting = Noting(contents, self._places, column_bytes)

    def text(self, relative: bytes, allowance: Allowance) -> Text | Large | Trouble:
        """The text of a file of the workspace as it is now; see `Contents.text`."""
        place = self._places.find(relative)
        if place is not None:
            group, index = place
            found = self._held(group, index)
            if found is not None:
                if self._is_current(relative, group.facts[index]):
                    return found
                self.forget(relative)
        return self._contents.text(relative, allowance)

    def _held(self, group: Group, index: int) -> Text | None:
        """What is held of a file in its group, if that tells all of its text."""
        match group:
            case Bundle():
                return Text(group.text_of(index), group.encoding, group.facts[index], trusted=True)
            case Column() if index in group.binary:
                return Text(b"", None, group.facts[index], True, index in group.documents)
            case _:
                return None

    def has(self, relative: bytes) -> bool:
        """Whether a file is known without reading it, by a text that is kept, fresh or not, or as a binary one."""
        place = self._places.find(relative)
        return self._contents.has(relative) or (place is not None and self._held(*place) is not None)

    def forget(self, relative: bytes) -> None:
        """Drop what is known of a file."""
        self._places.forget(relative)
        self._contents.forget(relative)

    def recheck(self, relative: bytes) -> bool:
        """Follow a hint that a file changed: forget it unless a stat says otherwise. True where it changed."""
        self._places.touch(relative)
        place = self._places.find(relative)
        if place is None:
            return self._contents.recheck(relative)
        if self._is_current(relative, place[0].facts[place[1]]):
            return False
        self.forget(relative)
        return True

    def retain(self, relatives: Iterable[bytes]) -> None:
        """Drop what is known of all files but these."""
        kept = frozenset(relatives)
        for relative in [each for each in self._places.paths() if each not in kept]:
            self.forget(relative)
        self._contents.retain(kept)

    def distrust(self) -> None:
        """Drop everything: the clock was set, so stamps prove nothing."""
        for group in self._places.clear():
            self._release(group)
        self._contents.distrust()

    def join(self) -> None:
        """Put what is kept singly into bundles, if that is worth it, and make anew those with many dead files."""
        bundles = [group for group in self._places.groups() if isinstance(group, Bundle)]
        stale = [bundle for bundle in bundles if bundle.dead * _DEAD_SHARE > bundle.files]
        if not stale and self._contents.loose_bytes() < self._join_bytes:
            return
        self._places.begin()
        texts = [*self._loose(), *(each for bundle in stale for each in self._living(bundle))]
        texts.sort(key=lambda each: order_key(each.path))
        for bundle in pack(texts, self._bundle_bytes):
            self._places.take_in(bundle, self._places.number())
            self._contents.give_up(bundle.paths, _cost(bundle))
        for bundle in stale:
            if self._places.drop(bundle):
                self._release(bundle)

    def _loose(self) -> Iterable[Joinable]:
        """What is kept singly and can be joined. A hint may have come between a read and the keeping: so ask again."""
        for path, found in self._contents.settled():
            text = None if found.encoding is None else joinable(found.data, found.encoding)
            if text is not None and self._is_current(path, found.facts):
                yield Joinable(path, text, found.facts)

    def _living(self, bundle: Bundle) -> Iterable[Joinable]:
        return (Joinable(bundle.paths[i], bundle.text_of(i), bundle.facts[i]) for i in list(bundle.living()))

    def index_trigrams(self, stop: Callable[[], bool]) -> bool:
        """Put the trigrams of bundles that lack them into the matrix; True once all are in."""
        matrix = self._a_matrix()
        if matrix is None:
            return False
        for group in self._places.groups():
            if not isinstance(group, Bundle) or group.is_indexed:
                continue
            if stop():
                return False
            matrix.reset(group.number)
            matrix.add(group.number, group.text)
            group.is_indexed = True
        return True

    def start_noting(self, files: Sequence[bytes]) -> int:
        """Begin to note the trigrams of files whose texts are not joined; tell how many these are."""
        return self._noting.start(files)

    def note(self) -> int:
        """Go on with that: some 3 ms, more where a file is large. Tell how many files were looked at, 0 at the end."""
        matrix = self._a_matrix()
        return 0 if matrix is None else self._noting.step(matrix)

    def _a_matrix(self) -> Matrix | None:
        if self._matrix is None and self._new_matrix is not None:
            self._matrix = self._new_matrix()
        return self._matrix

    def select(
        self, files: Sequence[bytes], query: Query, *, verified: bool, stop: Callable[[], bool], key: object = None
    ) -> Selection:
        """Where to look in these files for what a query needs. `key`: see `Places.cover`.

        `verified`: a file is passed over, or searched in memory, only if a stat says that it is what it was; `stop`
        ends that, and then the search is over, too.
        """
        cover = self._places.cover(files, key)
        chosen = self._narrow(cover.parts, query)
        parts, singles = cover.parts, cover.singles
        if verified:
            unread = frozenset(part.group for part in chosen if isinstance(part.group, Column))
            parts, changed = self._check(cover, unread, stop)
            singles = singles + changed
        binary = [path for part in parts for path in _binary(part)]
        documents = sum(_count_documents(part) for part in parts)
        if not verified:
            more = [path for path in singles if self._contents.is_binary(path)]
            documents += sum(map(self._contents.is_document, more))
            binary += more
            singles = [path for path in singles if not self._contents.is_binary(path)]
        groups = frozenset(part.group for part in chosen)
        return Selection([part for part in parts if part.group in groups], singles, binary, documents)

    def _narrow(self, parts: Sequence[Part], query: Query) -> list[Part]:
        """The parts whose columns may hold what a query needs, and those of which this is not known.

        A column may get another group meanwhile: then one of the looks before and after tells.
        """
        matrix = self._matrix
        if matrix is None:
            return list(parts)
        indexed = [part.group.is_indexed for part in parts]
        found = frozenset(matrix.candidates(query))
        holds = self._places.holds
        return [
            part
            for part, is_indexed in zip(parts, indexed, strict=True)
            if part.group.number in found or not is_indexed or not holds(part.group)
        ]

    def _check(
        self, cover: Cover, unread: Collection[Group], stop: Callable[[], bool]
    ) -> tuple[list[Part], list[bytes]]:
        """Ask the disk whether files still are what they were, but for the texts of `unread` groups, which will be
        read; give the parts without those that are not, which are forgotten, and these."""
        parts: list[Part] = []
        changed: list[bytes] = []
        for part in cover.parts:
            gone = self._changed(_binary_part(part) if part.group in unread else part, stop)
            parts.append(part.without(gone) if gone else part)
            changed += [part.group.paths[index] for index in gone]
        for path in changed:
            self.forget(path)
        return parts, changed

    def _changed(self, part: Part, stop: Callable[[], bool]) -> list[int]:
        """The indexes of a part's files that are not what they were."""
        changed: list[int] = []
        if stop() or (part.wanted is not None and not any(part.wanted)):
            return changed
        facts_of, root_fd, stat, wanted = self._trust.facts, self._root_fd, os.stat, part.wanted
        for index, (path, facts) in enumerate(zip(part.group.paths, part.group.facts, strict=True)):
            if wanted is not None and not wanted[index]:
                continue
            try:
                if facts_of(stat(path, dir_fd=root_fd, follow_symlinks=False)) == facts:
                    continue
            except OSError:
                pass
            changed.append(index)
        return changed

    def load(self, part: Part) -> Loaded:
        """Read the files of a column's part that have text, to be searched and thrown away."""
        column = part.group
        alone: list[bytes] = []
        read: list[Joinable] = []
        binary = _binary_indexes(column)
        for index in part.indexes():
            if index in binary:
                continue
            path = column.paths[index]
            found = None if self._contents.has(path) else self._contents.glance(path)
            if found is None:
                alone.append(path)
                continue
            read.append(Joinable(path, *found))
            if found[1] != column.facts[index]:
                self.forget(path)
        joined, others = joinables(read)
        return Loaded(Bundle(joined), alone + others)

    def loose_bytes(self) -> int:
        """How much is kept singly."""
        return self._contents.loose_bytes()

    def read_opened(self, fd: int, allowance: Allowance) -> Text | Large | Trouble:
        """See `Contents.read_opened`."""
        return self._contents.read_opened(fd, allowance)

    def room(self) -> int:
        """How many more bytes of text would be kept."""
        return self._contents.room()

    def statistics(self) -> ContentsStatistics:
        """Count what is kept, joined or not."""
        singly = self._contents.statistics()
        joined = sum(group.files - group.dead for group in self._places.groups() if isinstance(group, Bundle))
        return ContentsStatistics(singly.files + joined, singly.bytes)

    def _is_current(self, relative: bytes, facts: Facts) -> bool:
        try:
            now = os.stat(relative, dir_fd=self._root_fd, follow_symlinks=False)
        except OSError:
            return False
        return self._trust.facts(now) == facts

    def _release(self, group: Group) -> None:
        if isinstance(group, Bundle):
            self._contents.hold(-_cost(group))


def _cost(bundle: Bundle) -> int:
    return len(bundle.text) + _FILE_BYTES * bundle.files


def _binary_indexes(group: Group) -> tuple[int, ...]:
    return group.binary if isinstance(group, Column) else ()


def _binary(part: Part) -> list[bytes]:
    """The files of a part that are known to have no text."""
    return [part.group.paths[index] for index in _binary_indexes(part.group) if part.wants(index)]


def _count_documents(part: Part) -> int:
    return sum(map(part.wants, part.group.documents)) if isinstance(part.group, Column) else 0


def _binary_part(part: Part) -> Part:
    marks = bytearray(part.group.files)
    for index in _binary_indexes(part.group):
        marks[index] = part.wants(index)
    return Part(part.group, marks)
