"""Our own files: private, durable, locked once; what others could touch is refused."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files import state
from tests.files.conftest import Injected


@pytest.fixture
def state_dir(tmp_path: Path) -> Iterator[int]:
    fd = state.open_private_directory(str(tmp_path / "state"))
    try:
        yield fd
    finally:
        os.close(fd)


def test_a_missing_directory_is_created_private_with_those_above_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        fd = state.open_private_directory(str(tmp_path / "a" / "b" / ".." / "c"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    assert os.path.samestat(os.fstat(fd), (tmp_path / "a" / "c").stat())
    os.close(fd)


def test_an_existing_private_one_is_taken_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.close(state.open_private_directory(str(tmp_path)))


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o740, 0o755, 0o770, 0o777])
def test_a_wider_one_is_refused_with_the_chmod_to_type_and_left_as_it_is(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "state"
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(Fault) as caught:
        state.open_private_directory(str(path))
    assert caught.value.slug is Slug.ACCESS_DENIED
    assert f"chmod 700 {path}" in caught.value.message
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_somebody_elses_directory_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to somebody else")
    path = tmp_path / "state"
    path.mkdir(0o700)
    os.chown(path, 1234, -1)
    with pytest.raises(Fault, match="belongs to user 1234"):
        state.open_private_directory(str(path))


@pytest.mark.parametrize("kind", ["link", "dangling link", "file"])
def test_a_link_or_file_in_its_place_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "state"
    (tmp_path / "real").mkdir(0o700)
    if kind == "file":
        path.write_bytes(b"")
    else:
        path.symlink_to("real" if kind == "link" else "nowhere")
    with pytest.raises(Fault, match="link or no directory"):
        state.open_private_directory(str(path))


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Fault) as caught:
        state.open_private_directory(str(tmp_path / "file" / "state"))
    assert caught.value.slug is Slug.NOT_A_DIRECTORY


def test_another_start_that_makes_the_directory_first_does_no_harm(tmp_path: Path, injected: Injected) -> None:
    # The call is answered without being made: as if it had been there just before.
    with pytest.raises(Fault), injected("mkdir:error=EEXIST:when=1"):
        state.open_private_directory(str(tmp_path / "state"))
    os.close(state.open_private_directory(str(tmp_path / "state")))


def test_a_private_file_is_written_whole_read_back_and_replaced(state_dir: int, tmp_path: Path) -> None:
    state.write_private_file(state_dir, "info.json", b"{}" * 100_000)
    state.write_private_file(state_dir, "info.json", b"{}")
    assert state.read_private_file(state_dir, "info.json") == b"{}"
    assert os.listdir(tmp_path / "state") == ["info.json"]
    assert stat.S_IMODE((tmp_path / "state" / "info.json").stat().st_mode) == 0o600


def test_a_failed_write_leaves_the_old_file_and_no_other(state_dir: int, tmp_path: Path, injected: Injected) -> None:
    state.write_private_file(state_dir, "info.json", b"old")
    with pytest.raises(Fault) as caught, injected("fsync:error=EIO:when=1"):
        state.write_private_file(state_dir, "info.json", b"new")
    assert caught.value.slug is Slug.IO_ERROR
    assert state.read_private_file(state_dir, "info.json") == b"old"
    assert os.listdir(tmp_path / "state") == ["info.json"]


def test_a_file_that_is_not_there_is_absent(state_dir: int) -> None:
    assert state.read_private_file(state_dir, "info.json") is None


@pytest.mark.parametrize("kind", ["link", "fifo", "wide", "directory"])
def test_a_file_that_others_could_have_put_there_is_neither_read_nor_locked(
    state_dir: int, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "state" / "lock"
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "fifo":
        os.mkfifo(path, 0o600)
    elif kind == "directory":
        path.mkdir()
    else:
        path.write_bytes(b"")
        path.chmod(0o644)
    with pytest.raises(Fault):
        state.lock_file(state_dir, "lock")
    with pytest.raises(Fault):
        state.read_private_file(state_dir, "lock")
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_is_had_once_and_again_after_its_release(state_dir: int, tmp_path: Path) -> None:
    lock = state.lock_file(state_dir, "lock")
    assert lock is not None
    assert state.lock_file(state_dir, "lock") is None
    assert state.holder_pid(state_dir, "lock") == os.getpid()
    lock.release()
    assert (tmp_path / "state" / "lock").exists()
    again = state.lock_file(state_dir, "lock")
    assert again is not None
    again.release()


def test_a_refused_lock_leaves_no_descriptor_open(state_dir: int) -> None:
    lock = state.lock_file(state_dir, "lock")
    assert lock is not None
    before = os.listdir("/proc/self/fd")
    for _ in range(10):
        assert state.lock_file(state_dir, "lock") is None
    assert len(os.listdir("/proc/self/fd")) == len(before)
    lock.release()


HOLDER = """
import os, sys
from picoclawd.files import state
lock = state.lock_file(state.open_private_directory(sys.argv[1]), "lock")
print(lock is not None, flush=True)
sys.stdin.read()
"""


def test_a_process_that_is_killed_gives_its_lock_back(state_dir: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "state")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert state.lock_file(state_dir, "lock") is None
        assert state.holder_pid(state_dir, "lock") == holder.pid
        holder.kill()
        holder.wait(10)
    lock = state.lock_file(state_dir, "lock")
    assert lock is not None
    lock.release()


@pytest.mark.parametrize("content", [b"", b"no number", b"\xff" * 100])
def test_a_lock_file_without_a_pid_names_nobody(state_dir: int, content: bytes) -> None:
    state.write_private_file(state_dir, "lock", content)
    assert state.holder_pid(state_dir, "lock") is None
    assert state.holder_pid(state_dir, "missing") is None
