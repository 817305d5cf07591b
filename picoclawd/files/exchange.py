"""Swap the new file in and look at what came out; if it is not what was expected, put it back and lose nothing.

The exchange replaces the check that a plain rename cannot make: whatever had the name is in our hands afterwards,
under the temporary name, and is dropped only when it is the very version that the change was computed from.
"""

import errno
import os
import stat

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, leases, linux, reading, stamps, temps
from picoclawd.files.leases import Lease
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import Keep, Target, changed_meanwhile, reported
from picoclawd.files.temps import Temp

# RENAME_EXCHANGE is not offered by this kernel or file system.
_NO_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


class Displaced(msgspec.Struct, frozen=True):
    """The old version that the new file took the name from. `exchanged` is False for the weaker check-then-rename."""

    stamp: Stamp
    exchanged: bool


def swap_in(target: Target, temp: Temp, ours: Stamp, expected: Stamp, lease: Lease, keep: Keep | None) -> Displaced:
    """Give the sealed `temp`, whose stamp is `ours`, the target's name; drop the `expected` version. Blocking.

    Raises: conflict, when another program saved in between: its save is at the path again, ours is gone;
    external_change_kept, when it saved faster than that could be done: `keep` has the bytes, or the temporary name.
    OSError, when nothing happened.
    """
    try:
        linux.rename_exchange(target.dir_fd, temp.name, target.dir_fd, target.name)
    except FileNotFoundError as exc:
        raise changed_meanwhile(target, "was removed or renamed") from exc
    except OSError as exc:
        if exc.errno == errno.EBUSY:
            raise _mount_point(target) from exc
        if exc.errno not in _NO_EXCHANGE:
            raise
        return _check_then_rename(target, temp, expected, lease)
    temp.disown()
    with reported("write", target.given, outcome="unknown"):
        came_out = _look(target.dir_fd, temp.name)
        if not (stamps.same_content(came_out, expected) and lease.intact()):
            raise _put_back(target, temp.name, ours, came_out, keep)
        temps.remove(target.dir_fd, temp.name)
    return Displaced(came_out, exchanged=True)


def _check_then_rename(target: Target, temp: Temp, expected: Stamp, lease: Lease) -> Displaced:
    """Rename over the old version: a save between the look and the rename is lost, which `exchanged=False` says."""
    try:
        old = _look(target.dir_fd, target.name)
    except FileNotFoundError as exc:
        raise changed_meanwhile(target, "was removed or renamed") from exc
    if not (stamps.same_content(old, expected) and lease.intact()):
        raise changed_meanwhile(target, "was saved by another program")
    os.rename(temp.name, target.name, src_dir_fd=target.dir_fd, dst_dir_fd=target.dir_fd)
    temp.disown()
    return Displaced(old, exchanged=False)


def _look(dir_fd: int, name: bytes) -> Stamp:
    return stamps.of(os.stat(name, dir_fd=dir_fd, follow_symlinks=False))


def _put_back(target: Target, temp_name: bytes, ours: Stamp, theirs: Stamp, keep: Keep | None) -> Fault:
    if _swap_until_settled(target, temp_name, ours, theirs):
        temps.remove(target.dir_fd, temp_name)
        return changed_meanwhile(target, "was saved by another program")
    return _kept(target, temp_name, ours, keep)


def _swap_until_settled(target: Target, temp_name: bytes, ours: Stamp, theirs: Stamp) -> bool:
    """Swap back, with the same look at what comes out, until it is what we put there and nobody writes to it.

    What comes out and is neither is a newer save of theirs: it must have the name, so the swap goes on. The result
    says whether only our own file, or nothing, is left under the temporary name.
    """
    at_path, in_temp = ours, theirs
    for _ in range(limits.EXCHANGE_ROUNDS):
        came_out = _swap_again(target, temp_name)
        if came_out is None:
            return True
        if stamps.same_content(came_out, at_path) and _no_writer(target.dir_fd, temp_name, came_out):
            return at_path is ours
        at_path, in_temp = in_temp, came_out
    return False


def _swap_again(target: Target, temp_name: bytes) -> Stamp | None:
    try:
        linux.rename_exchange(target.dir_fd, temp_name, target.dir_fd, target.name)
    except FileNotFoundError:  # they removed the name meanwhile, as editors do that delete and then create
        linux.rename_noreplace(target.dir_fd, temp_name, target.dir_fd, target.name)
        return None
    return _look(target.dir_fd, temp_name)


def _no_writer(dir_fd: int, name: bytes, stamp: Stamp) -> bool:
    """Tell whether nobody has the file open for writing, as far as can be told."""
    if not stat.S_ISREG(stamp.mode):
        return True
    try:
        fd = reading.open_itself(dir_fd, name)
    except PermissionError:
        return True
    try:
        return leases.ask(fd) is not leases.Answer.WRITER
    finally:
        closing.close(fd)


def _kept(target: Target, temp_name: bytes, ours: Stamp, keep: Keep | None) -> Fault:
    where, kept_as = "in the history of the file", "history"
    if not _hand_over(target.dir_fd, temp_name, keep):
        kept_as = temp_name.decode("ascii")
        where = f"beside it as {kept_as}"
    still_ours = _look(target.dir_fd, target.name).ino == ours.ino
    return Fault(
        Slug.EXTERNAL_CHANGE_KEPT,
        f"another program saved {target.given} several times while this change was being made. Its saves were given "
        f"precedence; one of them could not be put back and is kept {where}. Read the file, then repeat the change",
        outcome="unknown" if still_ours else None,
        kept_as=kept_as,
    )


def _hand_over(dir_fd: int, name: bytes, keep: Keep | None) -> bool:
    """Give the bytes under `name` to `keep` and remove it; False where it must stay, as it cannot be kept elsewhere."""
    stamp = _look(dir_fd, name)
    if keep is None or not stat.S_ISREG(stamp.mode) or stamp.size > limits.EDIT_MAX_BYTES:
        return False
    if not _no_writer(dir_fd, name, stamp):
        return False
    fd = reading.open_itself(dir_fd, name)
    with open(fd, "rb") as file:
        data = file.read()
    try:
        keep(data)
    except Fault:
        return False
    temps.remove(dir_fd, name)
    return True


def _mount_point(target: Target) -> Fault:
    return Fault(
        Slug.IO_ERROR,
        f"failed to write file: {target.given} is a mount point (a file that is bind-mounted into this place), which "
        "cannot be replaced; nothing was written. append_file works in place; else change the file where it is mounted "
        "from",
        errno_name="EBUSY",
    )
