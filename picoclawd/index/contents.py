"""The texts of the workspace's files, each kept under the stamp that it was read at, within a budget of bytes.

A text is used only after a stat of its file says the same. What is not kept is read from disk, and kept if there is
room: nothing is pushed out by a search, or one search over a large tree would empty the cache for all others.
"""

import errno
import os
import stat as stat_bits
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import msgspec

from picoclawd import limits
from picoclawd.documents import kinds
from picoclawd.errors import Fault
from picoclawd.files import linux, paths
from picoclawd.files.resolve import has_openat2
from picoclawd.index.ground import Ground
from picoclawd.index.pattern import Encoding, encoding_of
from picoclawd.index.scan import is_binary
from picoclawd.index.trust import Facts, Trust

LARGE_BYTES = 16 * limits.MIB  # a larger file is never kept, and is searched as a stream

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BENEATH = linux.RESOLVE_BENEATH | linux.RESOLVE_NO_SYMLINKS | linux.RESOLVE_NO_MAGICLINKS


class Trouble(Enum):
    """Why there is no text: a search counts it and goes on."""

    VANISHED = "vanished"
    UNREADABLE = "unreadable"
    SPECIAL = "special"
    OVER_BUDGET = "over_budget"
    LINK = "link"


class Text(msgspec.Struct, frozen=True):
    """A file's bytes and their encoding: None for a binary file, which has a NUL in its first 8 KiB; `data` is empty
    then. `trusted`: a stat that gives equal `facts` proves that these are still its bytes. `is_document`: it is a
    binary file of a kind that read_files can read."""

    data: bytes
    encoding: Encoding | None
    facts: Facts
    trusted: bool
    is_document: bool = False


class Large(msgspec.Struct, frozen=True):
    """A file that is read as a stream; whoever gets it closes `fd`."""

    fd: int
    facts: Facts
    size: int


@dataclass(slots=True)
class Allowance:
    """What one search may still read from disk."""

    files: int
    bytes: int

    def take(self, size: int) -> bool:
        """Take a file of this size, if it fits."""
        if self.files < 1 or size > self.bytes:
            return False
        self.files -= 1
        self.bytes -= size
        return True


class ContentsStatistics(msgspec.Struct, frozen=True):
    """How many files' texts are kept, and their bytes."""

    files: int
    bytes: int


class Contents:
    """All texts that are kept. `root_fd` is the workspace's and stays the caller's. Safe between threads; blocks."""

    def __init__(self, root_fd: int, max_bytes: int, trust: Trust, *, openat2: bool | None = None) -> None:
        self._root_fd = root_fd
        self._openat2 = has_openat2(root_fd) if openat2 is None else openat2
        self._ground = Ground(root_fd, openat2=self._openat2)
        self._max_bytes = max_bytes
        self._trust = trust
        self._lock = threading.Lock()
        self._texts: dict[bytes, Text] = {}
        self._bytes = 0
        self._held = 0

    def text(self, relative: bytes, allowance: Allowance) -> Text | Large | Trouble:
        """The text of a regular file of the workspace as it is now; `relative` is never followed through a link."""
        kept = self.fresh(relative)
        if kept is not None:
            return kept
        found = self.read(relative, allowance)
        if isinstance(found, Text):
            self._keep(relative, found)
        return found

    def fresh(self, relative: bytes) -> Text | None:
        """The text that is kept of a file, if a stat says that it is the file's."""
        kept = self._texts.get(relative)
        return kept if kept is not None and kept.trusted and self._is_current(relative, kept.facts) else None

    def read(self, relative: bytes, allowance: Allowance) -> Text | Large | Trouble:
        """The text of a file as it is on disk now; it is not kept."""
        try:
            fd = self._open(relative)
        except OSError as exc:
            self.forget(relative)
            return _trouble(exc)
        except Fault:  # path_busy: directories on the way are renamed again and again
            return Trouble.UNREADABLE
        return self._read(fd, allowance)

    def glance(self, relative: bytes) -> tuple[bytes, Facts] | None:
        """The bytes of a file, read as cheaply as can be, for who will need them only once; None where that is not
        to be done, for whatever reason."""
        try:
            fd = self._open(relative)
        except (OSError, Fault):
            return None
        try:
            status = os.fstat(fd)
            size = status.st_size
            if not stat_bits.S_ISREG(status.st_mode) or size > LARGE_BYTES:
                return None
            return _read_whole(fd, size), self._trust.facts(status)
        except OSError:
            return None
        finally:
            os.close(fd)

    def read_opened(self, fd: int, allowance: Allowance) -> Text | Large | Trouble:
        """The text of a file that was opened elsewhere, as through a link; it is not kept. Takes over `fd`."""
        return self._read(fd, allowance)

    def has(self, relative: bytes) -> bool:
        """Whether a text is kept, fresh or not."""
        return relative in self._texts

    def is_binary(self, relative: bytes) -> bool:
        """Whether a file was found to have no text when it was read."""
        kept = self._texts.get(relative)
        return kept is not None and kept.encoding is None and kept.trusted

    def is_document(self, relative: bytes) -> bool:
        """Whether a file was found to be a document when it was read."""
        kept = self._texts.get(relative)
        return kept is not None and kept.is_document

    def recheck(self, relative: bytes) -> bool:
        """Follow a hint that a file changed: forget it unless a stat says otherwise. True where it changed."""
        kept = self._texts.get(relative)
        if kept is None:
            return True
        if kept.trusted and self._is_current(relative, kept.facts):
            return False
        self.forget(relative)
        return True

    def forget(self, relative: bytes) -> None:
        """Drop a text."""
        with self._lock:
            kept = self._texts.pop(relative, None)
            if kept is not None:
                self._bytes -= _cost(kept)

    def retain(self, relatives: Iterable[bytes]) -> None:
        """Drop every text but those of these files: what was removed would take up the budget for ever."""
        kept = frozenset(relatives)
        for relative in [each for each in list(self._texts) if each not in kept]:
            self.forget(relative)

    def distrust(self) -> None:
        """Drop everything: the clock was set, so stamps prove nothing."""
        with self._lock:
            self._texts.clear()
            self._bytes = 0

    def settled(self) -> list[tuple[bytes, Text]]:
        """The texts that may be kept elsewhere: a stat proves them."""
        with self._lock:
            return [(path, text) for path, text in self._texts.items() if text.trusted]

    def give_up(self, relatives: Iterable[bytes], held_bytes: int) -> None:
        """Drop texts that are held elsewhere from now on; what they take there counts in the same budget."""
        for relative in relatives:
            self.forget(relative)
        self.hold(held_bytes)

    def hold(self, more_bytes: int) -> None:
        """Count bytes that are held elsewhere (less, where negative)."""
        with self._lock:
            self._held += more_bytes

    def room(self) -> int:
        """How many more bytes of text would be kept."""
        return max(0, self._max_bytes - self._bytes - self._held - _ENTRY_BYTES)

    def loose_bytes(self) -> int:
        """How much is kept here, and not elsewhere."""
        return self._bytes

    def statistics(self) -> ContentsStatistics:
        """Count what is kept."""
        return ContentsStatistics(len(self._texts), self._bytes + self._held)

    def _open(self, relative: bytes) -> int:
        """Open a file, following no link on the way. Raises: OSError; path_busy."""
        if self._openat2:
            return linux.openat2(self._root_fd, relative, _FLAGS, 0, _BENEATH)
        directory, name = paths.split(relative)
        directory_fd = self._ground.open(directory)
        try:
            return os.open(name, _FLAGS, dir_fd=directory_fd)
        finally:
            os.close(directory_fd)

    def _is_current(self, relative: bytes, facts: Facts) -> bool:
        """Whether a file is what it was when it was read. Every search asks this of every file."""
        try:
            now = os.stat(relative, dir_fd=self._root_fd, follow_symlinks=False)
        except OSError:
            return False
        return self._trust.facts(now) == facts

    def _read(self, fd: int, allowance: Allowance) -> Text | Large | Trouble:
        """Read what was opened, and close it unless it is given on."""
        keep_open = False
        try:
            taken_ns = time.time_ns()
            status = os.fstat(fd)
            if not stat_bits.S_ISREG(status.st_mode):
                return Trouble.SPECIAL
            if not allowance.take(status.st_size):
                return Trouble.OVER_BUDGET
            facts = self._trust.facts(status)
            if status.st_size > LARGE_BYTES:
                keep_open = True
                return Large(fd, facts, status.st_size)
            data = _read_whole(fd, status.st_size)
            trusted = self._trust.settles(status, taken_ns) and self._trust.facts(os.fstat(fd)) == facts
            if is_binary(data):
                return Text(b"", None, facts, trusted, kinds.is_readable(data[: limits.BINARY_SNIFF_BYTES]))
            return Text(data, encoding_of(data), facts, trusted)
        except OSError as exc:
            return _trouble(exc)
        finally:
            if not keep_open:
                os.close(fd)

    def _keep(self, relative: bytes, text: Text) -> None:
        cost = _cost(text)
        with self._lock:
            known = self._texts.pop(relative, None)
            if known is not None:
                self._bytes -= _cost(known)
            if text.trusted and self._bytes + self._held + cost <= self._max_bytes:
                self._texts[relative] = text
                self._bytes += cost


_ENTRY_BYTES = 400  # the entry itself: key, Text, Stamp and its numbers


def _cost(text: Text) -> int:
    return len(text.data) + _ENTRY_BYTES


def _read_whole(fd: int, size: int) -> bytes:
    """Read to the end. Asking for what fstat says, and one more, needs one call where nobody writes meanwhile."""
    data = os.read(fd, size + 1)
    return data if len(data) == size else data + _rest(fd, data)


def _rest(fd: int, start: bytes) -> bytes:
    """What comes after the start of a file that is not as long as it was said to be."""
    chunks = [start]
    while chunks[-1] and sum(map(len, chunks)) <= LARGE_BYTES:
        chunks.append(os.read(fd, limits.MIB))
    return b"".join(chunks[1:])


def _trouble(exc: OSError) -> Trouble:
    if isinstance(exc, FileNotFoundError | NotADirectoryError):
        return Trouble.VANISHED
    if exc.errno == errno.ELOOP:
        return Trouble.LINK
    return Trouble.UNREADABLE
