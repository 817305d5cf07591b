"""Whole small files by path, each with the stamp it was read under: what makes a warm read cost one stat."""

from collections import OrderedDict

import msgspec

from picoclawd.files.stamps import Stamp

ANSWERS_MAX = 4  # a file: pages that are asked for again are few
CACHE_BYTES = 8 * 1024 * 1024  # a working set of source files; the index has its own, larger budget


class CachedFile(msgspec.Struct, frozen=True):
    """A file's bytes as read under `stamp`. Its owner trusts it only while a fresh stat says the same.

    `answers` keeps what was made of the bytes, as JSON, by whatever tells one answer from another; it goes with them.
    """

    stamp: Stamp
    real: bytes
    data: bytes
    sha256: str
    answers: dict[object, msgspec.Raw] = {}

    def keep_answer(self, key: object, answer: msgspec.Raw) -> None:
        """Keep an answer for the next call like it; of too many, none."""
        if len(self.answers) >= ANSWERS_MAX:
            self.answers.clear()
        self.answers[key] = answer


class FileCache:
    """Least recently used first out, by bytes. Loop only."""

    def __init__(self, max_bytes: int = CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._files: OrderedDict[bytes, CachedFile] = OrderedDict()

    def get(self, path: bytes) -> CachedFile | None:
        """The entry of an absolute path, which becomes the youngest."""
        entry = self._files.get(path)
        if entry is not None:
            self._files.move_to_end(path)
        return entry

    def put(self, path: bytes, entry: CachedFile) -> None:
        """Keep an entry; one larger than an eighth of the cache would push out too much and is not kept."""
        self.drop(path)
        if len(entry.data) > self._max_bytes // 8:
            return
        self._files[path] = entry
        self._bytes += len(entry.data)
        while self._bytes > self._max_bytes:
            self._bytes -= len(self._files.popitem(last=False)[1].data)

    def drop(self, path: bytes) -> None:
        """Forget one path."""
        entry = self._files.pop(path, None)
        if entry is not None:
            self._bytes -= len(entry.data)

    def statistics(self) -> dict[str, int]:
        """How many files and bytes are held."""
        return {"files": len(self._files), "bytes": self._bytes}
