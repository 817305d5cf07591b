"""Append to a file in place: the inode, its mode and its other readers stay; a failed append is taken back."""

import os
import stat

from picoclawd.errors import Fault, Slug
from picoclawd.files import stamps
from picoclawd.files.create import create
from picoclawd.files.oserrors import as_fault
from picoclawd.files.pinned import check_unchanged, opened
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import (
    Committed,
    StillThere,
    Target,
    always,
    changed_meanwhile,
    check_still_there,
    reported,
)


def append(
    target: Target,
    addition: bytes,
    *,
    expected: Stamp | None,
    create_mode: int | None,
    refuse_hardlinks: bool,
    old: bytes | None = None,
    still_there: StillThere = always,
) -> Committed:
    """Append to the file's `expected` version, in place and durable; None creates it with `create_mode`. Blocking.

    `old`, its bytes so far, makes a change visible that hides behind a coarse clock; the file must then be readable.
    An append that dies leaves the old bytes and a prefix of the addition.

    Raises: conflict, hardlink_refused (the file has other names, perhaps outside the workspace), not_a_file,
    access_denied, io_error; with outcome unknown and `bytes_written` where a part could not be taken back.
    """
    if expected is None:
        return create(target, addition, create_mode, still_there=still_there)
    access = os.O_WRONLY if old is None else os.O_RDWR
    with reported("append to", target.given), opened(target, expected, access | os.O_APPEND) as fd:
        check_unchanged(target, fd, expected, old)
        check_still_there(target, still_there)
        before = os.fstat(fd)
        if refuse_hardlinks and before.st_nlink > 1:
            raise _has_other_names(target, before.st_nlink)
        _write_or_take_back(target, fd, addition, before.st_size)
        with reported("append to", target.given, outcome="unknown"):
            _sync(target, fd, before.st_mode, len(addition))
            after = stamps.of(os.fstat(fd))
            _check_still_named(target, after)
    return Committed(after, len(addition), hardlinks=after.nlink - 1, exchanged=False, leased=False)


def _write_or_take_back(target: Target, fd: int, addition: bytes, old_size: int) -> None:
    written = 0
    try:
        with memoryview(addition) as view:
            while written < len(view):
                written += os.write(fd, view[written:])
    except OSError as exc:
        fault = as_fault(exc, "append to", target.given)
        if written and not _taken_back(fd, old_size, written):
            fault.outcome = "unknown"
            fault.data["bytes_written"] = written
        raise fault from exc


def _taken_back(fd: int, old_size: int, written: int) -> bool:
    """Cut off what was written, unless somebody else has appended too: then the end is not ours to cut."""
    try:
        if os.fstat(fd).st_size != old_size + written:
            return False
        os.ftruncate(fd, old_size)
        os.fsync(fd)
    except OSError:
        return False
    return True


def _sync(target: Target, fd: int, old_mode: int, written: int) -> None:
    """Make the bytes durable. A failed fsync is never repeated: the kernel may have dropped the pages (EIO)."""
    _keep_setgid(fd, old_mode)
    try:
        os.fsync(fd)
    except OSError as exc:
        fault = as_fault(exc, "append to", target.given)
        fault.outcome = "unknown"
        fault.data["bytes_written"] = written
        raise fault from exc


def _keep_setgid(fd: int, old_mode: int) -> None:
    """Set the set-group-id bit again, which the kernel drops when somebody without privilege writes."""
    mode = os.fstat(fd).st_mode
    if old_mode & ~mode & stat.S_ISGID:
        try:
            os.fchmod(fd, stat.S_IMODE(mode) | stat.S_ISGID)
        except PermissionError:
            return  # not our file: the bytes are written, only its owner may set the bit


def _check_still_named(target: Target, appended: Stamp) -> None:
    """See that the name still leads to the file that was appended to: else the addition went with the old one."""
    try:
        named = os.stat(target.name, dir_fd=target.dir_fd, follow_symlinks=False)
    except FileNotFoundError as exc:
        raise changed_meanwhile(target, "was removed") from exc
    if (named.st_dev, named.st_ino) != (appended.dev, appended.ino):
        raise changed_meanwhile(target, "was replaced by another program")


def _has_other_names(target: Target, names: int) -> Fault:
    return Fault(
        Slug.HARDLINK_REFUSED,
        f"{target.given} has {names} names (hard links), perhaps outside the workspace too, and an append would "
        "change the file under all of them; nothing was written. edit_file and write_file replace the file under "
        "this name only; restrict_to_workspace: false allows the append",
        names=names,
    )
