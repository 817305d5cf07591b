"""A stat proves that nothing changed only if all its facts are equal and it was not made too soon."""

import os
from pathlib import Path

import pytest

from picoclawd.index.trust import Trust

TICK_NS = 4_000_000
_FIELDS = ("st_mode", "st_ino", "st_dev", "st_nlink", "st_size", "st_mtime_ns", "st_ctime_ns")


def stat_with(field: str | None = None) -> os.stat_result:
    """A stat in which one field is another."""
    values = dict.fromkeys(_FIELDS, 1)
    if field is not None:
        values[field] = 2
    ten = [values[name] for name in ("st_mode", "st_ino", "st_dev", "st_nlink")] + [0, 0, values["st_size"], 0, 0, 0]
    extra = {"st_mtime_ns": values["st_mtime_ns"], "st_ctime_ns": values["st_ctime_ns"]}
    return os.stat_result(ten, extra)


@pytest.mark.parametrize("field", _FIELDS)
def test_each_fact_alone_tells(field: str) -> None:
    trust = Trust(TICK_NS)
    assert trust.facts(stat_with()) == trust.facts(stat_with())
    assert trust.facts(stat_with()) != trust.facts(stat_with(field))


def test_reading_a_file_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"text")
    trust = Trust(TICK_NS)
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns + 10**9, before.st_mtime_ns))
    changed = path.stat()
    path.read_bytes()
    assert trust.facts(path.stat()) == trust.facts(changed)


@pytest.mark.parametrize(
    ("tick_ns", "age_ns", "settles"),
    [(TICK_NS, 10_000_000, False), (TICK_NS, 30_000_000, True), (None, 30_000_000, False), (None, 3 * 10**9, True)],
)
def test_a_young_stat_is_not_believed(tmp_path: Path, tick_ns: int | None, age_ns: int, settles: bool) -> None:
    stat = tmp_path.stat()
    taken_ns = max(stat.st_mtime_ns, stat.st_ctime_ns) + age_ns
    assert Trust(tick_ns).settles(stat, taken_ns) is settles
