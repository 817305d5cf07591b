"""Only the version that a change was computed from is opened, and it must stay that version."""

import fcntl
import os

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files.pinned import check_unchanged, opened
from tests.files.conftest import Folder

OLD = b"old bytes\n"


def test_the_expected_version_is_opened_and_closed_again(folder: Folder) -> None:
    expected = folder.put(OLD)
    before = os.listdir("/proc/self/fd")
    with opened(folder.target(), expected, os.O_RDONLY) as fd:
        assert os.read(fd, 100) == OLD
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_another_version_is_not_opened(folder: Folder) -> None:
    expected = folder.put(OLD)
    folder.save_by_rename(OLD)
    with pytest.raises(Fault) as caught, opened(folder.target(), expected, os.O_RDONLY):
        raise AssertionError("it is another inode")
    assert caught.value.slug is Slug.CONFLICT
    assert "Read it again" in caught.value.message


def test_a_change_in_place_after_the_opening_is_seen(folder: Folder) -> None:
    expected = folder.put(OLD)
    with opened(folder.target(), expected, os.O_RDONLY) as fd:
        check_unchanged(folder.target(), fd, expected, OLD)
        (folder.path / "notes.txt").write_bytes(b"theirs")
        with pytest.raises(Fault) as caught:
            check_unchanged(folder.target(), fd, expected, None)
    assert caught.value.slug is Slug.CONFLICT


def test_a_link_to_the_very_file_is_not_the_file(folder: Folder) -> None:
    expected = folder.put(b"old")
    (folder.path / "notes.txt").rename(folder.path / "moved.txt")
    (folder.path / "notes.txt").symlink_to("moved.txt")
    with pytest.raises(Fault) as caught, opened(folder.target(), expected, os.O_RDONLY):
        raise AssertionError("the name is another file's now")
    assert caught.value.slug is Slug.CONFLICT


def test_a_file_that_somebody_leases_is_not_waited_for(folder: Folder) -> None:
    expected = folder.put(b"old")
    holder = os.open(folder.path / "notes.txt", os.O_RDWR)
    try:
        fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        with pytest.raises(BlockingIOError), opened(folder.target(), expected, os.O_RDONLY):
            raise AssertionError("the kernel would let us wait for its end")
    finally:
        os.close(holder)
