"""Look for temporary files that a crash left in the tree: to name them, never to delete them."""

import os
from collections.abc import Iterator

from picoclawd import limits
from picoclawd.files import closing
from picoclawd.files.leftovers import find_leftovers
from picoclawd.text import display

_DIRECTORIES_MAX = 200_000  # a bound on the walk, far beyond a source tree


def sweep(root_fd: int) -> tuple[str, ...]:
    """The leftovers below a directory, as paths relative to it, escaped for people. Follows no link. Blocking."""
    found: list[str] = []
    for count, (relative, fd) in enumerate(_directories(root_fd)):
        if count >= _DIRECTORIES_MAX:
            break
        prefix = relative + b"/" if relative else b""
        found += [display.name(prefix + name) for name in find_leftovers(fd)]
    return tuple(sorted(found))


def _directories(root_fd: int) -> Iterator[tuple[bytes, int]]:
    """Every directory that can be read, with its descriptor, which is closed when the next one is asked for."""
    pending = [b""]
    while pending:
        relative = pending.pop()
        try:
            fd = os.open(relative or b".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root_fd)
        except OSError:
            continue  # gone, unreadable, or too deep for one path: nothing of ours is there
        try:
            yield relative, fd
            if relative.count(b"/") < limits.PATH_DEPTH_MAX:
                pending += [relative + b"/" + name if relative else name for name in _subdirectories(fd)]
        finally:
            closing.close(fd)


def _subdirectories(fd: int) -> list[bytes]:
    with os.scandir(fd) as entries:
        return [os.fsencode(entry.name) for entry in entries if entry.is_dir(follow_symlinks=False)]
