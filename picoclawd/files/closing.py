"""Close a descriptor where an error of close(2) would tell nothing that matters, and must not fail what is done."""

import errno
import os


def close(fd: int) -> None:
    """Close a descriptor, once. Whatever had to be durable was synced before.

    Linux has given the descriptor back also where close(2) answers EINTR, EIO, ENOSPC or EDQUOT (its manual page,
    "Dealing with error returns"), so a second try would close somebody else's. EBADF is a bug, and is raised.
    """
    try:
        os.close(fd)
    except OSError as exc:
        if exc.errno == errno.EBADF:
            raise
