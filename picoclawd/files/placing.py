"""Find the directory and the name that a path to be written leads to, also where directories are still missing."""

import errno
import os
import stat as stat_bits
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from picoclawd import limits
from picoclawd.files import closing, linux, paths
from picoclawd.files.handles import Held
from picoclawd.files.resolve import Escape, Resolver

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_NAME = frozenset({b"", b".", b".."})
_NEW_DIRECTORY_MODE = 0o755


class Base(msgspec.Struct, frozen=True):
    """A root descriptor with the resolver that opens below it."""

    fd: int
    resolver: Resolver

    def open(self, relative: bytes, flags: int) -> int:
        """See `Resolver.open`."""
        return self.resolver.open(self.fd, relative, flags)


@dataclass(slots=True)
class Spot(Held):
    """Where a path leads: `fd` is the deepest directory that exists, `missing` are those between it and `name`.

    `real` is the absolute path that `name` has or will have; `stat` is None where nothing is there.
    """

    missing: tuple[bytes, ...]
    name: bytes
    real: bytes
    stat: os.stat_result | None


def locate_target(base: Base, relative: bytes) -> Spot:
    """Find the spot of `relative`, following a final link, also a dangling one, to the name that it stands for.

    Raises: `Escape`; `OSError`: EISDIR where the path can only be a directory, ELOOP after too many links.
    """
    for _ in range(limits.SYMLINKS_MAX + 1):
        spot = locate(base, relative)
        if spot.stat is None or not stat_bits.S_ISLNK(spot.stat.st_mode):
            return spot
        with spot:
            relative = _retarget(base, spot, relative)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def locate(base: Base, relative: bytes) -> Spot:
    """Find the spot of `relative` itself: a final link is not followed.

    Raises: `Escape`; `OSError` as in `locate_target`, and ENOENT where a directory of the path is a dangling link.
    """
    parent, name = paths.split(relative)
    if name in _NO_NAME:
        closing.close(base.open(relative, os.O_PATH))  # it escapes, or is missing, or is the directory that it must be
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    try:
        fd, missing = _deepest(base, parent)
    except Escape as exc:
        raise Escape(paths.join(exc.target, name)) from None
    try:
        return _spot(fd, missing, name)
    except BaseException:
        closing.close(fd)
        raise


def make_directories(spot: Spot) -> None:
    """Create what is missing, each name below the descriptor of the one before; `spot.fd` is then the last of them.

    New directories are on disk when this returns. One that another process made meanwhile is taken; a link is not.
    """
    for name in spot.missing:
        with suppress(FileExistsError):
            os.mkdir(name, _NEW_DIRECTORY_MODE, dir_fd=spot.fd)
        os.fsync(spot.fd)
        child = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=spot.fd)
        spot.close()
        spot.fd = child
    spot.missing = ()
    spot.stat = _lstat(spot.fd, spot.name)


def _spot(fd: int, missing: tuple[bytes, ...], name: bytes) -> Spot:
    path = linux.fd_path(fd)
    if path is None:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    if missing:
        _refuse_dangling(fd, missing[0])
    stat = None if missing else _lstat(fd, name)
    return Spot(fd, missing, name, paths.join(path, b"/".join((*missing, name))), stat)


def _retarget(base: Base, spot: Spot, relative: bytes) -> bytes:
    """Replace the final link of `relative` by its text; one that vanished meanwhile is simply looked up again."""
    try:
        target = os.readlink(spot.name, dir_fd=spot.fd)
    except OSError as exc:
        if exc.errno in (errno.EINVAL, errno.ENOENT):
            return relative
        raise
    if target.startswith(b"/"):
        return base.resolver.reroot(base.fd, target)
    parent = paths.split(relative)[0]
    return paths.join(parent, target) if parent else target


def _deepest(base: Base, parent: bytes) -> tuple[int, tuple[bytes, ...]]:
    """Open the deepest existing directory of `parent`, and name those below it that do not exist."""
    components = [component for component in parent.split(b"/") if component not in (b"", b".")]
    missing: list[bytes] = []
    while True:
        try:
            return base.open(b"/".join(components), _DIRECTORY), tuple(missing)
        except FileNotFoundError:
            if not components or components[-1] == b"..":
                raise
            missing.insert(0, components.pop())


def _refuse_dangling(fd: int, name: bytes) -> None:
    """Refuse to create a directory where a link to nothing already has its name."""
    there = _lstat(fd, name)
    if there is not None and stat_bits.S_ISLNK(there.st_mode):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _lstat(dir_fd: int, name: bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
