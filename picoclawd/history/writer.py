"""One writer at a time to the history database: whatever waits goes into one transaction.

Who comes while nobody commits commits himself, in his own thread, which spares two switches between threads. Who comes
meanwhile queues, and the writer's own thread takes all of them into the next transaction. A commit waits a moment for
those who are on their way, so that eight writers share an fsync; one alone waits for nothing. What nobody waits for
(an intent is done) rides along with the next commit, or, when none comes, is written without an fsync: after a power
loss the start compares that intent with the disk.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from picoclawd.history import database
from picoclawd.history.blobs import Transaction
from picoclawd.history.database import Connection
from picoclawd.history.records import HistoryError

ResultT = TypeVar("ResultT")
Work = Callable[[Transaction], ResultT]

_CLOSED = "the history is closed"
_RIDE_S = 0.02  # how long what nobody waits for waits for a commit to ride on
_RIDERS_MAX = 256  # then it is written, also when jobs keep coming
_COMING_S = 0.004  # how long a commit waits for who is on his way
_GROUP_MAX = 256  # jobs in one transaction: its log must stay small


class WriterStatistics(msgspec.Struct, frozen=True):
    """`commits` are the durable ones, each one fsync; `group_max` the most jobs that shared one; `waiting` is now."""

    commits: int
    jobs: int
    group_max: int
    unsynced_commits: int
    failures: int
    waiting: int


@dataclass(slots=True)
class _Job:
    work: Callable[[Transaction], object]
    waited: bool
    durable: bool
    failures: int = 0
    result: "Future[object]" = field(default_factory=Future)


class _Here(threading.local):
    """Whether this thread has announced that it comes."""

    comes = False


class Writer:
    """Owns the writing connection, from the construction to `close`.

    `renew` is called when the database turned out to be damaged: it answers with a fresh one. The queue is bounded by
    its users: who submits waits, and `later` is called once after each `submit`.
    """

    def __init__(self, db: Connection, renew: Callable[[], Connection]) -> None:
        self._db: Connection | None = db
        self._renew = renew
        lock = threading.RLock()
        self._state = threading.Condition(lock)  # of what follows; only who is `busy` touches the connection
        self._all_came = threading.Condition(lock)
        self._jobs: deque[_Job] = deque()
        self._coming = 0  # threads that are about to submit
        self._here = _Here()
        self._failed_riders: list[_Job] = []
        self._busy = False
        self._handed = False  # whoever was busy left the rest to the thread
        self._riding = False  # the thread waits for a commit that what nobody waits for can ride on
        self._closing = False
        self._pending = 0  # riders that are not written yet
        self._commits = self._jobs_done = self._group_max = self._unsynced = self._failures = 0
        self._synchronous = ""
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()

    @contextmanager
    def coming(self) -> Iterator[None]:
        """Announce that the body, in this thread, will soon submit something, though it need not."""
        with self._state:
            self._coming += 1
        self._here.comes = True
        try:
            yield
        finally:
            with self._state:
                self._arrive()

    def submit(self, work: Work[ResultT], *, durable: bool = True) -> ResultT:
        """Run `work` in the next transaction and return what it returned, once that is committed. Blocking.

        `work` may run twice: where a group fails, each of its jobs is tried alone.

        Raises: HistoryError, where the database does not take it, or is closed; else what `work` raises.
        """
        job = _Job(work, waited=True, durable=durable)
        if self._put(job):
            self._commit_what_waits()
        try:
            return job.result.result()  # type: ignore[return-value]  # what `work` returned
        except database.Error as exc:
            raise HistoryError(database.reason_of(exc)) from exc

    def later(self, work: Work[object]) -> None:
        """Run `work` with some transaction soon, in the order of the calls; tried again where the database fails."""
        self._put(_Job(work, waited=False, durable=False))

    def flush(self) -> None:
        """Wait until what was given to `later` is written, so that a reader sees it. Blocking."""
        if self._pending:
            self.submit(lambda tx: None, durable=False)

    def close(self) -> None:
        """Write what is queued, then end the thread and close the connection. Blocking; may be called again."""
        with self._state:
            self._closing = True
            self._state.notify_all()
        self._thread.join()

    def statistics(self) -> WriterStatistics:
        """Count commits and jobs since the start, and the jobs that wait now."""
        return WriterStatistics(
            self._commits, self._jobs_done, self._group_max, self._unsynced, self._failures, len(self._jobs)
        )

    def _put(self, job: _Job) -> bool:
        """Queue a job; True where the caller now is the one who commits. Raises: HistoryError once it is closed."""
        with self._state:
            if self._closing:
                raise HistoryError(_CLOSED)
            self._jobs.append(job)
            self._arrive()
            if not job.waited:
                self._pending += 1
                if not self._riding or self._pending >= _RIDERS_MAX:
                    self._state.notify_all()
                return False
            if self._busy:
                return False
            self._busy = True
            return True

    def _commit_what_waits(self) -> None:
        """Commit once; what came meanwhile is left to the thread, so that nobody works for others for long."""
        try:
            self._commit(self._take())
        except BaseException:  # a bug behind the commit: nobody knows what the store's own files are now
            self._refuse_waiting()
            raise
        finally:
            self._leave()

    def _arrive(self) -> None:
        if self._here.comes:
            self._here.comes = False
            self._coming -= 1
            if not self._coming:
                self._all_came.notify_all()

    def _take(self) -> list[_Job]:
        with self._state:
            if self._coming:
                self._all_came.wait_for(lambda: not self._coming, _COMING_S)
            group, self._failed_riders = self._failed_riders, []
            while self._jobs and len(group) < _GROUP_MAX:
                group.append(self._jobs.popleft())
            return group

    def _leave(self) -> None:
        with self._state:
            self._handed = any(job.waited for job in self._jobs)
            self._busy = self._handed
            if self._handed or self._closing:
                self._state.notify_all()

    def _run(self) -> None:
        try:
            while self._becomes_busy():
                self._commit_what_waits()
        finally:
            self._close_database()
            self._refuse_waiting()

    def _becomes_busy(self) -> bool:
        """Wait until there is something for the thread to commit; False at the end."""
        with self._state:
            while not self._handed:
                if self._closing and not self._busy:
                    if not (self._jobs or self._failed_riders):
                        return False
                    self._busy = True
                    return True
                if not self._jobs or self._busy:
                    self._state.wait()
                elif self._waited_for_a_ride():
                    self._busy = True
                    return True
            self._handed = False
            return True

    def _waited_for_a_ride(self) -> bool:
        """Whether no commit came along for what nobody waits for, or too much of it waits."""
        self._riding = True
        came = self._state.wait(_RIDE_S)
        self._riding = False
        return not self._busy and bool(self._jobs) and (not came or self._pending >= _RIDERS_MAX)

    def _refuse_waiting(self) -> None:
        """Answer whoever still waits, which is somebody only where a bug ended the thread."""
        with self._state:
            self._closing = True
            for job in self._jobs:
                job.result.set_exception(HistoryError(_CLOSED))
            self._jobs.clear()

    def _commit(self, group: list[_Job]) -> None:
        """Commit a group; where that fails, each job alone, so that one cannot fail the others."""
        try:
            results, afterwards = self._transact(group)
        except Exception as exc:  # noqa: BLE001 - it belongs to the thread that waits, which gets it
            self._recover(group, exc)
            return
        self._written(sum(not job.waited for job in group))
        try:
            for step in afterwards:
                step()
        finally:
            for job, result in zip(group, results, strict=True):
                job.result.set_result(result)

    def _transact(self, group: list[_Job]) -> tuple[list[object], list[Callable[[], None]]]:
        durable = any(job.durable for job in group)
        db = self._ready()
        self._set_synchronous(db, "FULL" if durable else "NORMAL")
        tx = Transaction(db)
        db.execute("BEGIN IMMEDIATE")
        try:
            results = [job.work(tx) for job in group]
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        self._count(group, durable)
        return results, tx.afterwards

    def _ready(self) -> Connection:
        """The connection; a fresh one where the last was found damaged. Raises: HistoryError."""
        if self._db is None:
            self._db = self._renew()
            self._synchronous = ""
        return self._db

    def _set_synchronous(self, db: Connection, level: str) -> None:
        # In WAL mode NORMAL leaves the log unsynced until the next FULL commit or checkpoint.
        if level != self._synchronous:
            db.execute(f"PRAGMA synchronous = {level}")
            self._synchronous = level

    def _count(self, group: list[_Job], durable: bool) -> None:
        self._jobs_done += len(group)
        self._commits += durable
        self._unsynced += not durable
        self._group_max = max(self._group_max, sum(job.waited for job in group))

    def _recover(self, group: list[_Job], exc: Exception) -> None:
        damaged = database.is_damage(exc)
        if damaged:
            self._close_database()
        if len(group) > 1:
            for job in group:
                self._commit([job])
            return
        job = group[0]
        job.failures += 1
        if damaged and job.failures == 1:
            self._commit([job])
        else:
            self._failed(job, exc)

    def _failed(self, job: _Job, exc: Exception) -> None:
        self._failures += 1
        if not job.waited:
            if isinstance(exc, database.Error) and not self._closing and len(self._failed_riders) < _RIDERS_MAX:
                self._failed_riders.append(job)
                return
            self._written(1)
        job.result.set_exception(exc)

    def _written(self, riders: int) -> None:
        with self._state:
            self._pending -= riders

    def _close_database(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
