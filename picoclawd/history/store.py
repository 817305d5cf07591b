"""The history of one workspace: record changes before they are made, find them again, and what they replaced."""

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from functools import partial

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import Target
from picoclawd.history import database, query, recording, settle
from picoclawd.history.blobs import INLINE_MAX_BYTES, Blobs, Transaction
from picoclawd.history.database import Connection, Readers
from picoclawd.history.query import Filter, Revision, Touched
from picoclawd.history.recording import Prepared
from picoclawd.history.records import (
    Applied,
    Author,
    Begun,
    HistoryError,
    Intent,
    Outcome,
    State,
    Trashed,
    Version,
)
from picoclawd.history.retention import DAY_NS, Pruned, Retention
from picoclawd.history.room import Room
from picoclawd.history.settle import OpenIntent, Verdict
from picoclawd.history.trash import Trash
from picoclawd.history.writer import Writer, WriterStatistics

_PAGE_BYTES = 4096
_LOG_PAGES = (32, 1000)  # the log's bounds: shorter costs a checkpoint every few changes, longer only disk
_LOG_SHARE = 32  # of the store
_GAP_NS = DAY_NS  # for so long a gap makes an unheard-of change unknown: clients ask again within minutes
_REVISIONS_MAX = 10_000


class HistoryStatistics(msgspec.Struct, frozen=True):
    """`used_bytes` is what the store holds of its `max_bytes`: rows and contents. The trash may take as much again."""

    writer: WriterStatistics
    used_bytes: int
    max_bytes: int
    trash_bytes: int


class History:
    """One store, in a state directory of ours that no other process uses. Every method blocks; call them in threads.

    `notice` says what went wrong with the database at the start, or since: it was set aside, and undo reaches back
    no further. Contents of `restorable: false` changes are not in it.

    Raises: HistoryError, when the database cannot be opened; Fault access_denied, when others may read it.
    """

    def __init__(self, state_dir: str, *, max_bytes: int = 1024 * limits.MIB, max_age_days: int = 30) -> None:
        self._directory = os.path.abspath(state_dir)
        self._max_age_ns = max_age_days * DAY_NS
        least, most = _LOG_PAGES
        self._log_pages = min(max(max_bytes // _LOG_SHARE // _PAGE_BYTES, least), most)
        opened = database.open_database(self._directory, self._log_pages)
        self.notice = opened.notice
        self.trash = Trash(self._directory)
        self._blobs = Blobs(self._directory)
        self._readers = Readers(self._directory)
        self._writer = Writer(opened.db, self._renewed)
        self._gap = False
        self._retention = Retention(self._writer, self._readers, self._blobs, self.trash)
        try:
            self._room = Room(self._retention, max_bytes)
        except Fault as exc:
            self.close()
            raise HistoryError("the history database cannot be read") from exc

    def begin(self, intent: Intent) -> Begun:
        """Record a change that is about to be made; when this returns, a crash cannot lose what it replaces.

        The caller holds the path's lock, from before it read `intent.before` until `finish` is called.

        Raises: HistoryError, when it cannot be recorded: the change may be made all the same.
        """
        try:
            return self._record(intent, "intent")
        except HistoryError:
            self._note_gap()
            raise

    def finish(self, version: int, outcome: Outcome) -> None:
        """Say what became of an intent. Does not wait: should this be lost, the next start finds out from the disk."""
        with suppress(HistoryError):  # closed: the same
            self._writer.later(partial(_finish, self._blobs, version, outcome))

    def keep_displaced(self, path: bytes, data: bytes, author: Author, *, sensitive: bool = False) -> Begun:
        """Keep an outside save that cannot be given its name back; it is listed as `external`. As durable as `begin`.

        Raises: HistoryError, also when the bytes may not be kept: then they must stay where they are.
        """
        begun = self._record(Intent(path, "external", None, data, author, sensitive=sensitive), "displaced")
        if not begun.restorable:
            raise HistoryError(begun.reason or "it was not kept")
        return begun

    def open_intents(self) -> list[OpenIntent]:
        """The intents that a crash left without an outcome: ask before any change is begun, judge, then `settle`."""
        with self._reading() as db:
            return settle.open_intents(db, self._blobs)

    def settle(self, version: int, verdict: Verdict) -> None:
        """Record what an open intent came to; durable when it returns. Raises: HistoryError."""
        self._writer.submit(partial(_finish, self._blobs, version, Outcome(verdict.applied)))

    def versions(self, wanted: Filter, limit: int) -> list[Version]:
        """The newest versions that the filter lets through, newest first. Raises: invalid_params."""
        with self._reading() as db:
            return query.versions(db, wanted, limit)

    def version(self, number: int) -> Version:
        """One version. Raises: unknown_version."""
        with self._reading() as db:
            return query.version(db, number)

    def last(self, path: bytes) -> Version | None:
        """The path's newest version, also an external one."""
        with self._reading() as db:
            return query.last(db, path)

    def last_by_tool(self, path: bytes) -> Version | None:
        """The path's newest version that a tool made."""
        with self._reading() as db:
            return query.last_by_tool(db, path)

    def content_before(self, number: int) -> bytes | None:
        """The bytes right before a version; None: there was no file, or it is not kept. Raises: unknown_version."""
        with self._reading() as db:
            return query.content_before(db, self._blobs, self.trash, number)

    def content_after(self, number: int) -> bytes | None:
        """The bytes that restoring a version brings back: right after it, of a deletion those that it removed.

        None: there was no file, or they are not kept. Raises: unknown_version.
        """
        with self._reading() as db:
            return query.content_after(db, self._blobs, self.trash, number)

    def mode_at(self, number: int, *, before: bool) -> int | None:
        """The permission bits of the file right before or after a version, as far as known. Raises: unknown_version."""
        with self._reading() as db:
            return query.mode_at(db, number, before=before)

    def touched(self, wanted: Filter) -> dict[bytes, Touched]:
        """What some changes did to each path; with `content_before(first.version)` they are undone."""
        with self._reading() as db:
            return query.touched(db, wanted)

    def outcome(self, op: str) -> Applied:
        """What became of the change that a client named `op`; `unknown` also while it is under way."""
        with self._reading() as db:
            found = query.outcome(db, op)
        return "unknown" if found == "not_applied" and self._gap else found

    def revisions(self, path: bytes, limit: int = _REVISIONS_MAX) -> Iterator[Revision]:
        """The states of a path, oldest first, read one by one: what blame walks through."""
        with self._reading() as db:
            made = query.versions(db, Filter(paths=[path]), limit)[::-1]
        if made:
            yield Revision(None, made[0].existed, self._content(made[0].version, before=True))
        for one in made:
            content = None if one.action == "delete" else self._content(one.version, before=False)
            yield Revision(one, one.exists, content)

    def trashed(self, version: int) -> Trashed | None:
        """The file in the trash that a version's change removed; None where it is not there."""
        with self._reading() as db:
            return query.trashed(db, version)

    def retrieve(self, version: int, trashed: Trashed, target: Target) -> Stamp:
        """Move what a version removed out of the trash, to a name that is free, as it was, mode and all.

        Raises: file_exists, not_found, access_denied, io_error.
        """
        stamp = self.trash.retrieve(trashed.name, target)
        with suppress(HistoryError):
            self._writer.later(partial(_forget_trashed, self._blobs, version))
        return stamp

    def prune(self, now_ns: int | None = None) -> Pruned:
        """Apply retention and clean up, in small steps between which changes go on. For the history lane.

        Raises: HistoryError; history_unavailable.
        """
        now_ns = time.time_ns() if now_ns is None else now_ns
        aged = self._retention.by_age(self._max_age_ns, now_ns)
        sized = self._retention.by_size(self._room.limit_bytes, now_ns)
        emptied = self._retention.trash_by_size(self._room.max_bytes, now_ns)
        swept = emptied + self._retention.sweep(self._max_age_ns, now_ns)
        self._writer.submit(partial(_forget_gaps, now_ns - _GAP_NS), durable=False)
        database.remove_set_aside(self._directory, (now_ns - self._max_age_ns) / 1e9)
        return Pruned(aged.versions + sized.versions, sized.stripped, swept)

    def purge(self, path: bytes) -> int:
        """Remove all versions and contents of a path and of what lies below it; return how many versions.

        A content that another path has too is kept for that one. Raises: HistoryError; history_unavailable.
        """
        self._flush()
        return self._retention.purge(path)

    def writes(self) -> WriterStatistics:
        """Count commits and jobs as of now, and wait for nothing."""
        return self._writer.statistics()

    def statistics(self) -> HistoryStatistics:
        """Count commits, jobs and bytes."""
        self._flush()
        return HistoryStatistics(
            writer=self._writer.statistics(),
            used_bytes=self._retention.used_bytes(),
            max_bytes=self._room.max_bytes,
            trash_bytes=self._retention.trash_bytes(),
        )

    def close(self) -> None:
        """Write what is left and close everything."""
        self._writer.close()
        self._readers.renew()

    def coming(self) -> AbstractContextManager[None]:
        """Announce that the body, in this thread, will most likely begin a change: see `Writer.coming`."""
        return self._writer.coming()

    def _record(self, intent: Intent, begun_as: State) -> Begun:
        try:
            refusal = (
                None if intent.sensitive else self._room.refusal(recording.sizes(intent), intent.author.session_id)
            )
            prepared = recording.prepare(intent, refusal)
            self._stage(prepared)
            return self._writer.submit(partial(_record, self._blobs, prepared, begun_as))
        except (Fault, OSError) as exc:
            raise HistoryError("the history's own files cannot be read or written") from exc

    def _stage(self, prepared: Prepared) -> None:
        if any(len(content) > INLINE_MAX_BYTES for _, content in prepared.contents):
            with self._readers.borrow() as db:
                for sha, content in prepared.contents:
                    self._blobs.stage(db, sha, content)

    def _content(self, number: int, *, before: bool) -> bytes | None:
        try:
            return self.content_before(number) if before else self.content_after(number)
        except Fault:
            return None  # pruned while the revisions were walked through

    def _flush(self) -> None:
        with suppress(HistoryError):  # then it is seen when the disk takes it
            self._writer.flush()

    def _reading(self) -> AbstractContextManager[Connection]:
        """Lend a connection that sees every change that was finished before. Raises: history_unavailable."""
        self._flush()
        return self._readers.borrow()

    def _note_gap(self) -> None:
        """Remember, on disk as soon as it takes it, that not all that happened is recorded."""
        if not self._gap:
            self._gap = True
            with suppress(HistoryError):
                self._writer.later(self._write_gap)

    def _write_gap(self, tx: Transaction) -> None:
        tx.db.execute("INSERT INTO gaps VALUES (?)", (time.time_ns(),))
        tx.afterwards.append(self._gap_written)

    def _gap_written(self) -> None:
        self._gap = False

    def _renewed(self) -> Connection:
        opened = database.replace_damaged(self._directory, "is damaged", self._log_pages)
        self.notice = opened.notice
        self._readers.renew()
        return opened.db


def _record(blobs: Blobs, prepared: Prepared, begun_as: State, tx: Transaction) -> Begun:
    return recording.record(tx, blobs, prepared, begun_as)


def _finish(blobs: Blobs, version: int, outcome: Outcome, tx: Transaction) -> None:
    recording.finish(tx, blobs, version, outcome)


def _forget_trashed(blobs: Blobs, version: int, tx: Transaction) -> None:
    recording.forget_trashed(tx, version, "the file was taken back out of the trash")
    recording.keep_before(tx, blobs, version)


def _forget_gaps(before_ns: int, tx: Transaction) -> None:
    tx.db.execute("DELETE FROM gaps WHERE at < ?", (before_ns,))
