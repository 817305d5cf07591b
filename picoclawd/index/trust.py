"""Decide when an equal stat proves that nothing changed."""

import os

from picoclawd.files import stamps
from picoclawd.files.stamps import Stamp


class Trust:
    """What the tree believes of stamps. `tick_ns` is the file system's smallest time step, None where not known."""

    def __init__(self, tick_ns: int | None) -> None:
        self._tick_ns = tick_ns

    def matches(self, stamp: Stamp, now: os.stat_result) -> bool:
        """Tell whether a stat shows what the stamp does. Called for every directory of every query: it makes nothing.

        ctime is what no program sets back; the rest is for file systems that do not keep it.
        """
        return (
            stamp.ctime_ns == now.st_ctime_ns
            and stamp.mtime_ns == now.st_mtime_ns
            and stamp.ino == now.st_ino
            and stamp.dev == now.st_dev
            and stamp.size == now.st_size
            and stamp.nlink == now.st_nlink
            and stamp.mode == now.st_mode
        )

    def settles(self, stamp: Stamp, taken_ns: int) -> bool:
        """Tell whether the stamp, taken at `taken_ns`, may be believed next time: the racy rule of `stamps`."""
        return stamps.settled(stamp, taken_ns, self._tick_ns)
