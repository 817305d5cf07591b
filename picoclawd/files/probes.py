"""Try what the workspace's own file system can do, for `doctor` and `workspace.status`: promises rest on it."""

import errno
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise

import msgspec

from picoclawd import limits
from picoclawd.files import linux
from picoclawd.files.resolve import has_openat2

_WATCH_LIMIT = "/proc/sys/fs/inotify/max_user_watches"
_TICK_CHANGES = 4  # the first may come at any time within a tick, the others tell its length
_TICK_DEADLINE_S = 0.1  # ten times the longest tick of a kernel (HZ=100)
_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# statfs(2), linux/magic.h
_NAMES = {
    0xEF53: "ext",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x01021994: "tmpfs",
    0x794C7630: "overlay",
    0x2FC12FC1: "zfs",
    0xF2F52010: "f2fs",
    0xCA451A4E: "bcachefs",
    0x6969: "nfs",
    0xFF534D42: "cifs",
    0xFE534D42: "smb",
    0x01021997: "9p",
    0x65735546: "fuse",
    0x4D44: "vfat",
    0x2011BAB0: "exfat",
    0x7366746E: "ntfs",
}


class Probes(msgspec.Struct, frozen=True):
    """What works in the workspace. On one that cannot be written, what needs a file is False.

    `timestamp_tick_ns` is the smallest step seen between two changes of a file's mtime, 0 where none was seen.
    `sandbox` says what confines the daemon, in words; the workspace does not tell it, so `probe` leaves it at `off`.
    """

    openat2: bool
    exchange: bool
    noreplace: bool
    tmpfile: bool
    leases: bool
    xattrs: bool
    timestamp_tick_ns: int
    watch_limit: int | None
    file_system: str | None
    sandbox: str = "off"


def probe(dir_fd: int) -> Probes:
    """Try everything with files of our own in the directory behind `dir_fd` (O_PATH will do); none is left.

    Blocks for up to 0.1 s. Needs `linux.ignore_lease_signal`.
    """
    return Probes(
        openat2=has_openat2(dir_fd),
        exchange=_works(_try_exchange, dir_fd),
        noreplace=_works(_try_noreplace, dir_fd),
        tmpfile=_works(_try_tmpfile, dir_fd),
        leases=_works(_try_lease, dir_fd),
        xattrs=_works(_try_xattr, dir_fd),
        timestamp_tick_ns=_measure_tick(dir_fd),
        watch_limit=_read_watch_limit(),
        file_system=_NAMES.get(linux.file_system_magic(dir_fd)),
    )


def _works(attempt: Callable[[int], None], dir_fd: int) -> bool:
    try:
        attempt(dir_fd)
    except OSError:
        return False
    return True


@contextmanager
def _temp(dir_fd: int) -> Iterator[tuple[int, bytes]]:
    """A file of our own, as descriptor and name; the name is gone at the end, wherever a rename left it."""
    name = _temp_name()
    fd = os.open(name, _FILE, 0o600, dir_fd=dir_fd)
    try:
        yield fd, name
    finally:
        os.close(fd)
        _unlink(dir_fd, name)


def _try_exchange(dir_fd: int) -> None:
    with _temp(dir_fd) as (_, one), _temp(dir_fd) as (_, other):
        linux.rename_exchange(dir_fd, one, dir_fd, other)


def _try_noreplace(dir_fd: int) -> None:
    with _temp(dir_fd) as (_, name):
        moved = _temp_name()
        linux.rename_noreplace(dir_fd, name, dir_fd, moved)
        _unlink(dir_fd, moved)


def _try_tmpfile(dir_fd: int) -> None:
    fd = os.open(b".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=dir_fd)
    name = _temp_name()
    try:
        linux.link_fd(fd, dir_fd, name)
    finally:
        os.close(fd)
        _unlink(dir_fd, name)


def _try_lease(dir_fd: int) -> None:
    name = _temp_name()
    os.close(os.open(name, _FILE, 0o600, dir_fd=dir_fd))  # a read lease is refused while anybody may write, also we
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
        try:
            if not linux.take_read_lease(fd):
                raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
            linux.drop_lease(fd)
        finally:
            os.close(fd)
    finally:
        _unlink(dir_fd, name)


def _try_xattr(dir_fd: int) -> None:
    with _temp(dir_fd) as (fd, _):
        os.setxattr(fd, b"user.picoclawd.probe", b"1")


def _measure_tick(dir_fd: int) -> int:
    try:
        with _temp(dir_fd) as (fd, _):
            seen_ns = _mtimes(fd)
    except OSError:
        return 0
    steps_ns = [later - earlier for earlier, later in pairwise(seen_ns)]
    return min(steps_ns, default=0)


def _mtimes(fd: int) -> list[int]:
    seen_ns = [os.fstat(fd).st_mtime_ns]
    deadline = time.monotonic() + _TICK_DEADLINE_S
    while len(seen_ns) <= _TICK_CHANGES and time.monotonic() < deadline:
        os.pwrite(fd, b"x", 0)
        mtime_ns = os.fstat(fd).st_mtime_ns
        if mtime_ns != seen_ns[-1]:
            seen_ns.append(mtime_ns)
    return seen_ns


def _read_watch_limit() -> int | None:
    try:
        with open(_WATCH_LIMIT, encoding="ascii") as source:
            return int(source.read())
    except (OSError, ValueError):
        return None


def _temp_name() -> bytes:
    return b"%s%d.%s%s" % (limits.TEMP_PREFIX, os.getpid(), secrets.token_hex(8).encode(), limits.TEMP_SUFFIX)


def _unlink(dir_fd: int, name: bytes) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=dir_fd)
