"""Which group holds a file, if any: the one place where files come into groups and leave them.

A group is made of what was read some time ago, while hints and own writes go on. So whoever makes one says `begin`
before the first look at a file, and what is touched from then on does not come in with it.
"""

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from picoclawd.index.columns import Column
from picoclawd.index.groups import Group

_COVERS_MAX = 4  # each is as large as the tree has files


class Part(msgspec.Struct, frozen=True):
    """What a search wants of one group, as that was when the search began. `wanted` marks its files, None for all."""

    group: Group
    wanted: bytearray | None

    def wants(self, index: int) -> bool:
        """Whether a file of the group is to be searched."""
        return self.wanted is None or bool(self.wanted[index])

    def indexes(self) -> Iterator[int]:
        """The indexes of the files to be searched."""
        return (index for index in range(self.group.files) if self.wants(index))

    def without(self, indexes: Collection[int]) -> "Part":
        """The same without some files."""
        wanted = bytearray(b"\1" * self.group.files) if self.wanted is None else bytearray(self.wanted)
        for index in indexes:
            wanted[index] = 0
        return Part(self.group, wanted)


@dataclass(frozen=True, slots=True)
class Cover:
    """Some files, as far as they are in groups, and those that must be looked at alone. Not to be changed."""

    parts: list[Part] = field(default_factory=list)
    singles: list[bytes] = field(default_factory=list)


class Places:
    """All groups, and where each file is. Safe between threads; one at a time may make groups.

    `generation` changes whenever a file comes into a group or dies in one.
    """

    def __init__(self) -> None:
        self.generation = 0
        self._lock = threading.Lock()
        self._groups: dict[int, Group] = {}
        self._places: dict[bytes, tuple[Group, int]] = {}
        self._free: list[int] = []
        self._numbers = 0
        self._touched: set[bytes] = set()
        self._making = False
        self._all_touched = False
        self._covers: dict[object, tuple[int, Cover]] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def find(self, path: bytes) -> tuple[Group, int] | None:
        """The group that holds a file, and where in it."""
        return self._places.get(path)

    def paths(self) -> list[bytes]:
        """All files that are in a group."""
        return list(self._places)

    def groups(self) -> list[Group]:
        """All groups."""
        return list(self._groups.values())

    def holds(self, group: Group) -> bool:
        """Whether a group is still in use, and so its column its own."""
        return self._groups.get(group.number) is group

    def begin(self) -> None:
        """A group is about to be made."""
        with self._lock:
            self._touched.clear()
            self._making, self._all_touched = True, False

    def number(self) -> int:
        """A number for a new group; its column may hold what an older group has left."""
        with self._lock:
            if self._free:
                return self._free.pop()
            self._numbers += 1
            return self._numbers - 1

    def take_in(self, group: Group, number: int) -> None:
        """Make a group the place of its living files, but for those touched since `begin`."""
        with self._lock:
            group.number = number
            self._hold(group)

    def extend(self, column: Column, more: Column) -> Column | None:
        """Make one column of two, the trigrams of both being in that of the first; None where that was dropped."""
        with self._lock:
            if not self.holds(column):
                return None
            both = column.with_more(more)
            both.number = column.number
            self._hold(both)
            return both

    def touch(self, path: bytes) -> None:
        """A file may have changed: a group that is being made will not hold it."""
        with self._lock:
            if self._making:
                self._touched.add(path)

    def forget(self, path: bytes) -> None:
        """Hold a file no more, also not in a group that is being made."""
        with self._lock:
            if self._making:
                self._touched.add(path)
            self._kill(path)

    def drop(self, group: Group) -> bool:
        """Give up a group; files that live there are in no group then. False where it was given up before."""
        with self._lock:
            return self._drop(group)

    def clear(self) -> list[Group]:
        """Give up all groups, also one that is being made; tell which there were."""
        with self._lock:
            self._all_touched = True
            gone = list(self._groups.values())
            for group in gone:
                self._drop(group)
            return gone

    def cover(self, files: Sequence[bytes], key: object = None) -> Cover:
        """Where these files are. `key`, where given, stands for the files: the answer is kept by it."""
        generation = self.generation
        if key is None:
            return self._cover(files)
        known = self._covers.get(key)
        if known is None or known[0] != generation:
            known = self._covers[key] = generation, self._cover(files)
            if len(self._covers) > _COVERS_MAX:
                self._covers.pop(next(iter(self._covers)), None)
        return known[1]

    def _cover(self, files: Sequence[bytes]) -> Cover:
        marks: dict[Group, bytearray] = {}
        singles: list[bytes] = []
        places = self._places
        for path in files:
            place = places.get(path)
            if place is None:
                singles.append(path)
                continue
            group, index = place
            wanted = marks.get(group)
            if wanted is None:
                wanted = marks[group] = bytearray(group.files)
            wanted[index] = 1
        return Cover([Part(group, None if all(wanted) else wanted) for group, wanted in marks.items()], singles)

    def _hold(self, group: Group) -> None:
        self._groups[group.number] = group
        for index in list(group.living()):
            path = group.paths[index]
            known = self._places.get(path)
            if self._all_touched or path in self._touched:
                group.kill(index)
                if known is not None and known[0].number == group.number:  # the column that this one goes on from
                    self._kill(path)
                continue
            if known is not None:
                known[0].kill(known[1])
            self._places[path] = (group, index)
        self.generation += 1

    def _kill(self, path: bytes) -> None:
        place = self._places.pop(path, None)
        if place is not None:
            place[0].kill(place[1])
            self.generation += 1

    def _drop(self, group: Group) -> bool:
        if not self.holds(group):
            return False
        del self._groups[group.number]
        self._free.append(group.number)
        for path in group.paths:
            place = self._places.get(path)
            if place is not None and place[0] is group:
                self._kill(path)
        self.generation += 1
        return True
