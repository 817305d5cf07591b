"""Whoever holds a descriptor closes it once; and a place knows whether it is still where it was."""

import os
import socket
import stat
from pathlib import Path

import pytest

from picoclawd.files.handles import Held, Place, kind_of
from picoclawd.files.policy import Allow
from tests.files.conftest import Folder


def is_open(fd: int) -> bool:
    return os.path.exists(f"/proc/self/fd/{fd}")


def test_a_descriptor_is_closed_once_and_at_the_end_of_its_block() -> None:
    with Held(os.open("/", os.O_PATH)) as held:
        fd = held.fd
        assert is_open(fd)
    assert not is_open(fd)
    assert held.fd == -1
    taken = os.open("/", os.O_PATH)  # most likely the same number: closing again must not hit it
    held.close()
    assert is_open(taken)
    os.close(taken)


def test_what_was_released_is_the_callers() -> None:
    with Held(os.open("/", os.O_PATH)) as held:
        fd = held.release()
    assert is_open(fd)
    os.close(fd)


@pytest.fixture
def place(folder: Folder) -> Place:
    (folder.path / "d").mkdir()
    fd = os.open(folder.path / "d", os.O_RDONLY | os.O_DIRECTORY)
    real = os.fsencode(os.path.realpath(folder.path)) + b"/d/f"
    return Place(fd, b"f", real, None, Allow())


def test_a_place_is_there_until_its_directory_is_moved_or_removed(folder: Folder, place: Place) -> None:
    with place:
        assert place.still_there()
        (folder.path / "d").rename(folder.path / "e")
        assert not place.still_there()
        (folder.path / "e").rename(folder.path / "d")
        assert place.still_there()
        (folder.path / "d").rmdir()
        assert not place.still_there()
        (folder.path / "d").mkdir()
        assert not place.still_there()


def test_a_place_has_one_key_by_whatever_path_it_was_reached(folder: Folder, place: Place) -> None:
    (folder.path / "link").symlink_to("d")
    with place, Place(os.open(folder.path / "link", os.O_RDONLY), b"f", b"/x/f", None, Allow()) as other:
        assert place.key == other.key
        with Place(os.dup(place.fd), b"g", place.real, None, Allow()) as neighbour:
            assert neighbour.key != place.key


def test_kinds_are_named_for_people(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "sock"))
        kinds = {name: kind_of((tmp_path / name).lstat().st_mode) for name in ("file", "link", "fifo", "sock", ".")}
    assert kinds == {"file": "file", "link": "symbolic link", "fifo": "FIFO", "sock": "socket", ".": "directory"}
    assert kind_of(os.stat("/dev/null").st_mode) == "character device"
    assert kind_of(stat.S_IFBLK) == "block device"
    assert kind_of(0) == "unknown object"
