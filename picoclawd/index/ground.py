"""Look at directories beneath one root: open, stat and list them, and follow no link on the way. All calls block."""

import errno
import os
import stat as stat_bits

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import linux, protected
from picoclawd.files.resolve import has_openat2
from picoclawd.index.listing import Kind, Seen

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BENEATH = linux.RESOLVE_BENEATH | linux.RESOLVE_NO_SYMLINKS | linux.RESOLVE_NO_MAGICLINKS

GIT = b".git"
OWN = b".picoclaw"  # of the root only

_KINDS = {stat_bits.S_IFREG: Kind.FILE, stat_bits.S_IFDIR: Kind.DIRECTORY, stat_bits.S_IFLNK: Kind.SYMLINK}


class Ground:
    """One root and the way to reach what lies beneath it. `root_fd` may be O_PATH; it stays the caller's.

    Paths are relative to the root, `b""` is the root itself. Safe to share between threads.
    """

    def __init__(self, root_fd: int, *, openat2: bool | None = None) -> None:
        self._root_fd = root_fd
        self._openat2 = has_openat2(root_fd) if openat2 is None else openat2

    def open(self, relative: bytes) -> int:
        """Open a directory for `scandir`; the caller owns the descriptor.

        Raises: OSError, as ELOOP or ENOTDIR where any component is a link; path_busy.
        """
        return self._open_at_once(relative) if self._openat2 else self._open_by_steps(relative)

    def stat(self, relative: bytes) -> os.stat_result:
        """Stat what is there, a final link itself. It may be reached through a link: prove nothing by it but change."""
        return os.stat(relative or b".", dir_fd=self._root_fd, follow_symlinks=False)

    def _open_at_once(self, relative: bytes) -> int:
        for _ in range(limits.OPENAT2_TRIES):
            try:
                return linux.openat2(self._root_fd, relative or b".", _FLAGS, 0, _BENEATH)
            except OSError as exc:
                if exc.errno != errno.EAGAIN:
                    raise
            os.sched_yield()
        raise Fault(Slug.PATH_BUSY, "another process keeps renaming directories of the workspace: try again later")

    def _open_by_steps(self, relative: bytes) -> int:
        fd = os.open(b".", _FLAGS, dir_fd=self._root_fd)
        for name in relative.split(b"/") if relative else ():
            try:
                below = os.open(name, _FLAGS, dir_fd=fd)
            finally:
                os.close(fd)
            fd = below
        return fd


def keeps(directory: bytes, name: bytes) -> bool:
    """Tell whether the tree knows an entry at all: not `.git`, not our own directory, no unfinished write of ours."""
    if not name.startswith(b"."):
        return True
    return name != GIT and (name != OWN or directory != b"") and not protected.is_temp(name)


def look(directory_fd: int, directory: bytes) -> Seen:
    """List an opened directory; `directory` is its path. What vanishes meanwhile is left out.

    Raises: OSError.
    """
    found: dict[str, Kind] = {}  # a directory that changes while it is read may show a name twice
    with os.scandir(directory_fd) as entries:
        for entry in entries:
            kind = _kind(entry)
            if kind is not None:
                found[entry.name] = kind
    names = os.fsencode("\0".join(found)).split(b"\0") if found else []  # at once: it costs as much as the listing
    kept = sorted((name, kind) for name, kind in zip(names, found.values(), strict=True) if keeps(directory, name))
    return Seen(tuple(name for name, _ in kept), bytes(kind for _, kind in kept))


def kind_at(directory_fd: int, name: bytes) -> Kind | None:
    """Tell what an entry of an opened directory is, None where it is not there.

    Raises: OSError.
    """
    try:
        mode = os.stat(name, dir_fd=directory_fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    return _KINDS.get(stat_bits.S_IFMT(mode), Kind.SPECIAL)


def _kind(entry: "os.DirEntry[str]") -> Kind | None:
    """None where the entry is gone: some file systems do not tell the kind while listing."""
    try:
        if entry.is_file(follow_symlinks=False):
            return Kind.FILE
        if entry.is_dir(follow_symlinks=False):
            return Kind.DIRECTORY
        return Kind.SYMLINK if entry.is_symlink() else Kind.SPECIAL
    except OSError:
        return None
