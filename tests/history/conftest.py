"""A store in a directory of the test, and short words for the changes that tests record."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.history.records import Action, After, Author, Before, Begun, HistoryError, Intent, Outcome
from picoclawd.history.store import History
from tests.files.conftest import injected as injected

ME = Author("session-1", "pi", "edit_file", "task-1", "tidy up")
OTHER = Author("session-2", "qwen", "write_file", "task-2", "break things")


class Made:
    """A store, and what a test does with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.history = History(str(path))

    def reopened(self, max_bytes: int = 1 << 30) -> History:
        """Close the store and open it again, perhaps smaller."""
        self.history.close()
        self.history = History(str(self.path), max_bytes=max_bytes)
        return self.history

    def begin(
        self,
        before: Before,
        after: After,
        path: bytes = b"notes.txt",
        author: Author = ME,
        action: Action | None = None,
        op: str | None = None,
        sensitive: bool = False,
    ) -> Begun:
        """Record an intent, of the action that the contents suggest."""
        guessed: Action = "delete" if after is None else "create" if before is None else "modify"
        return self.history.begin(Intent(path, action or guessed, before, after, author, op, sensitive))

    def change(
        self,
        before: Before,
        after: After,
        path: bytes = b"notes.txt",
        author: Author = ME,
        action: Action | None = None,
        op: str | None = None,
        sensitive: bool = False,
    ) -> int:
        """Record a change and that it was made; its version."""
        begun = self.begin(before, after, path, author, action, op, sensitive)
        self.history.finish(begun.version, Outcome("applied"))
        return begun.version

    def bytes_on_disk(self) -> int:
        """What the store takes, with everything in its directory."""
        return sum(entry.stat().st_size for entry in self.path.rglob("*") if entry.is_file())

    def aged(self, days: float, where: str = "1") -> None:
        """Make versions look older, as no caller can."""
        self.history.outcome("flush what is queued")
        with sqlite3.connect(self.path / "history.db", isolation_level=None) as db:
            db.execute(f"UPDATE versions SET changed_at = changed_at - ? WHERE {where}", (int(days * 86_400 * 10**9),))
        db.close()

    def blob_files(self) -> list[Path]:
        """The contents that have files of their own."""
        return sorted(path for path in self.path.glob("blobs/*/*") if path.is_file())


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    store = Made(tmp_path / "state")
    try:
        yield store
    finally:
        store.history.close()


def refused(made: Made, before: Before, after: After) -> str:
    """The reason for which an intent cannot be recorded."""
    with pytest.raises(HistoryError) as caught:
        made.begin(before, after)
    return caught.value.reason


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def noise(size: int) -> bytes:
    """Bytes that are like no others."""
    return os.urandom(size)
