"""Decide when an equal stat proves that nothing changed."""

import os
from operator import attrgetter

from picoclawd.files import stamps

# What changes when a directory's entries or a file's bytes do. ctime is what no program can set back; the rest is for
# file systems that do not keep it.
Facts = tuple[int, ...]

_facts = attrgetter("st_ctime_ns", "st_mtime_ns", "st_ino", "st_dev", "st_size", "st_nlink", "st_mode")


class Trust:
    """What the tree believes of stats. `tick_ns` is the file system's smallest time step, None where not known."""

    def __init__(self, tick_ns: int | None) -> None:
        self._tick_ns = tick_ns

    def facts(self, stat: os.stat_result) -> Facts:
        """What of a stat must be equal later. Called for every directory of every query."""
        facts: Facts = _facts(stat)
        return facts

    def settles(self, stat: os.stat_result, taken_ns: int) -> bool:
        """Tell whether the stat, made right after `taken_ns`, may be believed later: the racy rule of `stamps`."""
        return stamps.settled(stamps.of(stat), taken_ns, self._tick_ns)
