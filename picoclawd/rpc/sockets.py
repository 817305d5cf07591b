"""Bind the listening Unix sockets where nobody else can reach them, and take over those that systemd has bound.

A socket is 0600 in a directory of ours that is 0700. The lock beside it (`<name>.lock`, flock, never unlinked) decides
which daemon owns the path; with the lock in hand, a socket file that is left over from a killed one is replaced.
Everything here is blocking and belongs before the loop.
"""

import os
import socket
import stat

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import state

BACKLOG = 128  # connections that may wait to be accepted while the loop is busy; more are refused by the kernel
_MODE = 0o600


class OwnedSocket:
    """A listening socket and, where this process bound it, the duty to remove its file."""

    def __init__(self, listener: socket.socket, path: str | None, lock: state.LockedFile | None) -> None:
        self.listener = listener
        self.path = path
        self._lock = lock
        self._identity = _identity(path) if path is not None else None

    def close(self) -> None:
        """Stop listening; unlink the file if it still is the one that was bound here, and give the lock back. Once.

        An inherited socket is only closed: its file is systemd's.
        """
        if self.listener.fileno() == -1:
            return
        self.listener.close()
        if self.path is not None and _identity(self.path) == self._identity:
            os.unlink(self.path)
        if self._lock is not None:
            self._lock.release()


def bind(path: str) -> OwnedSocket:
    """Bind and listen at `path`, creating its directory 0700 where it is missing.

    Raises: invalid_path for a path that no socket can have; access_denied for a directory that is not ours alone, and
    for whatever is at the path that is not a socket of ours; path_busy where a daemon has it ("already running").
    """
    path = os.path.abspath(path)
    size_bytes = len(os.fsencode(path))
    if size_bytes > limits.SOCKET_PATH_MAX_BYTES:
        text = f"the socket path {path} has {size_bytes} bytes, a Unix socket's may have {limits.SOCKET_PATH_MAX_BYTES}"
        raise Fault(Slug.INVALID_PATH, f"{text}: set daemon.socket, XDG_RUNTIME_DIR or --socket to something shorter")
    directory, name = os.path.split(path)
    dir_fd = state.open_private_directory(directory)
    try:
        lock = state.lock_file(dir_fd, f"{name}.lock")
        if lock is None:
            raise _already_running(path, state.holder_pid(dir_fd, f"{name}.lock"))
        try:
            _clear(path)
            return OwnedSocket(_listen(path), path, lock)
        except BaseException:
            lock.release()
            raise
    finally:
        os.close(dir_fd)


def inherit(fd: int) -> tuple[OwnedSocket, str | None]:
    """Take over a listening socket from the parent; its descriptor is ours from here. Also: a warning, or None.

    A socket file with a wider mode is systemd's choice, so it is taken: SO_PEERCRED decides who may come in.
    """
    listener = socket.socket(fileno=fd)
    path = listener.getsockname()
    warning = None
    if isinstance(path, str) and path and (held := _lstat(path)) is not None and held.st_mode & 0o077:
        warning = f"the inherited socket {path} is open to others (mode {held.st_mode & 0o7777:04o}): see SocketMode="
    return OwnedSocket(listener, None, None), warning


def path_of(fd: int) -> str | None:
    """Where a socket is bound; None for one that has no place in the file system. `fd` stays the caller's."""
    with socket.socket(fileno=os.dup(fd)) as bound:
        path = bound.getsockname()
    return os.path.abspath(path) if isinstance(path, str) and path else None


def _clear(path: str) -> None:
    """Remove a left-over socket of ours, refuse anything else. The lock is held: no daemon of ours listens there."""
    held = _lstat(path)
    if held is None:
        return
    if not stat.S_ISSOCK(held.st_mode):
        raise _refused(path, "something that is no socket is there, and stays")
    if held.st_uid != os.geteuid():
        raise _refused(path, f"the socket there belongs to user {held.st_uid}")
    if held.st_mode & 0o077:
        raise _refused(
            path, f"the socket there is open to others (mode {held.st_mode & 0o7777:04o}), so it is not ours"
        )
    with socket.socket(socket.AF_UNIX) as caller:
        caller.setblocking(False)
        try:
            caller.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:
            pass  # its queue is full: somebody listens
    raise Fault(Slug.PATH_BUSY, f"another program listens at {path}: stop it first, or choose another --socket")


def _listen(path: str) -> socket.socket:
    """Bind with mode 0600 from the first moment: Linux gives the file the socket's own mode, less the umask.

    (Changing the umask instead would change it for every thread; a chmod afterwards comes late.)
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(listener.fileno(), _MODE)
        listener.bind(path)
        os.chmod(path, _MODE)  # where the umask took something away, or the kernel does not do as said
        listener.listen(BACKLOG)
    except OSError as exc:
        listener.close()
        raise _refused(path, exc.strerror or str(exc)) from exc
    return listener


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _identity(path: str) -> tuple[int, int] | None:
    held = _lstat(path)
    return None if held is None else (held.st_dev, held.st_ino)


def _refused(path: str, why: str) -> Fault:
    return Fault(Slug.ACCESS_DENIED, f"cannot listen at {path}: {why}. Remove it, or choose another --socket.")


def _already_running(path: str, pid: int | None) -> Fault:
    who = f" (pid {pid})" if pid is not None else ""
    return Fault(
        Slug.PATH_BUSY, f"already running: another picoclawd{who} listens at {path}. Use that one, or stop it."
    )
