"""The trash: removed files, moved out of the workspace as they are, under `<number>-<name>`, and back.

A rename where the file systems are one. Elsewhere a copy: the copy is durable before the file loses its name, and of
a file that is not what was to be removed nothing is lost.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, linux, metadata, reading, stamps, state, temps
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import Target, changed_meanwhile, reported
from picoclawd.history.blobs import is_left_over
from picoclawd.history.records import Trashed

NAME = "trash"
_SAVED = b".saved"  # an outside save that lost its name while a file was removed
_COPY_BYTES = 1024 * 1024  # copied at a time


class InTrash(msgspec.Struct, frozen=True):
    """What lies in the trash under a version's number, and since when (ns)."""

    number: int
    file: Trashed
    since_ns: int


class Trash:
    """`<state>/trash`. The caller holds the lock of the path that a file leaves or comes back to. Blocking."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, NAME)

    def move(self, target: Target, expected: Stamp, number: int) -> Trashed:
        """Move the file that `expected` is the stamp of into the trash. `number` is its version's: given once.

        Raises: conflict, when the name leads to another file or content by now, which then stays; not_found,
        access_denied, io_error: the file has its name, or somebody else took that, unless the outcome is unknown.
        """
        name = _name(number, target.name)
        with reported("remove", target.given), self._opened() as trash:
            _check(target, expected)
            try:
                linux.rename_noreplace(target.dir_fd, target.name, trash, name)
            except OSError as exc:
                if exc.errno != errno.EXDEV:
                    raise
                _copy_in(target, expected, trash, name)
            else:
                with reported("remove", target.given, outcome="unknown"):
                    _look_again(target, expected, trash, name)
            with reported("remove", target.given, outcome="unknown"):
                temps.sync_directory(trash)
                temps.sync_directory(target.dir_fd)
        return Trashed(name, expected.size)

    def retrieve(self, name: bytes, target: Target) -> Stamp:
        """Move a file out of the trash to a name that is free; return its stamp.

        Raises: file_exists, when the name is taken: both stay as they are; not_found, when the trash has no such
        file; access_denied, io_error, with outcome unknown once it has the name.
        """
        with reported("restore", target.given), self._opened() as trash:
            try:
                linux.rename_noreplace(trash, name, target.dir_fd, target.name)
            except OSError as exc:
                if exc.errno != errno.EXDEV:
                    raise
                _carry(trash, name, target)
            with reported("restore", target.given, outcome="unknown"):
                temps.sync_directory(target.dir_fd)
                temps.sync_directory(trash)
                return stamps.of(os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False))

    def path_of(self, name: bytes) -> bytes:
        """Where a file in the trash lies, for a person."""
        return os.path.join(os.fsencode(self._path), name)

    def read(self, name: bytes) -> bytes | None:
        """Read a file in the trash whole; None where it is gone, or larger than what is edited in memory."""
        with self._opened() as trash:
            try:
                fd = reading.open_itself(trash, name)
            except OSError:
                return None
            with open(fd, "rb") as file:
                data = file.read(limits.EDIT_MAX_BYTES + 1)
        return data if len(data) <= limits.EDIT_MAX_BYTES else None

    def discard(self, name: bytes) -> None:
        """Delete a file for good; one that is not there is no error."""
        with self._opened() as trash, suppress(FileNotFoundError):
            os.unlink(name, dir_fd=trash)

    def files(self) -> list[InTrash]:
        """All that is there; what a copy left half-made is removed on the way."""
        found: list[InTrash] = []
        with self._opened() as trash:
            for entry in os.listdir(trash):
                name = os.fsencode(entry)
                number = name.split(b"-")[0]
                if number.isdigit():
                    with suppress(FileNotFoundError):
                        held = os.stat(name, dir_fd=trash, follow_symlinks=False)
                        found.append(InTrash(int(number), Trashed(name, held.st_size), held.st_ctime_ns))
                elif is_left_over(name):
                    temps.remove(trash, name)
        return found

    @contextmanager
    def _opened(self) -> Iterator[int]:
        fd = state.open_private_directory(self._path)
        try:
            yield fd
        finally:
            closing.close(fd)


def _name(number: int, name: bytes) -> bytes:
    return (b"%d-" % number + name)[: limits.NAME_MAX_BYTES]


def _check(target: Target, expected: Stamp) -> None:
    found = stamps.of(os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False))
    if not stamps.same_content(found, expected):
        raise changed_meanwhile(target, "was changed by somebody else")


def _look_again(target: Target, expected: Stamp, held: int, name: bytes) -> None:
    """Check what came out by a rename; what is not ours to remove gets its name back, unless that is taken."""
    found = stamps.of(os.stat(name, dir_fd=held, follow_symlinks=False))
    if stamps.same_content(found, expected):
        return
    try:
        linux.rename_noreplace(held, name, target.dir_fd, target.name)
    except FileExistsError as exc:
        raise _displaced(target, name) from exc
    raise changed_meanwhile(target, "was changed by somebody else")


def _displaced(target: Target, kept: bytes) -> Fault:
    return Fault(
        Slug.EXTERNAL_CHANGE_KEPT,
        f"{target.given} was saved twice by somebody else while it was being removed: the later save has the name, "
        f"the earlier one is kept in the trash as {os.fsdecode(kept)}. Read the file again, then decide.",
        outcome="unknown",
    )


def _copy_in(target: Target, expected: Stamp, trash: int, name: bytes) -> None:
    copy = Target(trash, name, target.given)
    _copy(target.dir_fd, target.name, copy, expected)
    # First a hidden name, then a look, then the end: a save that comes now gets its name back.
    hidden = temps.new_name()
    try:
        linux.rename_noreplace(target.dir_fd, target.name, target.dir_fd, hidden)
    except OSError:
        temps.remove(trash, name)
        raise
    try:
        _look_again(target, expected, target.dir_fd, hidden)
        os.unlink(hidden, dir_fd=target.dir_fd)
    except Fault as fault:
        temps.remove(trash, name)
        if fault.slug is not Slug.EXTERNAL_CHANGE_KEPT:
            raise
        kept = name[: limits.NAME_MAX_BYTES - len(_SAVED)] + _SAVED
        _carry(target.dir_fd, hidden, Target(trash, kept, target.given))
        raise _displaced(target, kept) from fault
    except OSError:
        with reported("remove", target.given, outcome="unknown"):
            linux.rename_noreplace(target.dir_fd, hidden, target.dir_fd, target.name)
        temps.remove(trash, name)  # only now: without its name the file may be this copy alone
        raise


def _carry(source_fd: int, source: bytes, into: Target) -> None:
    """Move a file to another file system as it is. Once it is there, a source that stays is only in the way."""
    _copy(source_fd, source, into, stamps.of(os.stat(source, dir_fd=source_fd, follow_symlinks=False)))
    with suppress(OSError):
        os.unlink(source, dir_fd=source_fd)


def _copy(source_fd: int, source: bytes, copy: Target, expected: Stamp) -> None:
    """Make a durable copy under its final name, with the source's mode and attributes; where it raises, there is
    none, unless the outcome is unknown."""
    fd = reading.open_itself(source_fd, source)
    try:
        with temps.beside(copy) as temp:
            _copy_bytes(fd, temp.fd)
            metadata.copy(fd, temp.fd)
            held = os.fstat(fd)
            os.utime(temp.fd, ns=(held.st_atime_ns, held.st_mtime_ns))
            temp.seal()
            if not stamps.same_content(stamps.of(os.fstat(fd)), expected):
                raise changed_meanwhile(copy, "was changed by somebody else")
            linux.rename_noreplace(copy.dir_fd, temp.name, copy.dir_fd, copy.name)
            temp.disown()
    finally:
        closing.close(fd)
    try:
        temps.sync_directory(copy.dir_fd)
    except OSError:
        with reported("copy", copy.given, outcome="unknown"):
            temps.remove(copy.dir_fd, copy.name)
        raise


def _copy_bytes(source: int, into: int) -> None:
    while chunk := os.read(source, _COPY_BYTES):
        temps.write_all(into, chunk)
