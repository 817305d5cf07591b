"""Leases: who is told, who waits, and that they are given back."""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import leases
from tests.files.conftest import Folder, Injected


@pytest.fixture
def fd(folder: Folder) -> Iterator[int]:
    folder.put(b"x")
    fd = os.open(folder.path / "notes.txt", os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


def test_a_lease_is_held_for_the_block_and_given_back(fd: int) -> None:
    with leases.hold(fd, "notes.txt") as lease:
        assert lease.granted
        assert lease.intact()
        assert fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK
    assert fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_UNLCK


def test_it_is_given_back_when_the_block_fails(fd: int) -> None:
    with pytest.raises(ZeroDivisionError), leases.hold(fd, "notes.txt"):
        raise ZeroDivisionError
    assert fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_UNLCK


def test_a_writer_that_comes_breaks_it_and_waits_for_its_end(folder: Folder, fd: int) -> None:
    wrote = threading.Event()

    def write() -> None:
        (folder.path / "notes.txt").write_bytes(b"theirs")
        wrote.set()

    thread = threading.Thread(target=write)
    with leases.hold(fd, "notes.txt") as lease:
        with pytest.raises(BlockingIOError):
            os.open(folder.path / "notes.txt", os.O_WRONLY | os.O_NONBLOCK)
        thread.start()
        assert not lease.intact()
        assert not wrote.is_set()
        assert folder.bytes() == b"x"
    thread.join(10)
    assert wrote.is_set()


def test_a_writer_that_stays_is_told_of(folder: Folder, fd: int) -> None:
    with open(folder.path / "notes.txt", "ab"), pytest.raises(Fault) as caught, leases.hold(fd, "notes.txt"):
        raise AssertionError("no lease can be had")
    assert caught.value.slug is Slug.PATH_BUSY


def test_who_waits_for_a_writer_asks_often_and_does_not_spin(
    folder: Folder, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def ask(fd: int) -> leases.Answer:
        asked.append(fd)
        return leases.Answer.WRITER

    monkeypatch.setattr(leases, "ask", ask)
    with pytest.raises(Fault), leases.hold(fd, "notes.txt"):
        raise AssertionError("no lease can be had")
    assert leases.RETRY_S <= limits.LEASE_WAIT_S / 10
    assert len(asked) <= limits.LEASE_WAIT_S / leases.RETRY_S + 2


def test_a_lease_that_cannot_be_given_back_fails_nothing_that_was_done(fd: int, injected: Injected) -> None:
    with injected("fcntl:error=EIO:when=2"), leases.hold(fd, "notes.txt") as lease:
        granted = lease.granted
    assert granted


def test_another_users_file_gives_no_lease_and_no_failure(
    fd: int, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    with as_nobody(), leases.hold(fd, "notes.txt") as lease:
        assert not lease.granted
        assert lease.intact()


@pytest.mark.parametrize("error", ["EINVAL", "ENOLCK", "EOPNOTSUPP"])
def test_a_file_system_without_leases_gives_none(fd: int, injected: Injected, error: str) -> None:
    with injected(f"fcntl:error={error}:when=1"):
        answer = leases.ask(fd)
    assert answer is leases.Answer.UNAVAILABLE


def test_any_other_failure_is_one(fd: int, injected: Injected) -> None:
    with pytest.raises(OSError, match="Input/output"), injected("fcntl:error=EIO:when=1"):
        leases.ask(fd)
