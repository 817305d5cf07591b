"""Turn an `OSError` into the `Fault` that a caller understands: each errno its own words, slug and `errno_name`."""

import errno
import os
from typing import Any

from picoclawd.errors import Fault, Slug
from picoclawd.files import linux

# errno: slug, what happened, what to do next.
_TABLE: dict[int, tuple[Slug, str, str]] = {
    errno.ENOENT: (Slug.NOT_FOUND, "file not found", "List its directory to see the names that exist."),
    errno.EACCES: (Slug.ACCESS_DENIED, "access denied", "The file's or a directory's permissions forbid it."),
    errno.EPERM: (Slug.ACCESS_DENIED, "operation not permitted", "Its owner or its attributes (chattr) forbid it."),
    errno.EEXIST: (Slug.FILE_EXISTS, "file already exists", "Use another name, or edit what is there."),
    errno.ENOTDIR: (Slug.NOT_A_DIRECTORY, "not a directory", "The path, or a part before a slash, is a file."),
    errno.EISDIR: (Slug.NOT_A_FILE, "it is a directory, not a regular file", "Name a file, or list the directory."),
    errno.ENXIO: (Slug.NOT_A_FILE, "it is a socket or a device, not a regular file", "Name a regular file."),
    errno.ENODEV: (Slug.NOT_A_FILE, "it is a device, not a regular file", "Name a regular file."),
    errno.ELOOP: (Slug.SYMLINK_LOOP, "too many symbolic links", "Name the file that the links should lead to."),
    errno.ENAMETOOLONG: (Slug.INVALID_PATH, "a name or the path is too long", "Use a shorter path."),
    errno.EINVAL: (Slug.INVALID_PATH, "the file system does not take this name or operation", "Use another name."),
    errno.EILSEQ: (Slug.INVALID_PATH, "the file system does not take the bytes of this name", "Use another name."),
    errno.EBUSY: (Slug.PATH_BUSY, "the system is using it", "Try again later."),
    errno.ETXTBSY: (Slug.PATH_BUSY, "it is a program that is running", "Try again when the program has ended."),
    errno.EAGAIN: (Slug.PATH_BUSY, "another process holds it", "Try again later."),
    errno.ENOSPC: (Slug.IO_ERROR, "no space left on the device", "Free some space, then repeat the call."),
    errno.EDQUOT: (Slug.IO_ERROR, "the disk quota is used up", "Free some space, then repeat the call."),
    errno.EROFS: (Slug.IO_ERROR, "the file system is read-only", "Only reading is possible here."),
    errno.EFBIG: (Slug.IO_ERROR, "the file would be larger than the file system allows", "Write less."),
    errno.EMFILE: (Slug.IO_ERROR, "the daemon has too many files open", "Try again later with fewer calls at once."),
    errno.ENFILE: (Slug.IO_ERROR, "the system has too many files open", "Try again later."),
    errno.EIO: (Slug.IO_ERROR, "the disk reported an error", "Look at the system log; the disk may be failing."),
    errno.ESTALE: (Slug.IO_ERROR, "the network file system lost the file", "Repeat the call."),
    errno.ENOMEM: (Slug.IO_ERROR, "the system is out of memory", "Try again later."),
    errno.ENOTEMPTY: (Slug.IO_ERROR, "the directory is not empty", "Remove what is in it first."),
    errno.EXDEV: (Slug.IO_ERROR, "source and target lie on different file systems", "Copy instead of moving."),
    errno.EMLINK: (Slug.IO_ERROR, "the file has too many hard links", "Use another file."),
    errno.EOPNOTSUPP: (Slug.IO_ERROR, "the file system does not offer this operation", "Use another directory."),
}
# Whatever the errno: it is of the kernel's account of our descriptors, not of the caller's path.
_UNTOLD = (
    Slug.IO_ERROR,
    "the system gives no account of what was opened",
    "That is in /proc/self/fd: see that /proc is mounted and can be read, then repeat the call.",
)


def as_fault(exc: OSError, action: str, given: str, *, thing: str = "file", **data: Any) -> Fault:
    """Say that `action` (an infinitive, as in "read") failed on `given`, the path as the caller wrote it.

    The words begin `failed to {action} {thing}: `. `data` joins `errno_name` in `error.data`. Nothing of the
    exception's own file names is shown: they may lie outside the roots.
    """
    code = exc.errno or errno.EIO
    slug, what, advice = _TABLE.get(code, (Slug.IO_ERROR, os.strerror(code).lower(), "Repeat the call."))
    if isinstance(exc, linux.PathUntold):
        slug, what, advice = _UNTOLD
    elif code == errno.ENOENT:
        what = f"{thing} not found"
    message = f"failed to {action} {thing}: {what} ({given}). {advice}"
    return Fault(slug, message, errno_name=errno.errorcode.get(code, str(code)), **data)
