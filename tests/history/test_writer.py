"""The one writing thread: groups share a commit, failures stay with who caused them, and the end loses nothing."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from picoclawd.history import database
from picoclawd.history import writer as writer_module
from picoclawd.history.blobs import Transaction
from picoclawd.history.database import Connection
from picoclawd.history.records import HistoryError
from picoclawd.history.writer import Writer
from tests.files.conftest import Injected

DEADLINE_S = 20.0


class Store:
    """A writer on a table of numbers."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.renewals = 0
        self.writer = Writer(database.open_database(str(directory)).db, self.renew)
        self.writer.submit(lambda tx: tx.db.execute("CREATE TABLE numbers (n UNIQUE)"))

    def renew(self) -> Connection:
        self.renewals += 1
        db = database.replace_damaged(str(self.directory), "is damaged").db
        db.execute("CREATE TABLE numbers (n UNIQUE)")
        return db

    def numbers(self) -> list[int]:
        """What another connection sees."""
        db = sqlite3.connect(self.directory / "history.db")
        try:
            return [row[0] for row in db.execute("SELECT n FROM numbers ORDER BY n")]
        finally:
            db.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "state")
    try:
        yield made
    finally:
        made.writer.close()


def adding(number: int) -> Callable[[Transaction], int]:
    def add(tx: Transaction) -> int:
        tx.db.execute("INSERT INTO numbers VALUES (?)", (number,))
        return number

    return add


class Held:
    """Keeps the writer busy, so that others have to queue."""

    def __init__(self, writer: Writer, last: Callable[[], None] = lambda: None) -> None:
        self._writer = writer
        self._last = last
        self._entered, self._leave = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "Held":
        self.start(lambda: self._writer.submit(self._hold))
        assert self._entered.wait(DEADLINE_S)
        return self

    def _hold(self, tx: Transaction) -> None:
        self._entered.set()
        assert self._leave.wait(DEADLINE_S)
        tx.afterwards.append(self._last)

    def start(self, call: Callable[[], object]) -> None:
        thread = threading.Thread(target=call)
        thread.start()
        self._threads.append(thread)

    def __exit__(self, *exc: object) -> None:
        self._leave.set()
        for thread in self._threads:
            thread.join(DEADLINE_S)


def test_what_was_submitted_is_there_when_submit_returns(store: Store) -> None:
    assert store.writer.submit(adding(7)) == 7
    assert store.numbers() == [7]


def test_what_cannot_be_synced_is_not_there_unless_nobody_asked_for_that(store: Store, injected: Injected) -> None:
    with injected("fsync,fdatasync:error=EIO"):
        assert store.writer.submit(adding(1), durable=False) == 1
        with pytest.raises(HistoryError):
            store.writer.submit(adding(2))


def test_what_waits_during_a_commit_shares_the_next(store: Store) -> None:
    before = store.writer.statistics()
    with Held(store.writer) as held:
        queued = threading.Barrier(9)

        def add(number: int) -> None:
            queued.wait(DEADLINE_S)
            store.writer.submit(adding(number))

        for number in range(8):
            held.start(lambda number=number: add(number))  # type: ignore[misc]
        queued.wait(DEADLINE_S)
        _until(lambda: store.writer.statistics().waiting == 8)
    after = store.writer.statistics()
    assert store.numbers() == list(range(8))
    assert after.commits - before.commits == 2, "the one that was held, and one for all eight"
    assert after.group_max == 8


def _until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(int(DEADLINE_S * 1000)):
        if holds():
            return
        pause.wait(0.001)
    raise AssertionError("it did not come to that")


def test_one_that_fails_does_not_fail_those_beside_it(store: Store) -> None:
    store.writer.submit(adding(3))
    faults: list[HistoryError] = []

    def add_again() -> None:
        try:
            store.writer.submit(adding(3))
        except HistoryError as exc:
            faults.append(exc)

    with Held(store.writer) as held:
        for number in (1, 2):
            held.start(lambda number=number: store.writer.submit(adding(number)))  # type: ignore[misc]
        held.start(add_again)
        _until(lambda: store.writer.statistics().waiting == 3)
    assert store.numbers() == [1, 2, 3]
    assert len(faults) == 1 and "UNIQUE" in faults[0].reason
    assert store.writer.statistics().failures == 1


def test_a_bug_reaches_its_caller_and_the_thread_goes_on(store: Store) -> None:
    def broken(tx: Transaction) -> None:
        tx.db.execute("INSERT INTO numbers VALUES (99)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.writer.submit(broken)
    store.writer.submit(adding(1))
    assert store.numbers() == [1]


def test_what_nobody_waits_for_rides_along_with_the_next_commit(store: Store) -> None:
    before = store.writer.statistics()
    with Held(store.writer) as held:
        store.writer.later(adding(1))
        held.start(lambda: store.writer.submit(adding(2)))
        _until(lambda: store.writer.statistics().waiting == 2)
    after = store.writer.statistics()
    assert store.numbers() == [1, 2]
    assert (after.commits - before.commits, after.unsynced_commits - before.unsynced_commits) == (2, 0)


def test_it_is_written_without_one_too_and_without_an_fsync(store: Store) -> None:
    before = store.writer.statistics()
    store.writer.later(adding(1))
    _until(lambda: store.numbers() == [1])
    after = store.writer.statistics()
    assert (after.commits, after.unsynced_commits) == (before.commits, before.unsynced_commits + 1)


def test_it_is_written_also_while_more_of_it_keeps_coming(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_RIDE_S", 0.2)  # far longer than from one to the next
    before = store.writer.statistics().unsynced_commits
    for number in range(writer_module._RIDERS_MAX - 1):  # at so many it is written in any case
        store.writer.later(adding(number))
        time.sleep(0.005)
        if store.writer.statistics().unsynced_commits > before:
            return
    raise AssertionError("each that comes makes the others wait on")


def test_a_flush_waits_for_what_was_queued_before_it(store: Store) -> None:
    for number in range(20):
        store.writer.later(adding(number))
    store.writer.flush()
    assert store.numbers() == list(range(20))
    before = store.writer.statistics()
    store.writer.flush()
    assert store.writer.statistics() == before, "with nothing queued it costs nothing"


def test_the_order_of_the_calls_is_the_order_of_the_work(store: Store) -> None:
    seen: list[int] = []
    for number in range(0, 40, 2):
        store.writer.later(lambda tx, number=number: seen.append(number))  # type: ignore[misc]
        store.writer.submit(lambda tx, number=number: seen.append(number + 1))  # type: ignore[misc]
    assert seen == list(range(40))


def test_what_nobody_waits_for_is_tried_again_when_the_database_takes_it(store: Store) -> None:
    other = sqlite3.connect(store.directory / "history.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.writer.later(adding(5))
    with pytest.raises(HistoryError, match="another program holds"):
        store.writer.submit(adding(6))
    other.execute("ROLLBACK")
    other.close()
    store.writer.submit(adding(7))
    assert store.numbers() == [5, 7]


def test_of_what_nobody_waits_for_only_so_much_is_tried_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_RIDERS_MAX", 2)
    other = sqlite3.connect(store.directory / "history.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for number in range(3):
        store.writer.later(adding(number))
    with pytest.raises(HistoryError, match="another program holds"):
        store.writer.submit(adding(6))
    other.execute("ROLLBACK")
    other.close()
    store.writer.submit(adding(7))
    assert store.numbers() == [0, 1, 7]


def test_a_bug_in_what_nobody_waits_for_is_not_tried_again(store: Store) -> None:
    tries: list[int] = []

    def broken(tx: Transaction) -> None:
        tries.append(1)
        raise ZeroDivisionError

    store.writer.later(broken)
    store.writer.flush()
    store.writer.flush()
    assert len(tries) == 2, "with its group, and alone"


def test_a_damaged_database_is_replaced_and_the_change_goes_into_the_fresh_one(store: Store) -> None:
    store.writer.submit(adding(1))
    _damage(store)
    assert store.writer.submit(adding(2)) == 2
    assert store.renewals == 1
    assert store.numbers() == [2]


def _damage(store: Store) -> None:
    """Overwrite the table, also where the writer has it in its cache."""

    def tear(tx: Transaction) -> None:
        def overwrite() -> None:
            tx.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            size = (store.directory / "history.db").stat().st_size
            (store.directory / "history.db").write_bytes(b"\xa5" * size)
            tx.db.execute("PRAGMA cache_size = 0")

        tx.afterwards.append(overwrite)

    store.writer.submit(tear)


def test_where_no_fresh_one_can_be_made_each_change_hears_it_and_each_one_tries(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew = store.renew
    store.writer._renew = _unable
    _damage(store)
    for _ in range(2):
        with pytest.raises(HistoryError, match="no fresh one"):
            store.writer.submit(adding(1))
    store.writer._renew = renew
    assert store.writer.submit(adding(2)) == 2


def _unable() -> Connection:
    raise HistoryError("there is no fresh one to be had")


def test_the_end_writes_what_is_queued_and_refuses_what_comes_later(store: Store) -> None:
    for number in range(5):
        store.writer.later(adding(number))
    store.writer.close()
    assert store.numbers() == list(range(5))
    for call in (lambda: store.writer.submit(adding(9)), lambda: store.writer.later(adding(9))):
        with pytest.raises(HistoryError, match="closed"):
            call()
    store.writer.close()


def test_more_than_a_group_waiting_is_written_too(store: Store) -> None:
    with Held(store.writer):
        for number in range(700):
            store.writer.later(adding(number))
    store.writer.flush()
    assert store.numbers() == list(range(700))


def test_a_bug_after_the_commit_reaches_who_commits_and_closes_the_history(store: Store) -> None:
    def broken_step() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.writer.submit(lambda tx: tx.afterwards.append(broken_step))
    store.writer._thread.join(DEADLINE_S)
    with pytest.raises(HistoryError, match="closed"):
        store.writer.submit(adding(1))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nor_does_it_leave_anybody_waiting(store: Store) -> None:
    def broken_step() -> None:
        raise ZeroDivisionError

    refusals: list[HistoryError] = []

    def add() -> None:
        try:
            store.writer.submit(adding(1))
        except HistoryError as exc:
            refusals.append(exc)

    with Held(store.writer, last=broken_step) as held:
        held.start(add)
        _until(lambda: store.writer.statistics().waiting == 1)
    assert len(refusals) == 1
    assert store.numbers() == []


def test_a_commit_waits_for_who_is_on_the_way(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # Eight agents' edits took turns at the disk where they could have shared it.
    monkeypatch.setattr(writer_module, "_COMING_S", DEADLINE_S)
    before = store.writer.statistics()
    comes, may_submit = threading.Event(), threading.Event()

    def late() -> None:
        with store.writer.coming():
            comes.set()
            assert may_submit.wait(DEADLINE_S)
            store.writer.submit(adding(2))

    threads = [threading.Thread(target=late), threading.Thread(target=lambda: store.writer.submit(adding(1)))]
    threads[0].start()
    assert comes.wait(DEADLINE_S)
    threads[1].start()
    _until(lambda: store.writer.statistics().waiting == 1)
    assert store.numbers() == []
    may_submit.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    after = store.writer.statistics()
    assert store.numbers() == [1, 2]
    assert after.commits - before.commits == 1


def test_it_waits_a_moment_only_and_for_nobody_who_turned_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.writer.coming():
        thread = threading.Thread(target=lambda: store.writer.submit(adding(1)))
        thread.start()
        thread.join(DEADLINE_S)
        assert not thread.is_alive()
        assert store.numbers() == [1]
    monkeypatch.setattr(writer_module, "_COMING_S", 10 * DEADLINE_S)
    with pytest.raises(ZeroDivisionError), store.writer.coming():
        raise ZeroDivisionError
    thread = threading.Thread(target=lambda: store.writer.submit(adding(2)))
    thread.start()
    thread.join(DEADLINE_S)
    assert store.numbers() == [1, 2]


def test_who_comes_waits_for_nobody_else_than_himself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_COMING_S", 10 * DEADLINE_S)
    with store.writer.coming():
        store.writer.submit(adding(1))
        store.writer.submit(adding(2))
    assert store.numbers() == [1, 2]
