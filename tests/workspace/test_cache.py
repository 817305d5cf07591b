"""The file cache: bounded by bytes, the least recently used goes first."""

import os

from picoclawd.files import stamps
from picoclawd.workspace.cache import CachedFile, FileCache

STAMP = stamps.of(os.stat("/"))


def entry(size: int) -> CachedFile:
    return CachedFile(STAMP, b"/x", b"x" * size, "")


def test_the_least_recently_used_goes_first() -> None:
    cache = FileCache(max_bytes=80)
    for name in (b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h"):
        cache.put(name, entry(10))
    assert cache.get(b"a") is not None
    cache.put(b"i", entry(10))
    assert cache.get(b"b") is None
    assert cache.get(b"a") is not None
    assert cache.statistics() == {"files": 8, "bytes": 80}


def test_what_is_large_is_not_kept_and_replaces_nothing() -> None:
    cache = FileCache(max_bytes=80)
    cache.put(b"a", entry(10))
    cache.put(b"a", entry(11))
    assert cache.get(b"a") is None
    assert cache.statistics() == {"files": 0, "bytes": 0}


def test_a_new_entry_takes_the_place_of_the_old() -> None:
    cache = FileCache(max_bytes=80)
    cache.put(b"a", entry(10))
    cache.put(b"a", entry(4))
    assert cache.statistics() == {"files": 1, "bytes": 4}
