"""The one thread that writes to the history database: whatever waits goes into one transaction, and no timer is set.

While one commit runs the others queue, and the next takes them all: eight writers share an fsync, one alone waits
for nothing. What nobody waits for (an intent is done) rides along with the next commit, or, when none comes, is
written without an fsync: after a power loss the start compares that intent with the disk.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from picoclawd.history import database
from picoclawd.history.blobs import Transaction
from picoclawd.history.database import Connection
from picoclawd.history.records import HistoryError

ResultT = TypeVar("ResultT")
Work = Callable[[Transaction], ResultT]

_CLOSED = "the history is closed"
_RIDE_S = 0.02  # how long what nobody waits for waits for a commit to ride on
_RIDERS_MAX = 256  # then it is written, also when jobs keep coming
_GROUP_MAX = 256  # jobs in one transaction: its log must stay small


@dataclass(frozen=True, slots=True)
class WriterStatistics:
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


class Writer:
    """Owns the writing connection and its thread, from the construction to `close`.

    `renew` is called in the thread when the database turned out to be damaged: it answers with a fresh one.
    The queue is bounded by its users: who submits waits, and `later` is called once after each `submit`.
    """

    def __init__(self, db: Connection, renew: Callable[[], Connection]) -> None:
        self._db: Connection | None = db
        self._renew = renew
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._riders: list[_Job] = []
        self._closing = False
        self._gate = threading.Lock()  # nothing is queued behind the end
        self._pending = 0  # riders queued and not yet written
        self._commits = self._jobs = self._group_max = self._unsynced = self._failures = 0
        self._synchronous = ""
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()

    def submit(self, work: Work[ResultT], *, durable: bool = True) -> ResultT:
        """Run `work` in the next transaction and return what it returned, once that is committed. Blocking.

        `work` may run twice: where a group fails, each of its jobs is tried alone.

        Raises: HistoryError, where the database does not take it, or is closed; else what `work` raises.
        """
        job = _Job(work, waited=True, durable=durable)
        self._put(job)
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
        with self._gate:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        self._thread.join()

    def statistics(self) -> WriterStatistics:
        """Count commits and jobs since the start, and the jobs that wait now."""
        return WriterStatistics(
            self._commits, self._jobs, self._group_max, self._unsynced, self._failures, self._queue.qsize()
        )

    def _put(self, job: _Job) -> None:
        with self._gate:
            if self._closing:
                raise HistoryError(_CLOSED)
            if not job.waited:
                self._pending += 1
            self._queue.put(job)

    def _run(self) -> None:
        try:
            while self._round():
                pass
        finally:
            self._close_database()
            self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        """Answer whoever still waits, which is somebody only where a bug ended the thread."""
        with self._gate:
            self._closing = True
        while not self._queue.empty():
            job = self._queue.get_nowait()
            if job is not None:
                job.result.set_exception(HistoryError(_CLOSED))

    def _round(self) -> bool:
        """Take what waits and commit it; False at the end."""
        jobs, ended = self._take()
        alone = bool(jobs) and not any(job.waited for job in jobs)
        self._riders.extend(jobs)
        if alone and not ended and len(self._riders) < _RIDERS_MAX:
            return True  # nobody waits: a commit may come along
        group, self._riders = self._riders, []
        if group:
            self._commit(group)
        return not ended

    def _take(self) -> tuple[list[_Job], bool]:
        """What is queued, at least one job, none when riders waited long enough; and whether the end is reached."""
        jobs: list[_Job] = []
        try:
            # Riders that all failed before wait for the next job: there is no use in trying at this pace.
            hopeful = any(not job.failures for job in self._riders)
            job = self._queue.get(timeout=_RIDE_S if hopeful else None)
            while job is not None and len(jobs) < _GROUP_MAX:
                jobs.append(job)
                job = self._queue.get_nowait()
        except queue.Empty:
            return jobs, False
        if job is not None:
            jobs.append(job)
        return jobs, job is None

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
        self._jobs += len(group)
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
            if isinstance(exc, database.Error) and len(self._riders) < _RIDERS_MAX:
                self._riders.append(job)
                return
            self._written(1)
        job.result.set_exception(exc)

    def _written(self, riders: int) -> None:
        with self._gate:
            self._pending -= riders

    def _close_database(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
