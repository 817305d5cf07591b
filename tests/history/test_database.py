"""Opening the database: private, the right one, and a damaged one set aside with a word about it."""

import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.history import database, schema
from picoclawd.history.query import Filter
from picoclawd.history.records import HistoryError
from picoclawd.history.retention import Retention
from picoclawd.history.store import History
from tests.history.conftest import Made, noise, refused


def test_a_fresh_one_is_private_and_has_nothing_to_say(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        opened = database.open_database(str(tmp_path / "state"))
    finally:
        os.umask(umask)
    opened.db.execute("INSERT INTO gaps VALUES (1)")
    assert opened.notice is None
    for name in ("history.db", "history.db-wal", "history.db-shm"):
        assert stat.S_IMODE((tmp_path / "state" / name).stat().st_mode) == 0o600
    opened.db.close()


def test_it_is_durable_as_wal_with_full_commits(tmp_path: Path) -> None:
    db = database.open_database(str(tmp_path / "state"), log_pages=77).db
    answers = [
        db.execute(f"PRAGMA {word}").fetchone()[0]
        for word in ("journal_mode", "synchronous", "auto_vacuum", "wal_autocheckpoint")
    ]
    assert answers == ["wal", 2, 2, 77]
    db.close()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_database_that_others_may_open_is_refused(tmp_path: Path, mode: int) -> None:
    database.open_database(str(tmp_path / "state")).db.close()
    (tmp_path / "state" / "history.db").chmod(mode)
    with pytest.raises(Fault) as caught:
        database.open_database(str(tmp_path / "state"))
    assert caught.value.slug is Slug.ACCESS_DENIED and "chmod 600" in caught.value.message


def test_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "elsewhere.db").write_bytes(b"")
    (tmp_path / "state" / "history.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(Fault) as caught:
        database.open_database(str(tmp_path / "state"))
    assert caught.value.slug is Slug.ACCESS_DENIED
    assert (tmp_path / "elsewhere.db").read_bytes() == b""


def _garbage(path: Path) -> None:
    path.write_bytes(noise(64 * 1024))


def _foreign(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE recipes (cake)")
    db.close()
    path.chmod(0o600)


def _later_release(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()


def _without_a_table(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("DROP TABLE blobs")
    db.close()


def _torn_pages(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + noise(len(data) - 4096))


@pytest.mark.parametrize("spoil", [_garbage, _foreign, _later_release, _without_a_table, _torn_pages])
def test_a_spoilt_one_is_set_aside_whole_and_the_daemon_starts(made: Made, spoil: Callable[[Path], None]) -> None:
    made.change(noise(300_000), b"new")
    made.history.close()
    path = made.path / "history.db"
    spoil(path)
    spoilt = path.read_bytes()
    history = made.reopened()
    aside = next(made.path.glob("history.db.corrupt-*"))
    assert aside.read_bytes() == spoilt
    assert history.notice is not None and aside.name in history.notice
    assert len(list(made.path.glob("blobs.corrupt-*/*/*"))) == 1, "a person may still want to look"
    assert history.versions(Filter(), 10) == []
    assert history.outcome("x") == "unknown"
    made.change(b"a", b"b")
    assert made.reopened().notice is None


def test_version_numbers_never_come_again(made: Made) -> None:
    last = [made.change(b"%d" % n, b"%d" % (n + 1)) for n in range(5)][-1]
    made.history.close()
    _without_a_table(made.path / "history.db")
    made.reopened()
    assert made.change(b"a", b"b") == last + 1
    made.history.close()
    before = int(time.time())
    _garbage(made.path / "history.db")
    made.reopened()
    assert made.change(b"a", b"b") > before, "unreadable numbers are exceeded by the seconds since 1970"


def test_two_set_aside_in_one_second_have_two_names(made: Made) -> None:
    for _ in range(3):
        made.history.close()
        _garbage(made.path / "history.db")
        made.reopened()
    assert len(list(made.path.glob("history.db.corrupt-*"))) == 3


def test_damage_found_at_work_sets_it_aside_and_the_change_is_recorded(made: Made) -> None:
    for n in range(200):
        made.change(noise(4000), noise(4000), path=b"%d" % n)
    made.reopened()
    size = (made.path / "history.db").stat().st_size
    with (made.path / "history.db").open("r+b") as file:
        file.seek(4096)
        file.write(noise(size - 4096))
    number = made.change(b"a", b"b", path=b"77")
    assert made.history.notice is not None and "set aside" in made.history.notice
    assert made.history.content_after(number) == b"b"
    assert [v.version for v in made.history.versions(Filter(), 10)] == [number]


def test_where_no_fresh_one_can_be_made_the_history_does_not_open(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    made.history.close()
    _garbage(made.path / "history.db")
    monkeypatch.setattr(schema, "TABLES", "CREATE NONSENSE;")
    with pytest.raises(HistoryError, match="a fresh one cannot be made"):
        History(str(made.path))


def test_a_history_that_cannot_be_measured_does_not_open(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(retention: Retention) -> int:
        raise Fault(Slug.HISTORY_UNAVAILABLE, "no")

    made.history.close()
    monkeypatch.setattr(Retention, "used_bytes", unreadable)
    with pytest.raises(HistoryError, match="cannot be read"):
        History(str(made.path))


def test_what_was_set_aside_goes_in_time(made: Made) -> None:
    made.change(noise(300_000), b"new")
    made.history.close()
    _garbage(made.path / "history.db")
    history = made.reopened()
    history.prune()
    assert list(made.path.glob("*.corrupt-*"))
    history.prune(now_ns=time.time_ns() + 31 * 86_400 * 10**9)
    assert not list(made.path.glob("*.corrupt-*"))


def test_nothing_else_is_removed_with_it(tmp_path: Path) -> None:
    for name in ("history.db", "notes.corrupt-me", "blobs.corrupt-123"):
        (tmp_path / name).write_bytes(b"")
    database.remove_set_aside(str(tmp_path), 124.0)
    assert sorted(os.listdir(tmp_path)) == ["history.db", "notes.corrupt-me"]


def test_one_that_another_program_holds_is_not_taken_for_damaged(tmp_path: Path) -> None:
    database.open_database(str(tmp_path / "state")).db.close()
    db = sqlite3.connect(tmp_path / "state" / "history.db", isolation_level=None)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    db.execute("INSERT INTO gaps VALUES (1)")
    with pytest.raises(HistoryError, match="another program holds"):
        database.open_database(str(tmp_path / "state"))
    db.close()
    assert not list((tmp_path / "state").glob("*.corrupt-*"))


def test_a_change_that_meets_a_held_lock_is_refused_soon_and_the_next_is_taken(made: Made) -> None:
    db = sqlite3.connect(made.path / "history.db", isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    assert refused(made, b"a", b"b") == "another program holds the history database"
    db.close()
    made.change(b"a", b"b")


def test_a_reader_sees_one_moment_and_cannot_write(made: Made) -> None:
    readers = database.Readers(str(made.path))
    made.change(b"a", b"b")
    made.history.outcome("flush")
    with readers.borrow() as db:
        count = db.execute("SELECT count(*) FROM versions").fetchone()
        made.change(b"b", b"c")
        assert db.execute("SELECT count(*) FROM versions").fetchone() == count
    with pytest.raises(Fault) as caught, readers.borrow() as db:
        db.execute("DELETE FROM versions")
    assert caught.value.slug is Slug.HISTORY_UNAVAILABLE
    readers.renew()


def test_lent_readers_are_not_kept_over_a_renewal(made: Made) -> None:
    readers = database.Readers(str(made.path))
    with readers.borrow() as first:
        readers.renew()
    with pytest.raises(sqlite3.ProgrammingError):
        first.execute("SELECT 1")
    with readers.borrow() as second, readers.borrow() as third:
        assert second is not third
    with readers.borrow() as again:
        assert again in (second, third)
    readers.renew()


def test_reading_without_a_database_is_history_unavailable(made: Made) -> None:
    made.history.close()
    for path in made.path.glob("history.db*"):
        path.unlink()
    with pytest.raises(Fault) as caught:
        made.history.version(1)
    assert caught.value.slug is Slug.HISTORY_UNAVAILABLE


def test_a_full_disk_costs_the_history_and_nothing_else(made: Made) -> None:
    """RLIMIT_FSIZE stands in for a full disk: it is the same failing write(2)."""
    code = (
        "import resource, sys\n"
        "from picoclawd.history.records import *\n"
        "from picoclawd.history.store import History\n"
        "history = History(sys.argv[1])\n"
        "size = 600_000\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))\n"
        "taken, reasons = 0, set()\n"
        "import os\n"
        "for n in range(20):\n"
        "    try:\n"
        "        begun = history.begin(Intent(b'%d' % n, 'create', None, os.urandom(100_000)))\n"
        "        taken += 1\n"
        "    except HistoryError as exc:\n"
        "        reasons.add(exc.reason)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "again = history.begin(Intent(b'again', 'create', None, b'x'))\n"
        "history.close()\n"
        "print(taken, len(reasons), again.restorable, reasons)\n"
    )
    made.history.close()
    ran = subprocess.run(
        [sys.executable, "-c", code, str(made.path)], capture_output=True, text=True, timeout=60, check=True
    )
    taken, kinds, again, *reasons = ran.stdout.split(maxsplit=3)
    assert 0 < int(taken) < 20 and int(kinds) >= 1 and again == "True", ran.stdout
    assert "space" in reasons[0], ran.stdout
    assert len(made.reopened().open_intents()) == int(taken) + 1


def test_the_history_does_not_open_where_its_directory_is_everybodys(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    with pytest.raises(Fault) as caught:
        History(str(tmp_path / "state"))
    assert caught.value.slug is Slug.ACCESS_DENIED
