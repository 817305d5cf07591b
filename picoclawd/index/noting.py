"""Note the trigrams of files whose texts are not kept, in small steps.

Such a file is read once, and again when it has changed: until then every search looks at it. Files that come later, or
changed, go into the column that was made last while it has room, so that a few changes do not take a column each.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from picoclawd.index.bundles import joinable
from picoclawd.index.columns import COLUMN_BYTES, COLUMN_FILES_MAX, COLUMNS_MAX, Column, Noted, packs
from picoclawd.index.contents import LARGE_BYTES, Allowance, Contents, Large, Text
from picoclawd.index.matrix import Matrix
from picoclawd.index.places import Places

_STEP_FILES = 500  # looked at in one step: there may be many that cannot be read, or are too large to be noted
_DEAD_SHARE = 4  # a column with a fourth of its files dead is made anew


@dataclass(slots=True)
class _Batch:
    """What the next column will be of."""

    files: list[Noted] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, path: bytes, text: Text) -> None:
        self.files.append(Noted(path, text.facts, text.encoding is not None, text.is_document))
        self.texts.append(text.data)
        self.size += len(text.data)


class Noting:
    """The columns of one corpus. Blocks; one thread at a time, and while it makes no other groups."""

    def __init__(self, contents: Contents, places: Places, column_bytes: int = COLUMN_BYTES) -> None:
        self._contents = contents
        self._places = places
        self._column_bytes = column_bytes
        self._todo: Iterator[bytes] = iter(())
        self._batch = _Batch()
        self._last: Column | None = None

    def start(self, files: Sequence[bytes]) -> int:
        """Begin with those of the files that are in no group; tell how many these are.

        Columns with many dead files are given up before.
        """
        for group in self._places.groups():
            if isinstance(group, Column) and group.dead * _DEAD_SHARE > group.files:
                self._places.drop(group)
        missing = [path for path in files if self._places.find(path) is None]
        self._todo, self._batch = iter(missing), _Batch()
        self._places.begin()
        return len(missing)

    def step(self, matrix: Matrix) -> int:
        """Note one more column, or go through some files that need none; tell how many were looked at, 0 at the end."""
        looked = 0
        if len(self._places) >= COLUMNS_MAX:
            return 0
        for path in islice(self._todo, _STEP_FILES):
            looked += 1
            text = self._read(path)
            if text is not None and (full := self._added(path, text)) is not None:
                self._take_in(full, matrix)
                return looked
        if looked < _STEP_FILES and self._batch.files:
            self._take_in(self._batch, matrix)
            self._batch = _Batch()
        return looked

    def _added(self, path: bytes, text: Text) -> _Batch | None:
        """Add a file to the batch, or begin another with it and give the one that is full."""
        batch = self._batch
        is_full = batch.size + len(text.data) > self._column_bytes or len(batch.files) >= COLUMN_FILES_MAX
        full = batch if batch.files and is_full else None
        if full is not None:
            self._batch = _Batch()
        self._batch.add(path, text)
        return full

    def _read(self, path: bytes) -> Text | None:
        """What to note of a file; None where its text will be joined, or a stat could not prove that it is noted."""
        text: Text | Large | object | None = self._contents.fresh(path)
        if isinstance(text, Text) and text.encoding is not None and joinable(text.data, text.encoding) is not None:
            return None
        if text is None:
            text = self._contents.read(path, Allowance(1, LARGE_BYTES))
        if isinstance(text, Large):
            os.close(text.fd)
        return text if isinstance(text, Text) and text.trusted and packs(text.facts) else None

    def _take_in(self, batch: _Batch, matrix: Matrix) -> None:
        column = Column(batch.files, batch.size)
        data = b"\n".join(batch.texts)
        last = self._last
        if last is not None and self._has_room(last, column) and self._places.holds(last):
            matrix.add(last.number, data)
            self._last = self._places.extend(last, column)
            return
        number = self._places.number()
        matrix.reset(number)
        matrix.add(number, data)
        self._places.take_in(column, number)
        self._last = column

    def _has_room(self, last: Column, more: Column) -> bool:
        return last.size + more.size <= self._column_bytes and last.files + more.files <= COLUMN_FILES_MAX
