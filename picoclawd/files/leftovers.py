"""Temporary files that a crash left behind: found and named, never deleted, for one may be somebody's only copy."""

import os

from picoclawd.files import temps


def find_leftovers(dir_fd: int) -> list[bytes]:
    """List the names of temporary files in one directory, sorted. Blocking. `dir_fd` is open for reading.

    A name says nothing of whether its writer lives: pids come again. Ask at start, when nothing is being written.
    """
    with os.scandir(dir_fd) as entries:
        return sorted(name for name in (os.fsencode(entry.name) for entry in entries) if temps.is_temp(name))
