"""System calls that Python does not offer: openat2, renameat2, file leases, linking and naming a descriptor.

The only user of ctypes. Every function raises `OSError` with the kernel's errno and nothing else a caller could
cause, except `ValueError` for a NUL byte, which ctypes would take for the end of the name.
"""

import ctypes
import errno
import fcntl
import functools
import os
import signal
from typing import Any

# openat2(2): how far a path may lead.
RESOLVE_NO_XDEV = 0x01
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08
RESOLVE_IN_ROOT = 0x10
RESOLVE_CACHED = 0x20  # EAGAIN where the lookup would have to wait for a disk; Linux 5.12

_SYS_OPENAT2 = 437  # one number on every architecture of Python's: it came after the tables were unified
_SYS_RENAMEAT2 = {"x86_64": 316, "aarch64": 276, "riscv64": 276}  # for a C library without a wrapper
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2

# EAGAIN: somebody has it open for writing; EACCES: another user's file; the rest: a file system without leases.
_NO_LEASE = frozenset({errno.EAGAIN, errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP})

_DELETED = b" (deleted)"

_PR_SET_PDEATHSIG = 1  # prctl(2)
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38

PROC_SUPER_MAGIC = 0x9FA0  # statfs(2)
_STATFS_MAX_BYTES = 256  # struct statfs is 120 bytes on 64-bit Linux; room for those that differ


class _OpenHow(ctypes.Structure):
    """`struct open_how` of openat2(2)."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def openat2(dir_fd: int, path: bytes, flags: int, mode: int, resolve: int) -> int:
    """Open `path` below `dir_fd` under the `RESOLVE_*` rules of openat2(2); the caller owns the descriptor.

    O_CLOEXEC is added. `mode` must be 0 unless `flags` create, or the kernel answers EINVAL.

    Raises: OSError: EXDEV left the root, EAGAIN a rename raced, ENOSYS (or EPERM under seccomp) not offered here.
    """
    _refuse_nul(path)
    how, size_bytes = _open_how(flags, mode, resolve)
    call = _openat2_call()
    while True:
        fd: int = call(_SYS_OPENAT2, dir_fd, path, how, size_bytes)
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code), path)


@functools.lru_cache(maxsize=64)
def _open_how(flags: int, mode: int, resolve: int) -> tuple[Any, int]:
    """A reference to one request, which the kernel only reads, and its size; callers ask in a dozen ways."""
    how = _OpenHow(flags | os.O_CLOEXEC, mode, resolve)
    return ctypes.byref(how), ctypes.sizeof(how)  # it keeps `how` alive, and is passed in half the time of a pointer


def rename_exchange(old_dir_fd: int, old: bytes, new_dir_fd: int, new: bytes) -> None:
    """Swap two existing names in one step: each then names what the other did."""
    _renameat2(old_dir_fd, old, new_dir_fd, new, _RENAME_EXCHANGE)


def rename_noreplace(old_dir_fd: int, old: bytes, new_dir_fd: int, new: bytes) -> None:
    """Rename, but never over an existing name: that raises `FileExistsError`."""
    _renameat2(old_dir_fd, old, new_dir_fd, new, _RENAME_NOREPLACE)


def read_at_hand(fd: int, size: int) -> bytes | None:
    """Read the first `size` bytes of a file, if that waits for no disk: all of them are in memory. None otherwise.

    RWF_NOWAIT of preadv2(2), which not every file system offers.
    """
    buffer = bytearray(size)
    try:
        got = os.preadv(fd, [buffer], 0, os.RWF_NOWAIT)
    except OSError:
        return None
    return bytes(buffer) if got == size else None


def link_fd(fd: int, dir_fd: int, name: bytes) -> None:
    """Give the file behind `fd` (also one of O_TMPFILE) the new `name` in `dir_fd`; an existing name raises EEXIST.

    `src_dir_fd` does nothing for an absolute path, but without it Python calls link(2), which does not follow.
    """
    _refuse_nul(name)
    os.link(b"/proc/self/fd/%d" % fd, name, src_dir_fd=fd, dst_dir_fd=dir_fd, follow_symlinks=True)


def fd_path(fd: int) -> bytes | None:
    """Tell the present absolute path of what `fd` holds, or None where it has none (a pipe, an unreachable mount).

    Of an unlinked file it is the path that it last had.
    """
    try:
        path = os.readlink(b"/proc/self/fd/%d" % fd)
    except OSError:
        return None
    if not path.startswith(b"/"):
        return None
    return path[: -len(_DELETED)] if path.endswith(_DELETED) and _is_unlinked(fd, path) else path


def file_system_magic(fd: int) -> int:
    """Tell the type of the file system that `fd` lies on, as `f_type` of statfs(2); O_PATH descriptors will do."""
    answer = ctypes.create_string_buffer(_STATFS_MAX_BYTES)
    if _libc().fstatfs(ctypes.c_int(fd), answer) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    # f_type comes first and is a long, except on s390, where it is an int.
    return ctypes.c_ulong.from_buffer(answer).value & 0xFFFFFFFF


def take_read_lease(fd: int) -> bool:
    """Ask for a read lease on `fd` (opened O_RDONLY); False where none is granted. Needs `ignore_lease_signal`.

    Granted only while nobody has the file open for writing. Readers neither hinder nor break it.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as exc:
        if exc.errno in _NO_LEASE:
            return False
        raise
    return True


def lease_held(fd: int) -> bool:
    """Tell whether the read lease still stands: False once a writer has come, or where none was taken."""
    return fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK


def drop_lease(fd: int) -> None:
    """Give the lease back; without one, do nothing. A writer that waited for it goes on."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as exc:
        if exc.errno not in _NO_LEASE:
            raise


def ignore_lease_signal() -> None:
    """Ignore SIGIO, which tells of a broken lease and would end the process. Main thread only, before any lease."""
    signal.signal(signal.SIGIO, signal.SIG_IGN)


def give_up_privileges() -> None:
    """Let this process gain no privilege by what it starts, leave no core, and be looked into by nobody but root."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_DUMPABLE, 0)


def end_with_parent(parent: int) -> None:
    """Let this process, just forked by the process `parent`, be killed where that one ends before it does."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before it could tell us
        os.kill(os.getpid(), signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if _libc().prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _renameat2(old_dir_fd: int, old: bytes, new_dir_fd: int, new: bytes, flags: int) -> None:
    _refuse_nul(old)
    _refuse_nul(new)
    if _renameat2_call()(old_dir_fd, old, new_dir_fd, new, flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), old, None, new)


def _refuse_nul(path: bytes) -> None:
    if b"\0" in path:
        raise ValueError("embedded null byte")


def _is_unlinked(fd: int, path: bytes) -> bool:
    """Part an unlinked `x` from a file that somebody named `x (deleted)`: the kernel writes both alike."""
    held = os.fstat(fd)
    if held.st_nlink == 0:
        return True
    try:
        named = os.lstat(path)
    except OSError:
        return True
    return (named.st_dev, named.st_ino) != (held.st_dev, held.st_ino)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@functools.cache
def _openat2_call() -> "ctypes._NamedFuncPointer":
    call = ctypes.CDLL(None, use_errno=True).syscall  # a handle of its own: argtypes belong to the handle
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    call.restype = ctypes.c_long
    return call


@functools.cache
def _renameat2_call() -> "ctypes._NamedFuncPointer | functools.partial[int]":
    arguments = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if hasattr(_libc(), "renameat2"):
        wrapper = _libc().renameat2
        wrapper.argtypes = arguments
        return wrapper
    number = _SYS_RENAMEAT2.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = (ctypes.c_long, *arguments)
    call.restype = ctypes.c_long
    return functools.partial(call, number)
