"""Kept contents by their hash, counted by use: small ones in the database, larger ones as files beside it.

A row never names a file that is not durable: the file is written and synced before the row's transaction commits,
and unlinked after the transaction that took the row away has committed.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from picoclawd.errors import Fault
from picoclawd.files import closing, state, temps
from picoclawd.history import database
from picoclawd.history.database import Connection

# Inside the one transaction up to here: a file of its own costs two more fsyncs, a larger one a bloated log.
INLINE_MAX_BYTES = 256 * 1024
_PREFIX_HEX = 2  # 256 directories: none grows long
_HEX = frozenset("0123456789abcdef")


@dataclass(slots=True)
class Transaction:
    """One transaction of the writer: its connection, and what is to be done once it has committed.

    A step of `afterwards` must not raise: its transaction is over.
    """

    db: Connection
    afterwards: list[Callable[[], None]] = field(default_factory=list)


class Blobs:
    """The contents of one store. `put` and `release` run in the writer's transaction, the rest anywhere. Blocking."""

    def __init__(self, directory: str) -> None:
        self._directory = os.path.join(directory, database.BLOBS)

    def stage(self, db: Connection, sha: bytes, content: bytes) -> None:
        """Write a large content's file before the transaction, in the caller's thread, so that others need not wait."""
        if len(content) > INLINE_MAX_BYTES and not _known(db, sha):
            self._write(sha, content)

    def put(self, tx: Transaction, sha: bytes, content: bytes) -> int:
        """Count one more use of a content, stored if it was not; return the bytes that it brought into the store."""
        if tx.db.execute("UPDATE blobs SET uses = uses + 1 WHERE sha = ?", (sha,)).rowcount:
            return 0
        in_file = len(content) > INLINE_MAX_BYTES
        blob = tx.db.execute(
            "INSERT INTO blobs (sha, size, uses, in_file) VALUES (?, ?, 1, ?)", (sha, len(content), in_file)
        ).lastrowid
        if not in_file:
            tx.db.execute("INSERT INTO contents (blob, content) VALUES (?, ?)", (blob, content))
        elif not os.path.exists(self._path(sha)):  # staged, and swept since
            self._write(sha, content)
        return len(content)

    def hold(self, tx: Transaction, sha: bytes) -> bool:
        """Count one more use of a content that is kept already; False where it is not."""
        return bool(tx.db.execute("UPDATE blobs SET uses = uses + 1 WHERE sha = ?", (sha,)).rowcount)

    def release(self, tx: Transaction, sha: bytes) -> int:
        """Count one use less; without any the content goes. Return the bytes that this freed."""
        tx.db.execute("UPDATE blobs SET uses = uses - 1 WHERE sha = ?", (sha,))
        gone = tx.db.execute("SELECT blob, in_file, size FROM blobs WHERE sha = ? AND uses <= 0", (sha,)).fetchone()
        if gone is None:
            return 0
        blob, in_file, size = gone
        tx.db.execute("DELETE FROM blobs WHERE blob = ?", (blob,))
        tx.db.execute("DELETE FROM contents WHERE blob = ?", (blob,))
        if in_file:
            tx.afterwards.append(lambda: self._unlink(tx.db, sha))
        return int(size)

    def read(self, db: Connection, sha: bytes) -> bytes | None:
        """Read a content whole; None where it is not kept, or is no longer what was stored."""
        if not _known(db, sha):
            return None
        row = db.execute("SELECT content FROM contents JOIN blobs USING (blob) WHERE sha = ?", (sha,)).fetchone()
        content = self._read_file(sha) if row is None else bytes(row[0])
        return content if content is not None and hashlib.sha256(content).digest() == sha else None

    def sweep(self, tx: Transaction) -> int:
        """Unlink the files that no row names, left by a crash; return how many."""
        swept = 0
        for sha in list(self._files()):
            if not _known(tx.db, sha):
                self._remove(sha)
                swept += 1
        return swept

    def _path(self, sha: bytes) -> str:
        name = sha.hex()
        return os.path.join(self._directory, name[:_PREFIX_HEX], name[_PREFIX_HEX:])

    def _write(self, sha: bytes, content: bytes) -> None:
        directory, name = os.path.split(self._path(sha))
        made = not os.path.isdir(directory)
        fd = state.open_private_directory(directory)
        try:
            state.write_private_file(fd, name, content)
        finally:
            closing.close(fd)
        if made:
            _sync(self._directory)
            _sync(os.path.dirname(self._directory))

    def _read_file(self, sha: bytes) -> bytes | None:
        directory, name = os.path.split(self._path(sha))
        if not os.path.isdir(directory):
            return None
        fd = state.open_private_directory(directory)
        try:
            return state.read_private_file(fd, name)
        except Fault:
            return None  # not ours any more, or unreadable: as good as gone
        finally:
            closing.close(fd)

    def _unlink(self, db: Connection, sha: bytes) -> None:
        if not _known(db, sha):  # another change of the same transaction may have stored it anew
            self._remove(sha)

    def _remove(self, sha: bytes) -> None:
        with suppress(OSError):  # what stays is swept later
            os.unlink(self._path(sha))

    def _files(self) -> Iterator[bytes]:
        """The hashes that files stand for; unfinished temporary ones are removed on the way."""
        for prefix in _names(self._directory):
            directory = os.path.join(self._directory, prefix)
            for name in _names(directory):
                if _HEX.issuperset(prefix + name) and len(prefix + name) == 64:
                    yield bytes.fromhex(prefix + name)
                elif is_left_over(os.fsencode(name)):
                    with suppress(OSError):
                        os.unlink(os.path.join(directory, name))


def is_left_over(name: bytes) -> bool:
    """Tell whether this is a temporary file of a process that is gone: ours may be at work in another thread."""
    return temps.is_temp(name) and int(name.split(b".")[2]) != os.getpid()


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _known(db: Connection, sha: bytes) -> bool:
    return db.execute("SELECT 1 FROM blobs WHERE sha = ?", (sha,)).fetchone() is not None


def _sync(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        closing.close(fd)
