"""Open a name for reading whatever took it meanwhile: a link is not followed, a FIFO not waited for."""

import os

# O_NOCTTY: a terminal must not become ours.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_itself(dir_fd: int, name: bytes) -> int:
    """Open what `name` is in a directory; the caller owns the descriptor, and looks what kind of file it got.

    Raises: OSError: ELOOP for a link.
    """
    return os.open(name, _FLAGS, dir_fd=dir_fd)
