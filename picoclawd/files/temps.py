"""Temporary files beside their targets: hidden from every tool, written, made durable, then swapped in."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, stamps
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import StillThere, Target, check_still_there, directory_gone, reported

_NAME = re.compile(re.escape(limits.TEMP_PREFIX) + rb"[0-9]+\.[0-9a-f]{16}" + re.escape(limits.TEMP_SUFFIX), re.DOTALL)


@dataclass(slots=True)
class Temp:
    """One temporary file, `fd` open for reading and writing, -1 once it is sealed.

    It is removed at the end of its `with`, unless it was disowned: then its name stays.
    """

    dir_fd: int
    name: bytes
    fd: int
    ours: bool = True

    def disown(self) -> None:
        """Never remove what is under the name now: it may be somebody else's file."""
        self.ours = False

    def seal(self) -> Stamp:
        """Make the bytes durable and close the file, so that nobody has it open for writing when it appears."""
        os.fsync(self.fd)
        stamp = stamps.of(os.fstat(self.fd))
        self._close()
        return stamp

    def _close(self) -> None:
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)  # an error is heard: the new file is given no name yet, so nothing is lost by being strict

    def end(self) -> None:
        """Close what is open and remove what is still ours."""
        try:
            self._close()
        finally:
            if self.ours:
                with suppress(OSError):  # something failed already, and that is what the caller must hear of
                    remove(self.dir_fd, self.name)


def is_temp(name: bytes) -> bool:
    """Tell whether `name` is one that `new_name` makes."""
    return _NAME.fullmatch(name) is not None


def new_name() -> bytes:
    """Make a name of the form `.picoclawd.<pid>.<16 hex>.tmp`."""
    return b"%b%d.%b%b" % (limits.TEMP_PREFIX, os.getpid(), os.urandom(8).hex().encode(), limits.TEMP_SUFFIX)


@contextmanager
def beside(target: Target) -> Iterator[Temp]:
    """Make an empty temporary file, 0600, in the target's directory. Raises: access_denied naming the directory."""
    name = new_name()
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        temp = Temp(target.dir_fd, name, os.open(name, flags, 0o600, dir_fd=target.dir_fd))
    except (PermissionError, FileNotFoundError) as exc:
        raise directory_fault(target, exc) from exc
    try:
        yield temp
    finally:
        temp.end()


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`: one write(2) may take less than it was given, and says so only in its result."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def remove(dir_fd: int, name: bytes) -> None:
    """Unlink `name` if it is still there."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=dir_fd)


def settle(target: Target, ours: Stamp, still_there: StillThere) -> Stamp:
    """Make the new name durable and take the new file's stamp: what it is now, if it is still ours.

    Raises: io_error, conflict, both with outcome unknown: the name is given already.
    """
    with reported("write", target.given, outcome="unknown"):
        sync_directory(target.dir_fd)
        check_still_there(target, still_there, outcome="unknown")
        try:
            now = stamps.of(os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False))
        except FileNotFoundError:
            return ours
    return now if stamps.same_content(now, ours) else ours


def sync_directory(dir_fd: int) -> None:
    """Make the names in a directory durable. `dir_fd` may be O_PATH, which cannot be synced itself."""
    try:
        os.fsync(dir_fd)
    except OSError as exc:
        if exc.errno != errno.EBADF:
            raise
        _sync_reopened(dir_fd)


def _sync_reopened(dir_fd: int) -> None:
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd)
    except PermissionError:
        os.sync()  # a directory that we may write but not read: slower, as durable
        return
    try:
        os.fsync(fd)
    finally:
        closing.close(fd)


def directory_fault(target: Target, exc: PermissionError | FileNotFoundError) -> Fault:
    """Make the fault of a directory that takes no new file: it is gone, or not writable, as the file itself may be."""
    # ext4 answers EPERM to an unnamed file in a directory that is gone.
    if isinstance(exc, FileNotFoundError) or os.fstat(target.dir_fd).st_nlink == 0:
        return directory_gone(target, "nothing was written")
    return Fault(
        Slug.ACCESS_DENIED,
        f"failed to write file: access denied: the directory that holds {target.given} does not let this user create "
        "files, and a file is written by creating the new one beside the old. Make the directory writable; append_file "
        "to an existing file needs only the file to be",
        errno_name=errno.errorcode[exc.errno or errno.EACCES],
        denied="directory",
    )
