"""Stamps: what a stat says about a file's content, and how long such a word can be trusted."""

import os

import msgspec

MS_IN_NS = 1_000_000
# Two ticks of a 100 Hz kernel: a change within one tick of an earlier one may leave the times as they were.
RACY_WINDOW_NS = 20 * MS_IN_NS
# FAT keeps mtime in steps of 2 s, the coarsest in use: taken where the tick is not known.
RACY_WINDOW_UNKNOWN_NS = 2_000 * MS_IN_NS


class Stamp(msgspec.Struct, frozen=True, gc=False):  # one or two a read: a frozen dataclass is made in 2 us
    """The facts of one stat that change when a file's content does. `mode` is the whole st_mode, type included."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    nlink: int


def of(stat: os.stat_result) -> Stamp:
    """Make the stamp of a stat result."""
    return Stamp(
        stat.st_dev,
        stat.st_ino,
        stat.st_size,
        stat.st_mtime_ns,
        stat.st_ctime_ns,
        stat.st_mode,
        stat.st_nlink,
    )


def same_content(one: Stamp, other: Stamp) -> bool:
    """Tell whether both name one inode with one content. ctime stays out: a rename sets it and changes no byte."""
    return (one.dev, one.ino, one.size, one.mtime_ns) == (other.dev, other.ino, other.size, other.mtime_ns)


def racy_window_ns(tick_ns: int | None) -> int:
    """Choose the window within which equal times prove nothing. `tick_ns` is the measured step; None or 0: unknown."""
    if not tick_ns or 2 * tick_ns > RACY_WINDOW_NS:
        return RACY_WINDOW_UNKNOWN_NS
    return RACY_WINDOW_NS


def settled(stamp: Stamp, taken_ns: int, tick_ns: int | None) -> bool:
    """Tell whether an equal stamp, seen later, will prove equal content.

    It will not while mtime or ctime lies within the racy window of the taking, before or after it: another change
    within the same tick of the clock would leave the very same stamp (git calls such an entry racily clean).
    """
    window_ns = racy_window_ns(tick_ns)
    return abs(taken_ns - stamp.mtime_ns) > window_ns and abs(taken_ns - stamp.ctime_ns) > window_ns
