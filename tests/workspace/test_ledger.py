"""The ledger: what was read, in which state, and bytes within one bound for all sessions."""

import hashlib
import threading

import pytest

from picoclawd import limits
from picoclawd.files.stamps import Stamp
from picoclawd.workspace.ledger import PIN_FILE_MAX_BYTES, Ledger, Pins


def stamp(size: int = 1, mtime_ns: int = 5) -> Stamp:
    return Stamp(dev=1, ino=2, size=size, mtime_ns=mtime_ns, ctime_ns=mtime_ns, mode=0o100600, nlink=1)


def read(ledger: Ledger, path: bytes, data: bytes) -> None:
    ledger.note_read(path, stamp(len(data)), hashlib.sha256(data).hexdigest(), data)


def pinned(ledger: Ledger, path: bytes) -> bytes | None:
    entry = ledger.entry(path)
    assert entry is not None
    return entry.data


def test_a_read_is_remembered_with_stamp_hash_and_bytes() -> None:
    ledger = Ledger(Pins())
    read(ledger, b"/w/a", b"one\n")
    entry = ledger.entry(b"/w/a")
    assert entry is not None
    assert (entry.stamp, entry.data) == (stamp(4), b"one\n")
    assert entry.sha256 == hashlib.sha256(b"one\n").hexdigest()
    assert ledger.entry(b"/w/b") is None


def test_a_new_ledger_is_empty() -> None:
    ledger = Ledger(Pins())
    assert ledger.is_empty


def test_a_ledger_with_a_read_is_not_empty() -> None:
    ledger = Ledger(Pins())
    read(ledger, b"/w/a", b"one\n")
    assert not ledger.is_empty


def test_an_own_write_counts_as_a_read_of_what_was_written() -> None:
    ledger = Ledger(Pins())
    read(ledger, b"/w/a", b"one\n")
    ledger.note_write(b"/w/a", stamp(4, mtime_ns=9), hashlib.sha256(b"two\n").hexdigest(), b"two\n")
    entry = ledger.entry(b"/w/a")
    assert entry is not None
    assert (entry.stamp.mtime_ns, entry.data) == (9, b"two\n")


def test_a_large_file_is_remembered_without_its_bytes() -> None:
    pins = Pins()
    ledger = Ledger(pins)
    read(ledger, b"/w/fits", b"x" * PIN_FILE_MAX_BYTES)
    read(ledger, b"/w/large", b"y" * (PIN_FILE_MAX_BYTES + 1))
    ledger.note_read(b"/w/huge", stamp(2 * limits.MIB), None, None)
    assert pinned(ledger, b"/w/fits") is not None
    assert pinned(ledger, b"/w/large") is None
    huge = ledger.entry(b"/w/huge")
    assert huge is not None
    assert huge.sha256 is None
    assert pins.statistics().contents == 1


def test_all_sessions_share_one_bound_and_the_least_recently_used_bytes_go_first() -> None:
    pins = Pins(max_bytes=30)
    one, two = Ledger(pins), Ledger(pins)
    read(one, b"/w/a", b"a" * 10)
    read(two, b"/w/b", b"b" * 10)
    read(one, b"/w/c", b"c" * 10)
    assert pinned(one, b"/w/a") == b"a" * 10  # used: now b is the oldest
    read(two, b"/w/d", b"d" * 10)
    assert pinned(two, b"/w/b") is None
    assert pinned(one, b"/w/a") == b"a" * 10
    assert pins.statistics().size_bytes == 30


def test_one_content_is_kept_once_until_its_last_reader_is_gone() -> None:
    pins = Pins()
    one, two = Ledger(pins), Ledger(pins)
    read(one, b"/w/a", b"same")
    read(two, b"/w/a", b"same")
    read(two, b"/w/a", b"same")
    assert pins.statistics().size_bytes == 4
    one.close()
    assert pinned(two, b"/w/a") == b"same"
    two.forget(b"/w/a")
    assert (pins.statistics().contents, pins.statistics().size_bytes) == (0, 0)


def test_bytes_that_made_room_come_back_with_the_next_read() -> None:
    pins = Pins(max_bytes=10)
    ledger = Ledger(pins)
    read(ledger, b"/w/a", b"a" * 8)
    read(ledger, b"/w/b", b"b" * 8)
    assert pinned(ledger, b"/w/a") is None
    read(ledger, b"/w/a", b"a" * 8)
    assert pinned(ledger, b"/w/a") == b"a" * 8
    ledger.close()
    assert pins.statistics().size_bytes == 0


def test_the_file_noted_longest_ago_makes_room() -> None:
    pins = Pins()
    ledger = Ledger(pins, paths_max=3)
    for name in (b"a", b"b", b"c", b"a", b"d"):
        read(ledger, name, name)
    assert [ledger.entry(name) is not None for name in (b"a", b"b", b"c", b"d")] == [True, False, True, True]
    assert pins.statistics().contents == 3


def test_a_removed_file_is_forgotten() -> None:
    ledger = Ledger(Pins())
    read(ledger, b"/w/a", b"one")
    ledger.forget(b"/w/a")
    ledger.forget(b"/w/never")
    assert ledger.entry(b"/w/a") is None


def test_a_closed_ledger_takes_no_more_notes() -> None:
    pins = Pins()
    ledger = Ledger(pins)
    read(ledger, b"/w/a", b"one")
    ledger.close()
    read(ledger, b"/w/a", b"one")
    assert ledger.is_empty
    assert pins.statistics().contents == 0


@pytest.mark.parametrize("max_bytes", [100, 5_000])
def test_threads_leave_the_count_right(max_bytes: int) -> None:
    pins = Pins(max_bytes)
    ledgers = [Ledger(pins, paths_max=20) for _ in range(4)]

    def work(ledger: Ledger) -> None:
        for number in range(2_000):
            read(ledger, b"%d" % (number % 30), b"x" * (number % 17 + 1))
            ledger.entry(b"%d" % (number % 7))

    threads = [threading.Thread(target=work, args=[ledger]) for ledger in ledgers for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert pins.statistics().size_bytes <= max_bytes
    for ledger in ledgers:
        ledger.close()
    assert (pins.statistics().contents, pins.statistics().size_bytes) == (0, 0)
