"""What a session has read: which file, in which state, and for small files the very bytes.

Safe between threads: reads are noted on the loop, freshness is decided in a commit thread under the path's lock.
"""

import threading
from collections import OrderedDict

import msgspec

from picoclawd import limits
from picoclawd.files.stamps import Stamp

PIN_FILE_MAX_BYTES = 256 * limits.KIB  # a larger file makes no diff that anybody reads
PINNED_MAX_BYTES = 64 * limits.MIB  # of all sessions together
PATHS_MAX = 10_000  # files of one session; some 3 MiB


class Entry(msgspec.Struct, frozen=True):
    """A file as the session last saw it. `sha256` is None over limits.SHA256_MAX_BYTES, `data` where no bytes are
    kept, or no longer."""

    stamp: Stamp
    sha256: str | None
    data: bytes | None


class PinsStatistics(msgspec.Struct, frozen=True):
    """How many contents are kept, and their bytes."""

    contents: int
    size_bytes: int


class Pins:
    """The bytes that all ledgers keep for later diffs, each content once; the least recently used go first."""

    def __init__(self, max_bytes: int = PINNED_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._users: dict[str, int] = {}
        self._size_bytes = 0

    def pin(self, sha256: str, data: bytes) -> None:
        """Keep a content for one more user, as long as there is room."""
        with self._lock:
            self._users[sha256] = self._users.get(sha256, 0) + 1
            if sha256 not in self._kept:
                self._kept[sha256] = data
                self._size_bytes += len(data)
            self._kept.move_to_end(sha256)
            while self._size_bytes > self._max_bytes:
                _, dropped = self._kept.popitem(last=False)
                self._size_bytes -= len(dropped)

    def get(self, sha256: str) -> bytes | None:
        """The bytes, if they are still kept."""
        with self._lock:
            if sha256 in self._kept:
                self._kept.move_to_end(sha256)
            return self._kept.get(sha256)

    def release(self, sha256: str) -> None:
        """One user less; the last one takes the bytes along."""
        with self._lock:
            self._users[sha256] -= 1
            if not self._users[sha256]:
                del self._users[sha256]
                self._size_bytes -= len(self._kept.pop(sha256, b""))

    def statistics(self) -> PinsStatistics:
        """What is kept now."""
        with self._lock:
            return PinsStatistics(len(self._kept), self._size_bytes)


class _Note(msgspec.Struct, frozen=True):
    stamp: Stamp
    sha256: str | None
    pinned: bool


class Ledger:
    """The files that one session has read, by real path. The one that was noted longest ago makes room."""

    def __init__(self, pins: Pins | None = None, paths_max: int = PATHS_MAX) -> None:
        self._pins = pins or Pins()
        self._paths_max = paths_max
        self._lock = threading.Lock()
        self._notes: OrderedDict[bytes, _Note] = OrderedDict()
        self._closed = False

    @property
    def is_empty(self) -> bool:
        """Whether the session has read nothing: it is new, perhaps because the daemon was restarted."""
        return not self._notes

    def note_read(self, path: bytes, stamp: Stamp, sha256: str | None, data: bytes | None) -> None:
        """Note that the session saw some of the file at the real path `path`.

        `sha256` and `data` are of the whole file, None where they are not at hand. `stamp` must be taken before the
        bytes were read.
        """
        known = self._notes.get(path)
        if known is not None and known.stamp is stamp:
            return  # the same state, out of a cache
        pinned = sha256 is not None and data is not None and len(data) <= PIN_FILE_MAX_BYTES
        with self._lock:
            if self._closed:
                return
            if sha256 is not None and data is not None and pinned:
                self._pins.pin(sha256, data)
            self._drop(path)
            self._notes[path] = _Note(stamp, sha256, pinned)
            if len(self._notes) > self._paths_max:
                self._drop(next(iter(self._notes)))

    def note_write(self, path: bytes, stamp: Stamp, sha256: str | None, data: bytes | None) -> None:
        """Note a successful write of the session's own: it counts as a read of what was written."""
        self.note_read(path, stamp, sha256, data)

    def entry(self, path: bytes) -> Entry | None:
        """What the session knows of the file at the real path `path`; None where it has not read it."""
        note = self._notes.get(path)
        if note is None:
            return None
        data = self._pins.get(note.sha256) if note.pinned and note.sha256 is not None else None
        return Entry(note.stamp, note.sha256, data)

    def forget(self, path: bytes) -> None:
        """Drop a file: the session removed it."""
        with self._lock:
            self._drop(path)

    def close(self) -> None:
        """Drop everything, and take no more notes: the session is over."""
        with self._lock:
            self._closed = True
            for path in list(self._notes):
                self._drop(path)

    def _drop(self, path: bytes) -> None:
        note = self._notes.pop(path, None)
        if note is not None and note.pinned and note.sha256 is not None:
            self._pins.release(note.sha256)
