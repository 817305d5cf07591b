"""Which bundles of files may hold a text: a matrix of bits, a row a hash of a trigram, a column a bundle.

Uses numpy, as `dense` does, which takes 0.15 s and 12 MB to import: nothing that the daemon needs to start may import
this module.

A trigram is 3 bytes in a row, A to Z as a to z. A bit says that some trigram of that hash is in the bundle: where it
is missing, none is. Bits are only added, so what says no is right, and what says yes has to be searched.
"""

from collections.abc import Iterator
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from picoclawd.index.requirements import TRIGRAM_MULTIPLIERS, Query
from picoclawd.limits import KIB

_HASHES = 1 << 16
_BLOCK_COLUMNS = 512  # 64 bytes a row, one line of the processor's cache, and 4 MiB: nothing is copied to grow
_BLOCK_ROW_BYTES = _BLOCK_COLUMNS // 8
_CHUNK_BYTES = 256 * KIB  # hashed at once, beside 4 MiB of numbers; smaller ones wait for Python's lock more often
_OVERLAP_BYTES = 2  # a trigram may lie across the border of two chunks

_Bytes: TypeAlias = npt.NDArray[np.uint8]


class TrigramStatistics(msgspec.Struct, frozen=True):
    """The size of a matrix: its columns, and the memory that it takes."""

    columns: int
    bytes: int


class _Lookup(msgspec.Struct, frozen=True):
    """A query whose hashes are indices of rows."""

    rows: npt.NDArray[np.intp]
    choices: "tuple[tuple[_Lookup, ...], ...]"


class TrigramMatrix:
    """The trigrams of any number of columns, numbered from 0; 8 KiB a column, in blocks of 512.

    Blocks. One thread at a time may change it; others may look things up meanwhile, and find of a column that is being
    changed what is there so far.
    """

    def __init__(self) -> None:
        self._blocks: list[_Bytes] = []
        self._columns = 0

    def add(self, column: int, data: bytes) -> None:
        """Add the trigrams of a text to a column, beside what it holds; numbers not used yet become empty columns.

        Takes whole files, or several with a newline between; of parts of a file each must begin with the last 2 bytes
        of the one before. Some 200 MB/s.
        """
        self._grow(column + 1)
        block, byte, bit = self._place(column)
        present = np.zeros(_HASHES, np.bool_)
        for chunk in _chunks(data):
            present[_hashes(chunk).astype(np.intp)] = True  # numpy's own conversion takes twice as long
        column_bytes = block[:, byte]
        column_bytes[np.flatnonzero(present)] |= bit

    def reset(self, column: int) -> None:
        """Empty a column, to be filled anew."""
        is_new = column >= self._columns
        self._grow(column + 1)
        if not is_new:
            block, byte, bit = self._place(column)
            block[:, byte] &= ~bit

    def candidates(self, query: Query) -> list[int]:
        """The columns, ascending, that may hold what a query asks for: all others do not. Some 0.1 ms."""
        lookup = _lookup(query)
        found: list[int] = []
        for index, block in enumerate(self._blocks):
            bits = np.unpackbits(_matching(block, lookup), bitorder="little")
            found += (np.flatnonzero(bits) + index * _BLOCK_COLUMNS).tolist()
        while found and found[-1] >= self._columns:  # a query for everything also finds columns that are not in use
            found.pop()
        return found

    def statistics(self) -> TrigramStatistics:
        """Tell the size."""
        return TrigramStatistics(self._columns, len(self._blocks) * _HASHES * _BLOCK_ROW_BYTES)

    def _grow(self, columns: int) -> None:
        while len(self._blocks) * _BLOCK_COLUMNS < columns:
            self._blocks.append(np.zeros((_HASHES, _BLOCK_ROW_BYTES), np.uint8))
        self._columns = max(self._columns, columns)

    def _place(self, column: int) -> tuple[_Bytes, int, np.uint8]:
        """The block that holds a column, and the byte of each row and the bit in it that are the column's."""
        block, rest = divmod(column, _BLOCK_COLUMNS)
        return self._blocks[block], rest // 8, np.uint8(1 << rest % 8)


def _chunks(data: bytes) -> Iterator[bytes]:
    step = _CHUNK_BYTES - _OVERLAP_BYTES
    return (data[pos : pos + _CHUNK_BYTES] for pos in range(0, len(data) - _OVERLAP_BYTES, step))


def _hashes(chunk: bytes) -> npt.NDArray[np.uint16]:
    """The hash of each trigram in order, as `requirements` has it: 16 bits of sums and products are a hash."""
    numbers = np.frombuffer(chunk.lower(), np.uint8).astype(np.uint16)
    first, second, third = (np.uint16(multiplier) for multiplier in TRIGRAM_MULTIPLIERS)
    hashes = numbers[:-2] * first
    hashes += numbers[1:-1] * second
    hashes += numbers[2:] * third
    return hashes


def _lookup(query: Query) -> _Lookup:
    choices = tuple(tuple(map(_lookup, choice)) for choice in query.choices)
    return _Lookup(np.array(query.hashes, np.intp), choices)


def _matching(block: _Bytes, lookup: _Lookup) -> _Bytes:
    """The bits of the columns of a block that may hold what is looked up."""
    matching: _Bytes = np.bitwise_and.reduce(block[lookup.rows], axis=0)
    for choice in lookup.choices:
        if not matching.any():
            break
        matching &= np.bitwise_or.reduce([_matching(block, part) for part in choice], axis=0)
    return matching
