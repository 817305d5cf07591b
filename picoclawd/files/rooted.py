"""Open what a client can name, below the workspace's descriptor or, where the policy allows it, below `/`.

The only module that does. Every path is judged twice: as requested, before anything is touched, and by the real path
of the descriptor that was opened; from then on only that descriptor is used. All calls block.
"""

import errno
import os
import stat as stat_bits
from collections.abc import Callable
from typing import Self

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, linux, paths, placing, root
from picoclawd.files.handles import Foreseen, Held, OpenDirectory, OpenFile, Place, kind_of
from picoclawd.files.oserrors import as_fault
from picoclawd.files.paths import Roots, WsPath
from picoclawd.files.placing import Base, Spot
from picoclawd.files.policy import Access, Allow, Ask, Policy, Refuse, strictest
from picoclawd.files.resolve import Escape, ResolverKind, best_resolver

# O_NONBLOCK: a FIFO without a writer must not hang us; O_NOCTTY: a terminal must not become ours.
_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_AT_HAND = linux.RESOLVE_BENEATH | linux.RESOLVE_NO_MAGICLINKS | linux.RESOLVE_CACHED
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC

_MOVED_TRIES = 16  # each means that the file was moved between two system calls
_MOVED = frozenset({Slug.PROTECTED_PATH, Slug.OUTSIDE_WORKSPACE})

_ACTIONS = {Access.READ: "read", Access.READ_OR_ASK: "read", Access.LIST: "list", Access.WRITE: "write"}

_Find = Callable[[Base, bytes], Spot]


class _Request(msgspec.Struct, frozen=True):
    """One call: what is asked for, how messages name it, and whether only a directory will do."""

    path: WsPath
    access: Access
    thing: str = "file"

    @property
    def is_directory(self) -> bool:
        return self.thing == "directory"

    @property
    def action(self) -> str:
        return _ACTIONS[self.access]

    def fault(self, exc: OSError) -> Fault:
        return as_fault(exc, self.action, self.path.given, thing=self.thing)

    def wrong_kind(self, mode: int) -> Fault:
        what = kind_of(mode)
        message = f"failed to {self.action} file: it is a {what}, not a regular file ({self.path.given})"
        advice = "List it, or name a file in it." if what == "directory" else "Only regular files are opened."
        return Fault(Slug.NOT_A_FILE, f"{message}. {advice}", kind=what)


class Rooted:
    """The workspace's root, held open, and the policy that everything opened through it must pass.

    `policy` may be replaced while in use. `aliases` are further absolute spellings of the workspace, such as the one
    in the configuration. Safe to share between threads.

    Raises: root_gone where the workspace cannot be opened.
    """

    def __init__(
        self,
        workspace: bytes,
        policy: Policy,
        resolver: ResolverKind | None = None,
        *,
        aliases: Roots = (),
    ) -> None:
        self.workspace = workspace
        self.policy = policy
        self._root_fd = root.open_root(workspace)
        self._slash_fd = os.open(b"/", root.FLAGS)
        kind = resolver or best_resolver(self._root_fd)
        self._inside = Base(self._root_fd, kind(aliases))
        self._outside = Base(self._slash_fd, kind(()))
        self._real_depth_max = workspace.count(b"/") + limits.PATH_DEPTH_MAX
        held = os.fstat(self._root_fd)
        self.identity = (held.st_dev, held.st_ino)

    def close(self) -> None:
        """Close both roots; what was opened through them stays open."""
        closing.close(self._root_fd)
        closing.close(self._slash_fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def root_fd(self) -> int:
        """The workspace's descriptor (O_PATH), for probes and for walking the tree; it stays ours."""
        return self._root_fd

    def open_file(self, path: WsPath, access: Access = Access.READ) -> OpenFile:
        """Open a regular file for reading.

        Raises: outside_workspace, protected_path, not_found, access_denied, not_a_file, not_a_directory, symlink_loop,
        invalid_path, path_busy, io_error, root_gone.
        """
        return OpenFile(*self._open(_Request(path, access), _FILE_FLAGS))

    def open_at_hand(self, path: WsPath, access: Access = Access.READ) -> OpenFile | None:
        """The same without waiting for a disk, for the loop's own use; None where that does not work out.

        It works for what lies inside, is known to exist, and whose directories the kernel has in memory.

        Raises: what the policy says to the path.
        """
        request = _Request(path, access)
        asked = self._judge(request, path.absolute)
        if not path.relative or path.wants_directory:
            return None
        try:
            fd = linux.openat2(self._root_fd, path.relative, _FILE_FLAGS, 0, _AT_HAND)
        except OSError:
            return None
        try:
            real, verdict, found = self._look_at(request, fd)
        except Fault as fault:
            if fault.slug in _MOVED:
                return None  # it may only have been moved just now: `open_file` looks again
            raise
        return OpenFile(fd, found, real, strictest(asked, verdict))

    def key_at_hand(self, path: WsPath) -> tuple[int, int, bytes] | None:
        """The `key` that `place` would give, without waiting for a disk; None where that does not work out.

        For the loop's own use, to know which lock to wait for; it judges nothing. A final link does not work out.
        """
        if not path.relative or path.wants_directory:
            return None
        parent, name = paths.split(path.relative)
        try:
            fd = linux.openat2(self._root_fd, parent or b".", root.FLAGS, 0, _AT_HAND)
        except OSError:
            return None
        try:
            with Held(fd):
                return self._key_of(fd, name)
        except OSError:
            return None

    def _key_of(self, dir_fd: int, name: bytes) -> tuple[int, int, bytes] | None:
        directory = os.fstat(dir_fd)
        key = (directory.st_dev, directory.st_ino, name)
        try:
            seen_fd = linux.openat2(dir_fd, name, os.O_PATH | os.O_NOFOLLOW, 0, _AT_HAND)
        except FileNotFoundError:
            return key
        except OSError:
            return None
        with Held(seen_fd):
            return None if stat_bits.S_ISLNK(os.fstat(seen_fd).st_mode) else key

    def open_directory(self, path: WsPath, access: Access = Access.LIST) -> OpenDirectory:
        """Open a directory for listing; raises as `open_file` does."""
        return OpenDirectory(*self._open(_Request(path, access, "directory"), _DIRECTORY_FLAGS))

    def place(self, path: WsPath, access: Access = Access.WRITE, *, make_parents: bool = False) -> Place:
        """Find the directory and name to write a regular file at; a final link is followed, also a dangling one.

        Missing directories are created (0755) if `make_parents`, after the policy has agreed to the whole path, and
        else are not_found. With an `Ask` verdict possible, call `foresee` first: it creates nothing.

        Raises: as `open_file` does; invalid_path where the path of no file ends in a slash.
        """
        request = _Request(path, access)
        spot, verdict = self._spot(request, placing.locate_target)
        with spot:
            _check_writable(request, spot)
            return self._settle(request, spot, verdict, make_parents)

    def foresee(self, path: WsPath, access: Access = Access.WRITE) -> Foreseen:
        """Tell what `place` would find, and what a person would have to be asked; create nothing."""
        request = _Request(path, access)
        spot, verdict = self._spot(request, placing.locate_target)
        with spot:
            _check_writable(request, spot)
            return Foreseen(spot.real, spot.stat, spot.missing, verdict)

    def entry(self, path: WsPath, access: Access = Access.WRITE) -> Place:
        """Find the directory and name of whatever lies at `path`, of any kind, a final link itself: to remove or move.

        Raises: as `open_file` does.
        """
        request = _Request(path, access)
        spot, verdict = self._spot(request, placing.locate)
        with spot:
            if path.wants_directory and spot.stat is not None and not stat_bits.S_ISDIR(spot.stat.st_mode):
                raise request.fault(OSError(errno.ENOTDIR, ""))
            return self._settle(request, spot, verdict, False)

    def check_root(self) -> None:
        """Check that the workspace still is the directory that was opened at start.

        Raises: root_gone once it was moved, removed or replaced; io_error where the system does not tell.
        """
        root.check(self._root_fd, self.workspace)

    def _open(self, request: _Request, flags: int) -> tuple[int, os.stat_result, bytes, Allow | Ask]:
        """Give descriptor, stat, real path and verdict of what was asked for, or raise with nothing left open.

        What is refused for its real path is opened again: a save by exchange, or a removal, may have moved the file
        to a temporary name, or to the trash, before that path was asked for.
        """
        asked = self._judge(request, request.path.absolute)
        for last in (*[False] * _MOVED_TRIES, True):
            fd, reached = self._reach(request, flags)
            try:
                real, verdict, found = self._look_at(request, fd)
            except Fault as fault:
                if last or fault.slug not in _MOVED:
                    raise
            else:
                return fd, found, real, strictest(strictest(asked, reached), verdict)
        raise AssertionError("the last try answers or raises")

    def _look_at(self, request: _Request, fd: int) -> tuple[bytes, Allow | Ask, os.stat_result]:
        """Real path, verdict and stat of what was opened; where it raises, `fd` is closed."""
        try:
            real, verdict = self._judge_real(request, _real_of(request, fd))
            found = os.fstat(fd)
            _check_kind(request, found.st_mode)
        except BaseException:
            closing.close(fd)
            raise
        return real, verdict, found

    def _reach(self, request: _Request, flags: int) -> tuple[int, Allow | Ask]:
        path = request.path
        if path.relative is None:
            return self._reach_outside(request, path.absolute, flags)
        relative = path.relative + b"/" if path.wants_directory and path.relative else path.relative
        try:
            return self._inside.open(relative, flags), Allow()
        except Escape as escape:
            target = escape.target
        except OSError as exc:
            raise self._inside_fault(request, exc) from exc
        return self._reach_outside(request, target, flags)

    def _reach_outside(self, request: _Request, target: bytes, flags: int) -> tuple[int, Allow | Ask]:
        """Look at what is there by O_PATH first: to open a device is to use it."""
        verdict = self._judge(request, target)
        relative = target[1:] + b"/" if request.path.wants_directory else target[1:]
        try:
            seen_fd = self._outside.open(relative, os.O_PATH)
        except OSError as exc:
            raise self._outside_fault(request, target, exc) from exc
        with Held(seen_fd):
            self._judge_real(request, _real_of(request, seen_fd))
            _check_kind(request, os.fstat(seen_fd).st_mode)
            try:
                return linux.reopen(seen_fd, flags), verdict
            except OSError as exc:
                raise request.fault(exc) from exc

    def _spot(self, request: _Request, find: _Find) -> tuple[Spot, Allow | Ask]:
        """Find where the path leads and what the policy says to it; the caller owns the spot."""
        asked = self._judge(request, request.path.absolute)
        spot, reached = self._find(request, find)
        try:
            if spot.stat is None:
                self.check_root()  # below a removed directory nothing can be created
            _, verdict = self._judge_real(request, spot.real)
        except BaseException:
            spot.close()
            raise
        return spot, strictest(strictest(asked, reached), verdict)

    def _find(self, request: _Request, find: _Find) -> tuple[Spot, Allow | Ask]:
        path = request.path
        if path.relative is None:
            return self._find_outside(request, find, path.absolute)
        try:
            return find(self._inside, path.relative), Allow()
        except Escape as escape:
            target = escape.target
        except OSError as exc:
            raise self._inside_fault(request, exc) from exc
        return self._find_outside(request, find, target)

    def _find_outside(self, request: _Request, find: _Find, target: bytes) -> tuple[Spot, Allow | Ask]:
        verdict = self._judge(request, target)
        try:
            return find(self._outside, target[1:]), verdict
        except OSError as exc:
            raise self._outside_fault(request, target, exc) from exc

    def _judge(self, request: _Request, absolute: bytes) -> Allow | Ask:
        verdict = self.policy.decide(request.access, absolute, None, is_directory=request.is_directory)
        if isinstance(verdict, Refuse):
            raise Fault(verdict.slug, f"{verdict.reason} (path: {request.path.given})")
        return verdict

    def _judge_real(self, request: _Request, real: bytes | None) -> tuple[bytes, Allow | Ask]:
        """Judge the path of what is held. The requested one has passed, so the same path needs no second look."""
        if real is None or real.count(b"/") > self._real_depth_max:
            raise request.fault(OSError(errno.ENAMETOOLONG, ""))
        if real == request.path.absolute:
            return real, Allow()
        if request.path.relative is not None and paths.below(real, self.workspace) is None:
            self.check_root()
        return real, self._judge(request, real)

    def _inside_fault(self, request: _Request, exc: OSError) -> Fault:
        self.check_root()
        return request.fault(exc)

    def _outside_fault(self, request: _Request, target: bytes, exc: OSError) -> Fault:
        """Say why nothing was opened only where the policy allows the place that links lead to: else it may not show.

        The real path is found by name here, which may race: it decides about words, never about access.
        """
        try:
            real = os.path.realpath(target)
        except OSError:  # realpath raises where a link is swapped under it
            return request.fault(OSError(errno.EAGAIN, ""))
        if exc.errno != errno.ELOOP and _holds_link(real):  # Python 3.13 passes over such a link instead
            return request.fault(OSError(errno.EAGAIN, ""))
        self._judge(request, real)
        return request.fault(exc)

    def _settle(self, request: _Request, spot: Spot, verdict: Allow | Ask, make_parents: bool) -> Place:
        if spot.missing and not make_parents:
            message = f"failed to {request.action} file: its directory does not exist ({request.path.given})"
            raise Fault(Slug.NOT_FOUND, f"{message}. List the directory above to see what exists.", errno_name="ENOENT")
        if spot.missing:
            try:
                placing.make_directories(spot)
            except OSError as exc:
                raise self._inside_fault(request, exc) from exc
            _check_writable(request, spot)
        return Place(spot.release(), spot.name, spot.real, spot.stat, verdict)


def _holds_link(absolute: bytes) -> bool:
    """Whether the path, or a directory on its way, is a link now."""
    parts = absolute.split(b"/")
    return any(os.path.islink(b"/".join(parts[:length])) for length in range(2, len(parts) + 1))


def _real_of(request: _Request, fd: int) -> bytes | None:
    try:
        return linux.fd_path(fd)
    except OSError as exc:
        raise request.fault(exc) from exc


def _check_kind(request: _Request, mode: int) -> None:
    if request.is_directory and not stat_bits.S_ISDIR(mode):
        raise request.fault(OSError(errno.ENOTDIR, ""))
    if not request.is_directory and not stat_bits.S_ISREG(mode):
        raise request.wrong_kind(mode)


def _check_writable(request: _Request, spot: Spot) -> None:
    """Only a regular file is written, and only to a name: not to one with a slash behind it."""
    wants_directory = request.path.wants_directory
    if spot.stat is None and wants_directory:
        message = f"a file's path cannot end in a slash ({request.path.given}): leave it out"
        raise Fault(Slug.INVALID_PATH, message)
    if spot.stat is None:
        return
    _check_kind(request, spot.stat.st_mode)
    if wants_directory:
        raise request.fault(OSError(errno.ENOTDIR, ""))
