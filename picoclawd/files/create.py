"""Create a file atomically: it appears complete, and of two creators one wins and the other learns it."""

import errno
import os

from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, linux, metadata, stamps, temps
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import Committed, StillThere, Target, always, check_still_there, reported

# What open(2) says of O_TMPFILE where the file system, or an old kernel, has no such thing.
_NO_TMPFILE = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL})
# What linkat(2) says where a file without a name cannot be given one: no /proc, no hard links.
_NO_LINK = frozenset({errno.ENOENT, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV})
_NO_RENAME_FLAGS = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


def create(target: Target, new: bytes, mode: int | None, *, still_there: StillThere = always) -> Committed:
    """Create the file with these bytes; its directory must exist. `mode` None follows the umask. Blocking.

    Raises: conflict, when something has the name by now: it is left as it is; access_denied naming the directory,
    io_error; with outcome unknown once the name is given.
    """
    mode = metadata.new_file_mode() if mode is None else mode
    with reported("write", target.given):
        check_still_there(target, still_there)
        try:
            ours = _link_unnamed(target, new, mode) or _rename_named(target, new, mode)
        except FileExistsError as exc:
            raise _lost(target) from exc
        stamp = temps.settle(target, ours, still_there)
    return Committed(stamp, len(new), hardlinks=stamp.nlink - 1, exchanged=False, leased=False)


def _link_unnamed(target: Target, new: bytes, mode: int) -> Stamp | None:
    """Write a file that has no name, then name it: a crash leaves nothing. None where that is not offered."""
    fd = _open_unnamed(target)
    if fd is None:
        return None
    try:
        ours = _fill(fd, new, mode)
        return ours if _link(fd, target) else None
    finally:
        closing.close(fd)


def _open_unnamed(target: Target) -> int | None:
    try:
        return os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=target.dir_fd)
    except (PermissionError, FileNotFoundError) as exc:
        raise temps.directory_fault(target, exc) from exc
    except OSError as exc:
        if exc.errno in _NO_TMPFILE:
            return None
        raise


def _link(fd: int, target: Target) -> bool:
    try:
        linux.link_fd(fd, target.dir_fd, target.name)
    except OSError as exc:
        if exc.errno in _NO_LINK:
            return False
        raise
    return True


def _fill(fd: int, new: bytes, mode: int) -> Stamp:
    temps.write_all(fd, new)
    os.fchmod(fd, mode)
    os.fsync(fd)
    return stamps.of(os.fstat(fd))


def _rename_named(target: Target, new: bytes, mode: int) -> Stamp:
    with temps.beside(target) as temp:
        temps.write_all(temp.fd, new)
        os.fchmod(temp.fd, mode)
        ours = temp.seal()
        if _rename_over_nothing(target, temp.name):
            temp.disown()
        return ours


def _rename_over_nothing(target: Target, temp_name: bytes) -> bool:
    """Give the file its name unless there is one; False where it now has both names, by a hard link."""
    try:
        linux.rename_noreplace(target.dir_fd, temp_name, target.dir_fd, target.name)
    except OSError as exc:
        if exc.errno not in _NO_RENAME_FLAGS:
            raise
        os.link(temp_name, target.name, src_dir_fd=target.dir_fd, dst_dir_fd=target.dir_fd, follow_symlinks=False)
        return False
    return True


def _lost(target: Target) -> Fault:
    return Fault(
        Slug.CONFLICT,
        f"{target.given} was created by somebody else just now: nothing was written and their file is as it is. "
        "Read it, then decide",
    )
