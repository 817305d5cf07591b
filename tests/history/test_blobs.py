"""Kept contents: counted, checked when read, and durable before they are named."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.history import database
from picoclawd.history.blobs import INLINE_MAX_BYTES, Blobs, Transaction, is_left_over
from picoclawd.history.database import Connection
from tests.history.conftest import noise, sha

LARGE = INLINE_MAX_BYTES + 1


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    opened = database.open_database(str(tmp_path / "state")).db
    yield opened
    opened.close()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(str(tmp_path / "state"))


def key(data: bytes) -> bytes:
    return bytes.fromhex(sha(data))


def file_of(tmp_path: Path, data: bytes) -> Path:
    name = sha(data)
    return tmp_path / "state" / "blobs" / name[:2] / name[2:]


def committed(tx: Transaction) -> None:
    """What the writer does after a commit."""
    for step in tx.afterwards:
        step()
    tx.afterwards.clear()


@pytest.mark.parametrize("size", [0, 10, LARGE])
def test_a_content_goes_with_its_last_use(db: Connection, blobs: Blobs, tmp_path: Path, size: int) -> None:
    data, tx = noise(size), Transaction(db)
    assert blobs.put(tx, key(data), data) == size
    assert blobs.put(tx, key(data), data) == 0
    assert blobs.hold(tx, key(data))
    assert [blobs.release(tx, key(data)) for _ in range(2)] == [0, 0]
    committed(tx)
    assert blobs.read(db, key(data)) == data
    assert blobs.release(tx, key(data)) == size
    committed(tx)
    assert blobs.read(db, key(data)) is None
    assert not file_of(tmp_path, data).exists()
    assert not blobs.hold(tx, key(data))


def test_a_content_stored_anew_in_the_same_transaction_stays(db: Connection, blobs: Blobs) -> None:
    data, tx = noise(LARGE), Transaction(db)
    blobs.put(tx, key(data), data)
    blobs.release(tx, key(data))
    blobs.put(tx, key(data), data)
    committed(tx)
    assert blobs.read(db, key(data)) == data


def test_a_staged_file_is_taken_and_one_swept_since_is_written_again(
    db: Connection, blobs: Blobs, tmp_path: Path
) -> None:
    for swept in (False, True):
        data, tx = noise(LARGE), Transaction(db)
        blobs.stage(db, key(data), data)
        inode = file_of(tmp_path, data).stat().st_ino
        if swept:
            assert blobs.sweep(tx) == 1
        blobs.put(tx, key(data), data)
        assert blobs.read(db, key(data)) == data
        assert swept or file_of(tmp_path, data).stat().st_ino == inode


def test_what_is_small_or_known_is_not_staged(db: Connection, blobs: Blobs, tmp_path: Path) -> None:
    blobs.stage(db, key(b"small"), b"small")
    assert not (tmp_path / "state" / "blobs").exists()
    data = noise(LARGE)
    blobs.put(Transaction(db), key(data), data)
    file_of(tmp_path, data).unlink()
    blobs.stage(db, key(data), data)
    assert not file_of(tmp_path, data).exists()


def test_a_content_that_is_not_what_was_stored_is_none(db: Connection, blobs: Blobs, tmp_path: Path) -> None:
    data = noise(LARGE)
    blobs.put(Transaction(db), key(data), data)
    file_of(tmp_path, data).write_bytes(data[:-1] + b"?")
    assert blobs.read(db, key(data)) is None
    file_of(tmp_path, data).chmod(0o644)
    assert blobs.read(db, key(data)) is None
    file_of(tmp_path, data).unlink()
    assert blobs.read(db, key(data)) is None
    file_of(tmp_path, data).parent.rmdir()
    assert blobs.read(db, key(data)) is None


def test_a_sweep_spares_what_is_used_and_what_is_not_ours(db: Connection, blobs: Blobs, tmp_path: Path) -> None:
    data = noise(LARGE)
    blobs.put(Transaction(db), key(data), data)
    (tmp_path / "state" / "blobs" / "README").write_bytes(b"")
    assert blobs.sweep(Transaction(db)) == 0
    assert blobs.read(db, key(data)) == data


def test_a_left_over_is_a_temporary_file_of_another_process() -> None:
    assert is_left_over(b".picoclawd.1.0123456789abcdef.tmp")
    assert not is_left_over(b"notes.txt")
