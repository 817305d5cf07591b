"""Files of which only the trigrams are kept: a search reads them from disk where these say that it has to.

Some 256 KiB of text in path order share a column of the matrix. The stamp of each file is kept as numbers, not as
objects: 78,000 of them take 4 MB.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from struct import Struct, error
from typing import overload

import msgspec

from picoclawd.index.groups import Group
from picoclawd.index.trust import Facts
from picoclawd.limits import KIB

COLUMN_BYTES = 256 * KIB  # a column costs 8 KiB; with larger ones more is read in vain
COLUMN_FILES_MAX = 1024  # of very small files
COLUMNS_MAX = 16_384  # 128 MiB of matrix, for 4 GiB of text: what is beyond is read by every search


class Noted(msgspec.Struct, frozen=True):
    """A file that was read for its trigrams. `is_text`: it is not binary; `is_document`: that, of a known kind."""

    path: bytes
    facts: Facts
    is_text: bool
    is_document: bool = False


class Stamps(Sequence[Facts]):
    """Facts, packed. All are of one length, and of numbers that `packs`."""

    __slots__ = ("_data", "_layout")

    def __init__(self, facts: Sequence[Facts]) -> None:
        self._layout = _layout(len(facts[0]) if facts else 1)
        self._data = b"".join([self._layout.pack(*each) for each in facts])

    def __len__(self) -> int:
        return len(self._data) // self._layout.size

    @overload
    def __getitem__(self, index: int) -> Facts: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Facts]: ...
    def __getitem__(self, index: int | slice) -> Facts | Sequence[Facts]:
        if isinstance(index, slice):
            return list(self)[index]
        return self._layout.unpack_from(self._data, index * self._layout.size)

    def __iter__(self) -> Iterator[Facts]:
        return self._layout.iter_unpack(self._data)


def packs(facts: Facts) -> bool:
    """Whether facts can be kept as 64-bit numbers: an inode of some network file systems cannot."""
    try:
        _layout(len(facts)).pack(*facts)
    except error:
        return False
    return True


@lru_cache(4)
def _layout(numbers: int) -> Struct:
    return Struct(f"={numbers}q")


class Column(Group):
    """Files of which only the trigrams are kept. `size` is how much text these are of, that of dead files too;
    `binary` are the indexes of files that had no text when they were read, `documents` those of them that were of a
    known kind."""

    __slots__ = ("binary", "documents", "size")

    def __init__(self, files: Sequence[Noted], size: int) -> None:
        super().__init__(tuple(each.path for each in files), Stamps([each.facts for each in files]))
        self.binary = tuple(index for index, each in enumerate(files) if not each.is_text)
        self.documents = tuple(index for index, each in enumerate(files) if each.is_document)
        self.size = size
        self.is_indexed = True

    def with_more(self, more: "Column") -> "Column":
        """A column of these files and of others; whether each is alive goes with it."""
        both = Column([*self._noted(), *more._noted()], self.size + more.size)
        both.alive = self.alive + more.alive
        both.dead = self.dead + more.dead
        return both

    def _noted(self) -> Iterator[Noted]:
        is_text = (index not in self.binary for index in range(self.files))
        is_document = (index in self.documents for index in range(self.files))
        return map(Noted, self.paths, self.facts, is_text, is_document)
