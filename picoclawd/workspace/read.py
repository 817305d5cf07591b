"""Read a file as it stood at one moment: stat, read, stat, without a lock."""

import hashlib
import io
import os
import time
from collections.abc import Callable
from typing import BinaryIO, Generic, TypeVar, cast

import msgspec

from picoclawd import limits
from picoclawd.files import linux, stamps
from picoclawd.files.handles import OpenFile
from picoclawd.files.oserrors import as_fault
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access, Ask
from picoclawd.files.rooted import Rooted
from picoclawd.files.stamps import Stamp
from picoclawd.files.threads import Lane, Threads
from picoclawd.workspace.cache import CachedFile, FileCache
from picoclawd.workspace.questions import Target

T = TypeVar("T")
_TRIES = 3
AT_HAND_BYTES = 64 * limits.KIB  # 15 us to copy and 40 us to hash: the loop can afford that


class Reading(msgspec.Struct, Generic[T], frozen=True):
    """What was extracted, and of which file. `size` is what the extract saw; `unstable` says that the file
    changed under each of three attempts, so `found` may mix two states. `data` are all bytes of a small file."""

    found: T
    real: bytes
    size: int
    stamp: Stamp
    sha256: str | None
    data: bytes | None
    unstable: bool


class Sensitive(msgspec.Struct, frozen=True):
    """A file that a person must agree to have read: why, and which one it is."""

    reason: str
    target: Target


# Called with what is about to be read, in the reading thread: refuses what is not what a person agreed to.
Confirmed = Callable[[Target], object]


class Reader:
    """Reads of one workspace. What is cached and fresh is answered on the loop, anything else on the read lane."""

    def __init__(self, rooted: Rooted, threads: Threads, tick_ns: int) -> None:
        self._rooted = rooted
        self._threads = threads
        self._tick_ns = tick_ns
        self._cache = FileCache()

    async def read(
        self, path: WsPath, extract: Callable[[BinaryIO, int], T], confirmed: Confirmed | None = None
    ) -> Reading[T]:
        """Open `path` and run `extract(file, size_bytes)` on it, a pure function of the file's bytes.

        It may run more than once, on any thread. Files up to limits.SHA256_MAX_BYTES are read whole. With `confirmed`
        also a file is read that holds credentials, once that agrees.

        Raises: what opening raises (outside_workspace, protected_path, not_found, not_a_file, access_denied, ...),
        io_error, and what `extract` raises.
        """
        cached = None if confirmed is not None else self.at_hand(path)
        if cached is not None:
            return reading_of(cached, extract)
        reading, entry = await self._threads.run(Lane.READ, self._read, path, extract, confirmed)
        if entry is not None and confirmed is None:
            self._cache.put(path.absolute, entry)
        return reading

    async def examine(self, path: WsPath) -> Sensitive | None:
        """What a person must be asked before the file is read; None where nobody must.

        Raises: as `read`.
        """
        return await self._threads.run(Lane.READ, self._examine, path)

    def _examine(self, path: WsPath) -> Sensitive | None:
        with self._rooted.open_file(path, Access.READ_OR_ASK) as opened:
            return (
                Sensitive(opened.verdict.reason, target_of(opened, path)) if isinstance(opened.verdict, Ask) else None
            )

    def at_hand(self, path: WsPath) -> CachedFile | None:
        """A small file as it is now, where that waits for no disk: from our cache, or from the kernel's. None else.

        What is cached counts only if a stat of what the path leads to now says the same as when it was read.

        Raises: what the policy says to the path; not_a_file.
        """
        opened = self._rooted.open_at_hand(path, Access.READ)
        if opened is None:
            return None
        with opened:
            stamp = stamps.of(opened.stat)
            entry = self._cache.get(path.absolute)
            if entry is not None and entry.stamp == stamp:
                return entry
            return self._take_in(path, opened, stamp)

    def _take_in(self, path: WsPath, opened: OpenFile, stamp: Stamp) -> CachedFile | None:
        if not 0 < stamp.size <= AT_HAND_BYTES:
            return None
        taken_ns = time.time_ns()
        data = linux.read_at_hand(opened.fd, stamp.size)
        if data is None or stamps.of(os.fstat(opened.fd)) != stamp:
            return None
        entry = CachedFile(stamp, opened.real, data, hashlib.sha256(data).hexdigest())
        if stamps.settled(stamp, taken_ns, self._tick_ns):
            self._cache.put(path.absolute, entry)
        return entry

    def forget(self, path: WsPath) -> None:
        """Drop what is held of a path that was just written: saves memory, truth needs no help."""
        self._cache.drop(path.absolute)

    def statistics(self) -> dict[str, int]:
        """What the cache holds."""
        return self._cache.statistics()

    def _read(
        self, path: WsPath, extract: Callable[[BinaryIO, int], T], confirmed: Confirmed | None
    ) -> tuple[Reading[T], CachedFile | None]:
        access = Access.READ if confirmed is None else Access.READ_OR_ASK
        for attempt in range(_TRIES):
            with self._rooted.open_file(path, access) as opened:
                if confirmed is not None:
                    confirmed(target_of(opened, path))
                reading, entry = self._read_once(opened, path, extract, unstable=attempt == _TRIES - 1)
            if reading is not None:
                break
        # The last attempt never answers None: it says `unstable` instead.
        return cast("Reading[T]", reading), entry

    def _read_once(
        self, opened: OpenFile, path: WsPath, extract: Callable[[BinaryIO, int], T], *, unstable: bool
    ) -> tuple[Reading[T] | None, CachedFile | None]:
        before = stamps.of(opened.stat)
        taken_ns = time.time_ns()
        try:
            data = _whole(opened.fd, before.size)
            if data is not None:
                found, size, sha256 = extract(io.BytesIO(data), len(data)), len(data), hashlib.sha256(data).hexdigest()
            else:
                with io.BufferedReader(io.FileIO(opened.fd, closefd=False)) as source:
                    found, size, sha256 = extract(cast("BinaryIO", source), before.size), before.size, None
            changed = stamps.of(os.fstat(opened.fd)) != before
        except OSError as error:
            raise as_fault(error, "read", path.given) from error
        if changed and not unstable:
            return None, None
        entry = None
        if data is not None and sha256 is not None and not changed and stamps.settled(before, taken_ns, self._tick_ns):
            entry = CachedFile(before, opened.real, data, sha256)
        return Reading(found, opened.real, size, before, sha256, data, changed), entry


def reading_of(file: CachedFile, extract: Callable[[BinaryIO, int], T]) -> Reading[T]:
    """What reading the file and extracting from it gives."""
    return Reading(
        found=extract(io.BytesIO(file.data), len(file.data)),
        real=file.real,
        size=len(file.data),
        stamp=file.stamp,
        sha256=file.sha256,
        data=file.data,
        unstable=False,
    )


def target_of(opened: OpenFile, path: WsPath) -> Target:
    """Which file is open, for a person's word to hold for it and for nothing else. Raises: io_error."""
    try:
        with open(opened.fd, "rb", closefd=False) as source:
            sha256 = hashlib.file_digest(source, "sha256").hexdigest()
            source.seek(0)
    except OSError as error:
        raise as_fault(error, "read", path.given) from error
    return Target(opened.real, sha256, (opened.stat.st_dev, opened.stat.st_ino))


def _whole(fd: int, size: int) -> bytes | None:
    """All bytes of a file that is small, or that reports no size (`/sys` and its like); None where it is large."""
    if size > limits.SHA256_MAX_BYTES:
        return None
    chunks: list[bytes] = []
    total = 0
    while total <= limits.SHA256_MAX_BYTES:
        chunk = os.read(fd, max(size - total, 0) + 1 if size else limits.READ_BACK_BUFFER_BYTES)
        if not chunk:
            break
        chunks.append(chunk)
        total += len(chunk)
    return b"".join(chunks)
