"""Temporary files: their names, and that they go away."""

import os
import signal

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files import temps
from tests.files.conftest import Folder, Injected


def test_every_name_made_is_known_again_and_none_twice() -> None:
    names = {temps.new_name() for _ in range(1000)}
    assert len(names) == 1000
    assert all(temps.is_temp(name) for name in names)


@pytest.mark.parametrize(
    "name",
    [
        b".picoclawd.1.0123456789abcdef.tm",
        b".picoclawd.1.0123456789abcdef.tmp\n",
        b".picoclawd.x.0123456789abcdef.tmp",
        b".picoclawd.1.0123456789abcde.tmp",
        b"picoclawd.1.0123456789abcdef.tmp",
        b".picoclawd.1.tmp",
        b"notes.txt",
        b"",
    ],
)
def test_other_names_are_not_taken_for_ours(name: bytes) -> None:
    assert not temps.is_temp(name)


def test_a_temporary_file_is_private_and_goes_with_its_block(folder: Folder) -> None:
    with temps.beside(folder.target()) as temp:
        assert os.stat(temp.name, dir_fd=folder.fd).st_mode & 0o777 == 0o600
        assert folder.names() == [temp.name.decode()]
    assert folder.names() == []
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(temp.fd)


def test_a_name_that_somebody_has_is_never_written_to(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.put(b"theirs", "taken")
    monkeypatch.setattr(temps, "new_name", lambda: b"taken")
    with pytest.raises(FileExistsError), temps.beside(folder.target()):
        raise AssertionError("the name is taken")
    assert folder.bytes("taken") == b"theirs"


def test_a_disowned_one_stays(folder: Folder) -> None:
    with temps.beside(folder.target()) as temp:
        temp.disown()
    assert folder.names() == [temp.name.decode()]


def test_a_sealed_one_is_closed_and_durable(folder: Folder) -> None:
    with temps.beside(folder.target()) as temp:
        temps.write_all(temp.fd, b"abc")
        assert temp.seal() == folder.stamp(temp.name.decode())
        assert temp.fd == -1


def test_a_directory_that_cannot_be_read_is_synced_with_everything(folder: Folder, injected: Injected) -> None:
    synced: list[int] = []
    was = signal.signal(signal.SIGUSR1, lambda number, frame: synced.append(number))
    fd = os.open(folder.path, os.O_PATH)
    try:
        with injected("openat:error=EACCES:when=1", "sync:retval=0:signal=SIGUSR1"):
            temps.sync_directory(fd)
        assert synced == [signal.SIGUSR1]
        with pytest.raises(OSError, match="Input/output"), injected("fsync:error=EIO:when=2"):
            temps.sync_directory(fd)
    finally:
        os.close(fd)
        signal.signal(signal.SIGUSR1, was)


def test_the_directory_that_is_held_is_synced_wherever_we_are(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/proc")  # whose directories cannot be synced
    fd = os.open(folder.path, os.O_PATH)
    before = os.listdir("/proc/self/fd")
    try:
        temps.sync_directory(fd)
        assert os.listdir("/proc/self/fd") == before
    finally:
        os.close(fd)


def test_a_directory_that_takes_no_files_is_told_from_one_that_is_gone(folder: Folder) -> None:
    refused = temps.directory_fault(folder.target(), PermissionError(1, "no"))
    assert (refused.slug, refused.data) == (Slug.ACCESS_DENIED, {"errno_name": "EPERM", "denied": "directory"})
    assert temps.directory_fault(folder.target(), FileNotFoundError(2, "no")).slug is Slug.CONFLICT
    folder.path.rmdir()
    with pytest.raises(Fault) as caught, temps.beside(folder.target()):
        raise AssertionError("nothing can be made there")
    assert caught.value.slug is Slug.CONFLICT
