"""What is kept, and for how long: by age, then by size, first from the session that stored most.

An agent cannot flood undo away: what a path held before a session's first change of it is kept for seven days,
whatever else the session stores; where nothing else is left to go, its new changes are not restorable.

Plans are made on a reading connection; each step is one short job of the writer, so that changes come between.
"""

from collections.abc import Callable
from contextlib import suppress

import msgspec

from picoclawd.errors import Fault
from picoclawd.history import database, recording
from picoclawd.history.blobs import Blobs, Transaction
from picoclawd.history.database import Connection, Readers
from picoclawd.history.schema import HAPPENED
from picoclawd.history.trash import Trash
from picoclawd.history.writer import Writer

DAY_NS = 86_400 * 1_000_000_000
PROTECTED_NS = 7 * DAY_NS
_STEP_ROWS = 128  # in one job: some milliseconds
_VACUUM_PAGES = 64  # given back to the file system in one job
_PRUNED = "its time to be kept is over"
_CROWDED = "it was dropped to make room: the history may keep no more"
_PARTS = ("before", "after", "addition")


class Pruned(msgspec.Struct, frozen=True):
    """What a round of retention removed. `stripped` rows lost a content and stay."""

    versions: int
    stripped: int
    swept_files: int


class _Row(msgspec.Struct, frozen=True):
    version: int
    path: bytes
    session_id: str | None
    changed_at_ns: int
    keeps_before: bool
    keeps_more: bool
    stored_bytes: int
    trashed: bool


# The columns of `_Row`, in its order.
_ROW = (
    "v.version, v.path, v.session_id, v.changed_at, v.keeps_before, v.keeps_after OR v.keeps_addition, v.stored, "
    "EXISTS (SELECT 1 FROM trash WHERE trash.version = v.version)"
)


class Retention:
    """Prunes one store. Every method blocks, and may be called from any thread."""

    def __init__(self, writer: Writer, readers: Readers, blobs: Blobs, trash: Trash) -> None:
        self._writer = writer
        self._readers = readers
        self._blobs = blobs
        self._trash = trash

    def used_bytes(self) -> int:
        """Bytes of the store: the database without its free pages, and the blobs beside it."""
        with self._readers.borrow() as db:
            return used_bytes(db)

    def trash_bytes(self) -> int:
        """Bytes in the trash. They have a bound of their own: a removed file took its place on the disk before."""
        with self._readers.borrow() as db:
            return trash_bytes(db)

    def by_age(self, max_age_ns: int, now_ns: int) -> Pruned:
        """Remove the versions that are older."""
        removed = 0
        while batch := self._older(now_ns - max_age_ns):
            removed += self._remove(batch)
        return Pruned(removed, 0, 0)

    def by_size(self, target_bytes: int, now_ns: int) -> Pruned:
        """Remove versions until the store has at most `target_bytes`, as far as what is protected allows."""
        return self._thin_sessions(self._by_stored(), target_bytes, now_ns)

    def make_room(self, target_bytes: int, now_ns: int, session_id: str | None) -> Pruned:
        """Do the same for a session that wants to store: those that stored less than it lose nothing for it."""
        order = self._by_stored()
        if session_id in order:
            order = order[: order.index(session_id) + 1]
        return self._thin_sessions(order, target_bytes, now_ns)

    def trash_by_size(self, target_bytes: int, now_ns: int) -> int:
        """Empty the trash down to `target_bytes`, oldest first, from the session with the most in it; count the files.

        What a session removed is kept for seven days, unless it had changed the file itself before.
        """
        discarded = 0
        for number in self._discardable(now_ns):
            if self.trash_bytes() <= target_bytes:
                break
            self._writer.submit(_emptying(self._trash, number))
            discarded += 1
        return discarded

    def purge(self, path: bytes) -> int:
        """Remove every version of a path, and of all below it; what held their contents in the database is zeroed."""
        removed = 0
        while batch := self._below(path):
            removed += self._remove(batch, overwrite=True)
        if removed:
            self._writer.submit(_emptying_the_log, durable=False)
        return removed

    def sweep(self, max_age_ns: int, now_ns: int) -> int:
        """Remove files that no row names, count trashed ones that a crash left uncounted, give back free pages."""
        swept = self._writer.submit(self._blobs.sweep, durable=False)
        for found in self._trash.files():
            if self._writer.submit(_adopting(found.number, found.file.name, found.file.size_bytes), durable=False):
                continue
            if found.since_ns < now_ns - max_age_ns:
                self._trash.discard(found.file.name)
                swept += 1
        self._vacuum(0)
        return swept

    def _thin_sessions(self, sessions: list[str | None], target_bytes: int, now_ns: int) -> Pruned:
        removed = stripped = 0
        for session in sessions:
            for last_resort in (False, True):
                cursor = 0
                while (excess := self.used_bytes() - target_bytes) > 0 and (rows := self._rows(session, cursor)):
                    rows = _enough(rows, excess)
                    cursor = rows[-1].version
                    pruned = self._thin(rows, now_ns, last_resort)
                    removed += pruned.versions
                    stripped += pruned.stripped
        # Some free pages are left for what comes next: without a bound they would add to the files beside them.
        self._vacuum(target_bytes // 16)
        return Pruned(removed, stripped, 0)

    def _vacuum(self, keep_bytes: int) -> None:
        while self._writer.submit(_vacuuming(keep_bytes), durable=False):
            pass

    def _by_stored(self) -> list[str | None]:
        """The sessions that stored something, those that stored most first; None is what came from outside."""
        with self._readers.borrow() as db:
            rows = db.execute(
                "SELECT session_id FROM versions GROUP BY session_id ORDER BY sum(stored) DESC, count(*) DESC"
            )
            return [row[0] for row in rows]

    def _discardable(self, now_ns: int) -> list[int]:
        with self._readers.borrow() as db:
            rows = [_Row(*row) for row in db.execute(f"SELECT {_ROW} FROM versions v JOIN trash t USING (version)")]
            weight = dict(
                db.execute("SELECT session_id, sum(size) FROM versions JOIN trash USING (version) GROUP BY session_id")
            )
            free = [row for row in rows if row.changed_at_ns <= now_ns - PROTECTED_NS or not _is_first(db, row)]
        return [row.version for row in sorted(free, key=lambda row: (-weight[row.session_id], row.version))]

    def _rows(self, session: str | None, after: int) -> list[_Row]:
        with self._readers.borrow() as db:
            return _select(db, "v.session_id IS ? AND v.version > ?", session, after)

    def _older(self, than_ns: int) -> list[int]:
        with self._readers.borrow() as db:
            return [row.version for row in _select(db, "v.changed_at < ?", than_ns)]

    def _below(self, path: bytes) -> list[int]:
        with self._readers.borrow() as db:
            # 0 comes after / in ASCII: between them lies every path below.
            where = "(v.path = ? OR (v.path > ? AND v.path < ?))"
            return [row.version for row in _select(db, where, path, path + b"/", path + b"0")]

    def _thin(self, rows: list[_Row], now_ns: int, last_resort: bool) -> Pruned:
        with self._readers.borrow() as db:
            first = {row.version for row in rows if _is_first(db, row) and row.changed_at_ns > now_ns - PROTECTED_NS}
        protects = {row.version for row in rows if row.version in first and (row.keeps_before or row.trashed)}
        kept = protects if last_resort else first
        strippable = [row.version for row in rows if row.version in kept and row.keeps_more]
        removable = [row.version for row in rows if row.version not in kept]
        if strippable:
            self._writer.submit(_stripping(self._blobs, strippable))
        return Pruned(self._remove(removable) if removable else 0, len(strippable), 0)

    def _remove(self, numbers: list[int], overwrite: bool = False) -> int:
        self._writer.submit(_removing(self._blobs, self._trash, numbers, overwrite))
        return len(numbers)


def used_bytes(db: Connection) -> int:
    """See `Retention.used_bytes`."""
    pages = db.execute("PRAGMA page_count").fetchone()[0] - db.execute("PRAGMA freelist_count").fetchone()[0]
    size: int = db.execute("PRAGMA page_size").fetchone()[0]
    files: int = db.execute("SELECT coalesce(sum(size), 0) FROM blobs WHERE in_file").fetchone()[0]
    return int(pages) * size + files


def trash_bytes(db: Connection) -> int:
    """See `Retention.trash_bytes`."""
    return int(db.execute("SELECT coalesce(sum(size), 0) FROM trash").fetchone()[0])


def _select(db: Connection, where: str, *values: object) -> list[_Row]:
    """The first rows that are so, oldest first. An open intent is never among them."""
    rows = db.execute(
        f"SELECT {_ROW} FROM versions v WHERE {where} AND v.state <> 'intent' ORDER BY v.version LIMIT {_STEP_ROWS}",
        values,
    )
    return [_Row(*row) for row in rows]


def _enough(rows: list[_Row], excess_bytes: int) -> list[_Row]:
    """The first rows that may free so much, at least one: a step takes no more than it must."""
    for count, row in enumerate(rows, 1):
        excess_bytes -= row.stored_bytes
        if excess_bytes <= 0:
            return rows[:count]
    return rows


def _is_first(db: Connection, row: _Row) -> bool:
    """Whether it is its session's first change of the path."""
    earlier = db.execute(
        f"SELECT 1 FROM versions v WHERE path = ? AND version < ? AND session_id IS ? AND {HAPPENED} LIMIT 1",
        (row.path, row.version, row.session_id),
    )
    return earlier.fetchone() is None


def _removing(blobs: Blobs, trash: Trash, numbers: list[int], overwrite: bool) -> Callable[[Transaction], None]:
    def remove(tx: Transaction) -> None:
        if overwrite:
            tx.db.execute("PRAGMA secure_delete = ON")
        for number in numbers:
            recording.strip(tx, blobs, number, _PARTS, _PRUNED)
            trashed = recording.forget_trashed(tx, number, _PRUNED)
            tx.afterwards.extend(_discarding(trash, name) for name in trashed)
            tx.db.execute("DELETE FROM versions WHERE version = ?", (number,))
        if overwrite:
            tx.db.execute("PRAGMA secure_delete = OFF")

    return remove


def _emptying(trash: Trash, number: int) -> Callable[[Transaction], None]:
    def empty(tx: Transaction) -> None:
        trashed = recording.forget_trashed(tx, number, _CROWDED)
        tx.afterwards.extend(_discarding(trash, name) for name in trashed)

    return empty


def _discarding(trash: Trash, name: bytes) -> Callable[[], None]:
    def discard() -> None:
        with suppress(Fault, OSError):  # what stays is swept later
            trash.discard(name)

    return discard


def _stripping(blobs: Blobs, numbers: list[int]) -> Callable[[Transaction], None]:
    def strip(tx: Transaction) -> None:
        for number in numbers:
            recording.strip(tx, blobs, number, ("after", "addition"), _CROWDED)

    return strip


def _adopting(number: int, name: bytes, size_bytes: int) -> Callable[[Transaction], bool]:
    """Make sure that a trashed file is counted; False where it is no version's, or not its only one."""

    def adopt(tx: Transaction) -> bool:
        known = tx.db.execute("SELECT name FROM trash WHERE version = ?", (number,)).fetchone()
        if known is not None:
            return bool(known[0] == name)
        if tx.db.execute("SELECT 1 FROM versions WHERE version = ?", (number,)).fetchone() is None:
            return False
        recording.note_trashed(tx, number, name, size_bytes)
        return True

    return adopt


def _vacuuming(keep_bytes: int) -> Callable[[Transaction], bool]:
    def vacuum(tx: Transaction) -> bool:
        """Give some free pages back to the file system; True while there are more than are to be kept."""
        keep_pages = keep_bytes // tx.db.execute("PRAGMA page_size").fetchone()[0]
        free = tx.db.execute("PRAGMA freelist_count").fetchone()[0] - keep_pages
        if free > 0:
            tx.db.execute(f"PRAGMA incremental_vacuum({min(free, _VACUUM_PAGES)})").fetchall()
        return bool(free > _VACUUM_PAGES)

    return vacuum


def _emptying_the_log(tx: Transaction) -> None:
    """Checkpoint once the transaction is over, so that nothing is left in the log. Readers may hinder it for now."""
    tx.afterwards.append(lambda: database.empty_log(tx.db))
