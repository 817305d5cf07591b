"""Open a path below a root descriptor so that no link, `..` or race leads out of it: openat2, or a component walk.

Both follow links that stay inside, also absolute ones that point inside, and give one verdict on every path. Leaving
the root raises `Escape`; nothing outside is touched to find that out.
"""

import errno
import os
import stat
from collections.abc import Callable
from typing import Protocol

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, linux, paths
from picoclawd.files.paths import Roots

_BENEATH = linux.RESOLVE_BENEATH | linux.RESOLVE_NO_MAGICLINKS
_NO_OPENAT2 = frozenset({errno.ENOSYS, errno.EPERM})  # an older kernel; a seccomp filter that does not know it


class Escape(Exception):
    """The path leads out of its root, to `target`: absolute, normalised as text, untouched."""

    def __init__(self, target: bytes) -> None:
        super().__init__(target)
        self.target = target


class Resolver(Protocol):
    """A way to open what lies below a root."""

    def open(self, root_fd: int, relative: bytes, flags: int) -> int:
        """Open `relative` (`b""` is the root itself) and give a descriptor that the caller owns; never create.

        A trailing slash wants a directory. O_CLOEXEC is added.

        Raises: `Escape`; `OSError` as open(2) would, ELOOP also for the magic links of /proc; path_busy where
        renames race for too long.
        """
        ...

    def reroot(self, root_fd: int, target: bytes) -> bytes:
        """Give an absolute link text relative to the root, where it points inside as text.

        Raises: `Escape` where it does not.
        """
        ...


ResolverKind = Callable[[Roots], Resolver]


class WalkResolver:
    """Follow a path component by component, each held by a descriptor. For kernels without openat2.

    `aliases` are further absolute spellings of the root: an absolute link that begins with one points inside.
    """

    def __init__(self, aliases: Roots = ()) -> None:
        self._aliases = aliases

    def open(self, root_fd: int, relative: bytes, flags: int) -> int:
        """See `Resolver.open`."""
        walk = _Walk(root_fd, self._roots(root_fd), relative)
        try:
            return walk.run(flags | os.O_CLOEXEC)
        finally:
            walk.close()

    def reroot(self, root_fd: int, target: bytes) -> bytes:
        """See `Resolver.reroot`."""
        return _reroot(self._roots(root_fd), target)

    def _roots(self, root_fd: int) -> Roots:
        path = linux.fd_path(root_fd)
        return self._aliases if path is None else (path, *self._aliases)


class Openat2Resolver:
    """Let the kernel resolve in one call. It calls every absolute link an escape: there the walk decides."""

    def __init__(self, aliases: Roots = ()) -> None:
        self._walk = WalkResolver(aliases)

    def open(self, root_fd: int, relative: bytes, flags: int) -> int:
        """See `Resolver.open`."""
        for _ in range(limits.OPENAT2_TRIES):
            try:
                return linux.openat2(root_fd, relative or b".", flags, 0, _BENEATH)
            except OSError as exc:
                if exc.errno == errno.EXDEV:
                    return self._walk.open(root_fd, relative, flags)
                if exc.errno != errno.EAGAIN:
                    raise
            os.sched_yield()  # whoever is in the middle of a rename may need this processor to finish it
        raise Fault(Slug.PATH_BUSY, "another process keeps renaming directories of this path: try again later")

    def reroot(self, root_fd: int, target: bytes) -> bytes:
        """See `Resolver.reroot`."""
        return self._walk.reroot(root_fd, target)


def best_resolver(root_fd: int) -> ResolverKind:
    """Choose openat2 where the kernel offers it to us, else the walk."""
    return Openat2Resolver if has_openat2(root_fd) else WalkResolver


def has_openat2(dir_fd: int) -> bool:
    """Tell whether openat2 works here."""
    try:
        closing.close(linux.openat2(dir_fd, b".", os.O_PATH | os.O_DIRECTORY, 0, _BENEATH))
    except OSError as exc:
        if exc.errno in _NO_OPENAT2:
            return False
        raise
    return True


class _Walk:
    """One walk: `_held` are the directories from the root to here, `_pending` the components to come, last first."""

    def __init__(self, root_fd: int, roots: Roots, relative: bytes) -> None:
        self._roots = roots
        self._held = [root_fd]
        self._pending = relative.split(b"/")[::-1]
        self._links = 0

    def run(self, flags: int) -> int:
        """Walk to the end and give the descriptor of what is there."""
        while self._pending:
            name = self._pending.pop()
            if name == b"..":
                self._up()
            elif name not in (b"", b"."):
                fd = self._enter(name, flags)
                if fd is not None:
                    return fd
        return os.open(b".", flags, dir_fd=self._held[-1])

    def close(self) -> None:
        """Close every directory held but the root, which is the caller's."""
        while len(self._held) > 1:
            closing.close(self._held.pop())

    def _up(self) -> None:
        if len(self._held) > 1:
            closing.close(self._held.pop())
        else:
            parent = paths.split(self._roots[0])[0] if self._roots else b"/.."
            self._redirect(parent)

    def _enter(self, name: bytes, flags: int) -> int | None:
        """Take one component; give a descriptor where it was the last one and no link to follow."""
        fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._held[-1])
        try:
            mode = os.fstat(fd).st_mode
            if stat.S_ISLNK(mode) and (self._pending or not flags & os.O_NOFOLLOW):
                self._follow(fd)
                return None
            if not self._pending:
                return _reopen(fd, flags)
            if not stat.S_ISDIR(mode):
                raise _os_error(errno.ENOTDIR)
            self._hold(os.dup(fd))
            return None
        finally:
            closing.close(fd)

    def _hold(self, fd: int) -> None:
        self._held.append(fd)
        if len(self._held) > limits.PATH_DEPTH_MAX + 1:
            raise _os_error(errno.ENAMETOOLONG)

    def _follow(self, link_fd: int) -> None:
        self._links += 1
        # A magic link's text is not where it leads; /proc's few ordinary links are refused along with them.
        if self._links > limits.SYMLINKS_MAX or linux.file_system_magic(link_fd) == linux.PROC_SUPER_MAGIC:
            raise _os_error(errno.ELOOP)
        target = os.readlink(b"", dir_fd=link_fd)
        if target.startswith(b"/"):
            self._redirect(target)
        else:
            self._pending.extend(target.split(b"/")[::-1])

    def _redirect(self, target: bytes) -> None:
        """Go on at an absolute path: from the root again where it points inside, else escape."""
        relative = _reroot(self._roots, b"/".join((target, *self._pending[::-1])))
        self.close()
        self._pending = relative.split(b"/")[::-1]


def _reroot(roots: Roots, target: bytes) -> bytes:
    """Cut a root's spelling off `target`, so that the walk meets the rest as written; else decide by the text."""
    for root in roots:
        rest = paths.below(target, root)
        if rest is not None:
            return rest
    absolute = paths.lexical(target)
    relative = paths.inside(absolute, roots)
    if relative is None:
        raise Escape(absolute)
    return relative + b"/" if target.endswith((b"/", b"/.", b"/..")) else relative


def _reopen(fd: int, flags: int) -> int:
    """Open what an O_PATH descriptor holds: no name is looked up again, so nothing can be swapped in between."""
    if flags & os.O_PATH:
        if flags & os.O_DIRECTORY and not stat.S_ISDIR(os.fstat(fd).st_mode):
            raise _os_error(errno.ENOTDIR)
        return os.dup(fd)
    return linux.reopen(fd, flags & ~os.O_NOFOLLOW)


def _os_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
