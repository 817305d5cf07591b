"""What a file carries beside its bytes: owner, mode, extended attributes, access lists. A replace keeps it."""

import errno
import os
import stat

# An access list is an extended attribute. It is set before the mode, whose group bits are then the list's mask.
ACCESS_LIST = "system.posix_acl_access"
# Signatures over the old bytes: on new bytes they would make the file unreadable (ima, evm).
_OF_THE_OLD_BYTES = frozenset({"security.ima", "security.evm"})
# Refused to us (EPERM, EACCES: trusted.*, security.*) or not known to this file system: the file goes without.
_REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.EINVAL})


def copy(old_fd: int, new_fd: int) -> None:
    """Give `new_fd` the owner, attributes, access list and mode of `old_fd`, as far as this user may. Blocking.

    Where the group cannot be kept, the new group gets no more than everybody has: it must not read what only the old
    group could. A set-id bit never passes to another owner or group.

    Raises: OSError, as of ENOSPC for an attribute.
    """
    old = os.fstat(old_fd)
    _copy_owner(old, new_fd)
    _copy_attributes(old_fd, new_fd)
    os.fchmod(new_fd, _mode_for(old, os.fstat(new_fd)))


def _copy_owner(old: os.stat_result, new_fd: int) -> None:
    new = os.fstat(new_fd)
    if (old.st_uid, old.st_gid) == (new.st_uid, new.st_gid):
        return
    if not _may_chown(new_fd, old.st_uid, old.st_gid):
        _may_chown(new_fd, -1, old.st_gid)


def _may_chown(fd: int, uid: int, gid: int) -> bool:
    try:
        os.fchown(fd, uid, gid)
    except PermissionError:
        return False
    return True


def _mode_for(old: os.stat_result, new: os.stat_result) -> int:
    mode = stat.S_IMODE(old.st_mode)
    if new.st_uid != old.st_uid:
        mode &= ~stat.S_ISUID
    if new.st_gid != old.st_gid:
        mode &= ~(stat.S_ISGID | stat.S_IRWXG)
        mode |= (mode & stat.S_IRWXO) << 3
    return mode


def _copy_attributes(old_fd: int, new_fd: int) -> None:
    wanted = _names(old_fd)
    for name in wanted - _OF_THE_OLD_BYTES:
        _copy_attribute(old_fd, new_fd, name)
    # The directory's default list puts one on every new file, also where the old file had none.
    if ACCESS_LIST in _names(new_fd) - wanted:
        os.removexattr(new_fd, ACCESS_LIST)


def _names(fd: int) -> set[str]:
    try:
        return set(os.listxattr(fd))
    except OSError as exc:
        if exc.errno in _REFUSED:
            return set()
        raise


def _copy_attribute(old_fd: int, new_fd: int, name: str) -> None:
    try:
        os.setxattr(new_fd, name, os.getxattr(old_fd, name))
    except OSError as exc:
        if exc.errno not in _REFUSED and exc.errno != errno.ENODATA:
            raise


def new_file_mode() -> int:
    """Tell the mode that `open(..., 0666)` would give: 0666 less the umask. Read, not flipped: threads share it."""
    try:
        with open("/proc/self/status", "rb") as status:
            umask = next(int(line.split()[1], 8) for line in status if line.startswith(b"Umask:"))
    except FileNotFoundError:
        return 0o600  # no /proc: the stricter choice
    return 0o666 & ~umask
