"""Open our own directory inside the workspace, `.picoclaw`, below the root's descriptor and through no link."""

import os

from picoclawd.files import closing

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_own_directory(root_fd: int, names: tuple[bytes, ...], *, create: bool = True) -> int:
    """Open the directory `names[0]/names[1]/...` below `root_fd`, each created 0700 where missing and `create`.

    The caller owns the descriptor. Blocking.

    Raises: OSError, as of a name that is a link (ELOOP, ENOTDIR) or, without `create`, missing (ENOENT).
    """
    fd = os.dup(root_fd)
    for name in names:
        try:
            if create:
                _make(fd, name)
            below = os.open(name, _FLAGS, dir_fd=fd)
        finally:
            closing.close(fd)
        fd = below
    return fd


def _make(fd: int, name: bytes) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=fd)
    except FileExistsError:
        return  # whether it is a directory of the right kind shows at the open
