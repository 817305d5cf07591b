"""Open the history database; a damaged one is set aside and a fresh one begun. The only user of sqlite3."""

import os
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, state
from picoclawd.history import schema
from picoclawd.history.records import HistoryError

NAME = "history.db"
BLOBS = "blobs"
_CORRUPT = ".corrupt-"
_SIDECARS = ("-wal", "-shm")
_BUSY_MS = 250  # a person's own sqlite3 may hold the lock for a moment; every edit waits as long
_IDLE_READERS_MAX = 4
_PAGE_BYTES = 4096  # SQLite's default
_PRIMARY = 0xFF  # the low byte of an extended result code
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_REASONS = {
    sqlite3.SQLITE_FULL: "no space is left for the history",
    sqlite3.SQLITE_BUSY: "another program holds the history database",
    sqlite3.SQLITE_LOCKED: "another program holds the history database",
    sqlite3.SQLITE_READONLY: "the history database may not be written",
    sqlite3.SQLITE_CANTOPEN: "the history database cannot be opened: can its directory be written?",
    sqlite3.SQLITE_IOERR: "the disk that holds the history reported an error, or has no space left",
}

Connection = sqlite3.Connection
Error = sqlite3.Error


@dataclass(frozen=True, slots=True)
class Opened:
    """An open database; `notice` says what was set aside, where that had to be."""

    db: Connection
    notice: str | None


def open_database(directory: str, log_pages: int = 1000) -> Opened:
    """Open `history.db` in a directory of ours for its one writer, made where there is none. Blocking.

    `log_pages`: how long the write-ahead log grows before a commit moves it into the database.

    A damaged one, or one of a later release, is renamed `history.db.corrupt-<seconds>`, its blobs with it.

    Raises: HistoryError, where it cannot be opened for now; Fault access_denied, where others may read it.
    """
    path = os.path.join(directory, NAME)
    _make_private(directory)
    try:
        return Opened(_open_checked(path, log_pages), None)
    except _DamagedError as exc:
        why = str(exc)
    except Error as exc:
        raise HistoryError(reason_of(exc)) from exc
    return replace_damaged(directory, why, log_pages)


def replace_damaged(directory: str, why: str, log_pages: int = 1000) -> Opened:
    """Set the database aside and begin a fresh one, whose versions never repeat a number of the old. Blocking."""
    path = os.path.join(directory, NAME)
    floor = _last_version(path)
    aside = _set_aside(directory)
    _make_private(directory)
    try:
        db = _open_checked(path, log_pages)
        db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('versions', ?)", (floor,))
        db.execute("INSERT INTO gaps VALUES (?)", (time.time_ns(),))
    except (Error, _DamagedError) as exc:
        raise HistoryError("the history database is damaged, and a fresh one cannot be made") from exc
    return Opened(db, f"the history database {why}: it was set aside as {aside}, and a fresh one was begun")


def is_damage(exc: BaseException) -> bool:
    """Tell whether an error means that the file itself is broken."""
    return isinstance(exc, sqlite3.DatabaseError) and _code(exc) in _DAMAGE


def reason_of(exc: Error) -> str:
    """Say in one clause why the database did not take a change."""
    return _REASONS.get(_code(exc), f"the history database answered: {exc}")


def empty_log(db: Connection) -> None:
    """Move what the write-ahead log holds into the database and cut the log to nothing, unless a reader needs it."""
    with suppress(Error):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def remove_set_aside(directory: str, older_than_s: float) -> None:
    """Delete what was set aside before this time (seconds since 1970). Blocking."""
    for name in os.listdir(directory):
        ending = name.rpartition(_CORRUPT)[2].rstrip("x")
        if _CORRUPT not in name or not ending.isdigit() or int(ending) >= older_than_s:
            continue
        path = os.path.join(directory, name)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(path)


class Readers:
    """Connections for reading, lent to any thread, a few kept open."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, NAME)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._generation = 0

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """Lend a connection whose statements all see one moment. Blocking.

        Raises: history_unavailable, where the database cannot be read.
        """
        with self._lock:
            generation = self._generation
            db = self._idle.pop() if self._idle else None
        try:
            db = db or _reader(self._path)
            try:
                db.execute("BEGIN")
                yield db
                db.execute("COMMIT")
            except BaseException:
                db.close()
                raise
        except Error as exc:
            raise Fault(
                Slug.HISTORY_UNAVAILABLE,
                f"the history cannot be read now: {reason_of(exc)}. The files themselves are not concerned. "
                "Try again, or look at workspace.status.",
            ) from exc
        self._give_back(db, generation)

    def renew(self) -> None:
        """Close what is idle and, when it comes back, what is lent: the file behind it is another now."""
        with self._lock:
            self._generation += 1
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    def _give_back(self, db: Connection, generation: int) -> None:
        with self._lock:
            if generation == self._generation and len(self._idle) < _IDLE_READERS_MAX:
                self._idle.append(db)
                return
        db.close()


class _DamagedError(Exception):
    pass


def _code(exc: Error) -> int:
    # Misuse found by the module itself carries no code.
    return getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY


def _make_private(directory: str) -> None:
    """Create the empty file 0600, so that SQLite never makes it wider, or check the one that is there."""
    fd = state.open_private_directory(directory)
    try:
        try:
            held = os.stat(NAME, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            state.write_private_file(fd, NAME, b"")
            return
    finally:
        closing.close(fd)
    if not stat.S_ISREG(held.st_mode) or held.st_uid != os.geteuid() or held.st_mode & 0o077:
        path = os.path.join(directory, NAME)
        raise Fault(
            Slug.ACCESS_DENIED,
            f"refused to use {path}: it is no regular file of ours that only we may open. Remove it, or chmod 600 it.",
        )


def _open_checked(path: str, log_pages: int) -> Connection:
    db = _connect(path)
    try:
        _prepare(db)
        db.execute(f"PRAGMA wal_autocheckpoint = {log_pages}")
        # A log that one large transaction blew up is cut back to this when it is begun anew.
        db.execute(f"PRAGMA journal_size_limit = {log_pages * _PAGE_BYTES}")
        _probe(db)
    except BaseException as exc:
        db.close()
        if is_damage(exc):
            raise _DamagedError("is damaged") from exc
        raise
    return db


def _connect(path: str) -> Connection:
    # One thread at a time uses a connection, but not always the one that opened it.
    db = sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA foreign_keys = OFF")
    return db


def _reader(path: str) -> Connection:
    db = _connect(path)
    db.execute("PRAGMA query_only = ON")
    return db


def _prepare(db: Connection) -> None:
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, schema.SCHEMA_VERSION):
        raise _DamagedError("was made by another release")
    if found == 0:
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise _DamagedError("is not one of ours")
        db.executescript(f"{schema.TABLES} PRAGMA user_version = {schema.SCHEMA_VERSION}; COMMIT;")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")


def _probe(db: Connection) -> None:
    """Touch every table, so that gross damage is found now; a full check of a large store takes seconds."""
    try:
        for table in ("versions", "blobs", "contents", "trash", "gaps"):
            db.execute(f"SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()
        db.execute("SELECT version FROM versions WHERE state = 'intent' LIMIT 1").fetchone()
    except sqlite3.OperationalError as exc:
        if _code(exc) == sqlite3.SQLITE_ERROR:  # a table or a column is missing
            raise _DamagedError("is damaged") from exc
        raise


def _last_version(path: str) -> int:
    """The highest number that a damaged database gave out; where it cannot be read, seconds since 1970 exceed it."""
    try:
        db = _connect(path)
        try:
            seq = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'versions'").fetchone()
        finally:
            db.close()
    except Error:
        seq = None
    return int(time.time()) if seq is None else int(seq[0])


def _set_aside(directory: str) -> str:
    """Rename the database and its blobs; return the new name."""
    ending = f"{_CORRUPT}{int(time.time())}"
    while os.path.lexists(os.path.join(directory, NAME + ending)):
        ending += "x"
    for name in (BLOBS, *(NAME + sidecar for sidecar in _SIDECARS), NAME):
        path = os.path.join(directory, name)
        if os.path.lexists(path):
            os.rename(path, path + ending)
    return NAME + ending
