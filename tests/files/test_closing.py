"""Closing, now and later: an error of close(2) fails nothing that is done; a descriptor that is not ours is a bug."""

import os
import threading
import time
from collections.abc import Callable

import pytest

from picoclawd.files import closing
from picoclawd.files.closing import Closer, close
from tests.files.conftest import Folder, Injected


@pytest.mark.parametrize("error", ["EIO", "EINTR", "ENOSPC", "EDQUOT"])
def test_what_close_answers_fails_no_call(folder: Folder, injected: Injected, error: str) -> None:
    # A close that was interrupted was answered as an internal error, of a change that had been made.
    fd = os.dup(folder.fd)
    with injected(f"close:error={error}:when=1"):
        close(fd)
    os.close(fd)  # the call was answered and not made


def test_a_descriptor_that_is_closed_already_is_a_bug(folder: Folder) -> None:
    fd = os.dup(folder.fd)
    close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        close(fd)


def test_later_is_soon_and_by_another_thread(folder: Folder) -> None:
    closer, fds = Closer(), [os.dup(folder.fd) for _ in range(100)]
    for fd in fds:
        closer.close(fd)
    _wait_until(lambda: not any(_is_open(fd) for fd in fds))


def test_no_more_wait_than_may(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    may_close = threading.Event()
    closed: list[int] = []

    def slow(fd: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            assert may_close.wait(30)
        closed.append(fd)

    monkeypatch.setattr(closing, "close", slow)
    closer = Closer()
    for fd in range(100):
        closer.close(fd)
    # One is in the thread's hands, 16 wait; the others were closed by who gave them.
    assert 83 <= len(closed) <= 84
    may_close.set()
    _wait_until(lambda: sorted(closed) == list(range(100)))


def test_a_thread_without_work_ends_and_the_next_descriptor_starts_one(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "_IDLE_S", 0.01)
    before = threading.active_count()
    closer = Closer()
    for _ in range(3):
        fd = os.dup(folder.fd)
        closer.close(fd)
        _wait_until(lambda fd=fd: not _is_open(fd))  # type: ignore[misc]  # bound at once
        _wait_until(lambda: threading.active_count() == before)


def test_without_room_for_a_thread_it_is_closed_at_once(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    fd = os.dup(folder.fd)
    Closer().close(fd)
    assert not _is_open(fd)


def _is_open(fd: int) -> bool:
    return os.path.exists(f"/proc/self/fd/{fd}")


def _wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)
