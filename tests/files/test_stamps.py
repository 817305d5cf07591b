"""Stamps: what makes two the same content, and when one can be trusted."""

import os
from pathlib import Path

import msgspec
import pytest

from picoclawd.files import stamps

NOW_NS = 1_000_000_000_000_000
SECOND_NS = 1_000_000_000
STAMP = stamps.Stamp(dev=1, ino=2, size=3, mtime_ns=NOW_NS, ctime_ns=NOW_NS, mode=0o100644, nlink=1)


def test_a_stamp_says_what_the_stat_says(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    stat = os.stat(path)
    stamp = stamps.of(stat)
    assert (stamp.dev, stamp.ino, stamp.size, stamp.nlink) == (stat.st_dev, stat.st_ino, 3, 1)
    assert (stamp.mtime_ns, stamp.ctime_ns, stamp.mode) == (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_mode)


@pytest.mark.parametrize("field", ["dev", "ino", "size", "mtime_ns"])
def test_another_inode_size_or_mtime_is_another_content(field: str) -> None:
    other = msgspec.structs.replace(STAMP, **{field: getattr(STAMP, field) + 1})
    assert not stamps.same_content(STAMP, other)


@pytest.mark.parametrize("field", ["ctime_ns", "mode", "nlink"])
def test_a_chmod_a_rename_or_a_link_changes_no_content(field: str) -> None:
    other = msgspec.structs.replace(STAMP, **{field: getattr(STAMP, field) + 1})
    assert stamps.same_content(STAMP, other)


@pytest.mark.parametrize(
    ("mtime_age_ms", "ctime_age_ms", "tick_ns", "trusted"),
    [
        (21, 21, 4_000_000, True),
        (20, 21, 4_000_000, False),
        (21, 20, 4_000_000, False),
        (0, 0, 1, False),
        (-20, 5_000, 4_000_000, False),  # a clock that is a little ahead
        (-21, 5_000, 4_000_000, True),
        (21, 21, 10_000_000, True),
        (21, 21, 10_000_001, False),
        (2_000, 2_001, None, False),
        (2_001, 2_001, None, True),
        (2_000, 2_001, 0, False),
        (2_001, 2_001, 2 * SECOND_NS, True),
    ],
)
def test_a_stamp_taken_right_after_a_change_is_not_trusted(
    mtime_age_ms: int, ctime_age_ms: int, tick_ns: int | None, trusted: bool
) -> None:
    stamp = msgspec.structs.replace(
        STAMP,
        mtime_ns=NOW_NS - mtime_age_ms * stamps.MS_IN_NS,
        ctime_ns=NOW_NS - ctime_age_ms * stamps.MS_IN_NS,
    )
    assert stamps.settled(stamp, NOW_NS, tick_ns) is trusted
