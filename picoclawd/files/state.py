"""Open what is ours: the state and socket directories, lock files, small private files. Nothing else opens them.

Every name is taken with O_NOFOLLOW, and owner and mode are checked on the open descriptor: what another user could
have put there, or could read, is refused and never repaired in silence.
"""

import errno
import fcntl
import os
import stat
from contextlib import ExitStack

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, temps
from picoclawd.files.target import Target, reported

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_PID_MAX_BYTES = 32


class LockedFile(msgspec.Struct, frozen=True):
    """A lock that is held until `release`, or the end of the process. The file is never unlinked."""

    fd: int

    def release(self) -> None:
        """Give the lock back; the file stays."""
        closing.close(self.fd)


def open_private_directory(path: str) -> int:
    """Open a directory of ours, created 0700 with the missing ones above it; the caller owns the descriptor. Blocking.

    Raises: access_denied, when it is a link, belongs to somebody else, or others may enter it: the message has the
    chmod to type; io_error and others as the system has it.
    """
    path = os.path.abspath(path)
    with reported("open", path):
        _make_directories(path)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except NotADirectoryError as exc:
            raise _refused(path, "it is a link or no directory: remove it, or name another") from exc
    return _checked(fd, path, "700")


def write_private_file(dir_fd: int, name: str, data: bytes) -> None:
    """Write a file of ours, 0600, atomically and durably; what had the name is replaced. Blocking."""
    target = Target(dir_fd, os.fsencode(name), name)
    with reported("write", name), temps.beside(target) as temp:
        temps.write_all(temp.fd, data)
        temp.seal()
        os.rename(temp.name, target.name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        temp.disown()
        temps.sync_directory(dir_fd)


def read_private_file(dir_fd: int, name: str) -> bytes | None:
    """Read a file of ours whole, or None where there is none. Blocking. Raises: access_denied, as for directories."""
    with reported("read", name):
        try:
            fd = _open_private(dir_fd, name, os.O_RDONLY)
        except FileNotFoundError:
            return None
        with open(fd, "rb") as file:
            return file.read()


def lock_file(dir_fd: int, name: str) -> LockedFile | None:
    """Take the lock of this name for this process and write its pid into it; None when somebody holds it. Blocking.

    The lock is flock(2) on a file that is created 0600 and stays for ever: an unlinked one could be locked twice.
    """
    with reported("lock", name), ExitStack() as undo:
        fd = _open_private(dir_fd, name, os.O_RDWR | os.O_CREAT)
        undo.callback(closing.close, fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        os.ftruncate(fd, 0)
        os.pwrite(fd, b"%d\n" % os.getpid(), 0)
        undo.pop_all()
    return LockedFile(fd)


def holder_pid(dir_fd: int, name: str) -> int | None:
    """Read the pid that the last holder wrote into a lock file, for a message; it says not that it holds it still."""
    data = read_private_file(dir_fd, name) or b""
    text = data[:_PID_MAX_BYTES].strip()
    return int(text) if text.isdigit() else None


def _make_directories(path: str) -> None:
    missing: list[str] = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for directory in reversed(missing):
        try:
            os.mkdir(directory, 0o700)
        except FileExistsError:
            continue  # another start made it; who it belongs to is checked after the open


def _open_private(dir_fd: int, name: str, flags: int) -> int:
    try:
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=dir_fd)
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise _refused(name, "it is a link: remove it, or name another") from exc
        raise
    return _checked(fd, name, "600")


def _checked(fd: int, path: str, mode: str) -> int:
    """Check that what is open is ours alone, and return it; else close it. `mode` is the one to type."""
    try:
        held = os.fstat(fd)
    except OSError:
        closing.close(fd)
        raise
    fault = None
    if not stat.S_ISREG(held.st_mode) and not stat.S_ISDIR(held.st_mode):
        fault = _refused(path, "it is no regular file: remove it, or name another")
    elif held.st_uid != os.geteuid():
        fault = _refused(path, f"it belongs to user {held.st_uid}, not to {os.geteuid()}: name another place")
    elif held.st_mode & _OTHERS:
        fault = _refused(path, f"other users may open it (mode {held.st_mode & 0o7777:04o}): chmod {mode} {path}")
    if fault is None:
        return fd
    closing.close(fd)
    raise fault


def _refused(path: str, why: str) -> Fault:
    return Fault(Slug.ACCESS_DENIED, f"refused to use {path}: {why}")
