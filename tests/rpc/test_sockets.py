"""Binding and inheriting sockets."""

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.rpc import sockets

BIND_AND_STAY = """
import sys, time
from picoclawd.rpc import sockets
owned = sockets.bind(sys.argv[1])
print(1, flush=True)
time.sleep(60)
"""


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a short name: a socket's path has 107 bytes at most."""
    return tmp_path_factory.mktemp("s")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def answers(path: Path) -> bool:
    with closing(socket.socket(socket.AF_UNIX)) as caller:
        return caller.connect_ex(str(path)) == 0


def refusal(path: Path) -> Fault:
    with pytest.raises(Fault) as caught:
        sockets.bind(str(path))
    return caught.value


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a96_the_socket_is_0600_in_a_0700_directory_whatever_the_umask(place: Path, mask: int) -> None:
    path = place / "run" / "agent" / "sock"
    (place / "run").mkdir()
    with umask(mask):
        owned = sockets.bind(str(path))
    with closing(owned):
        assert (mode(path), mode(path.parent)) == (0o600, 0o700)
        assert answers(path)


def test_a96_a_directory_that_others_may_enter_is_refused_with_the_chmod_to_type(place: Path) -> None:
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    fault = refusal(place / "open" / "sock")
    assert fault.slug is Slug.ACCESS_DENIED
    assert "chmod 700" in fault.message
    assert os.listdir(place / "open") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a96_a_directory_of_somebody_else_is_refused(place: Path) -> None:
    theirs = place / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 65534, 65534)
    assert refusal(theirs / "sock").slug is Slug.ACCESS_DENIED


def test_a95_a_path_that_is_too_long_is_refused_with_the_limit(place: Path) -> None:
    path = place / ("x" * 120) / "sock"
    fault = refusal(path)
    assert fault.slug is Slug.INVALID_PATH
    assert "107" in fault.message
    assert not path.parent.exists()


def test_a_path_of_107_bytes_is_bound(place: Path) -> None:
    path = place / ("x" * (107 - len(os.fsencode(place)) - 1))
    with closing(sockets.bind(str(path))):
        assert answers(path)


def test_a94_after_a_kill_the_left_over_socket_is_replaced(place: Path) -> None:
    path = place / "sock"
    with subprocess.Popen([sys.executable, "-c", BIND_AND_STAY, str(path)], stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"1\n"
        running = refusal(path)
        assert running.slug is Slug.PATH_BUSY
        assert "already running" in running.message
        assert str(daemon.pid) in running.message
        daemon.send_signal(signal.SIGKILL)
        daemon.wait(10)
    assert path.is_socket()
    with closing(sockets.bind(str(path))):
        assert answers(path)


def test_a_second_daemon_in_the_same_process_is_refused_and_the_first_goes_on(place: Path) -> None:
    path = place / "sock"
    with closing(sockets.bind(str(path))):
        assert refusal(path).slug is Slug.PATH_BUSY
        assert answers(path)
    assert not path.exists()
    sockets.bind(str(path)).close()


def test_the_lock_file_stays(place: Path) -> None:
    sockets.bind(str(place / "sock")).close()
    assert os.listdir(place) == ["sock.lock"]


def _file(path: Path) -> None:
    path.write_text("keep")


def _link_to_file(path: Path) -> None:
    path.with_name("target").write_text("keep")
    path.symlink_to("target")


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _directory(path: Path) -> None:
    path.mkdir()


def _fifo(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [_file, _link_to_file, _dangling, _directory, _fifo])
def test_what_is_no_socket_is_left_alone_and_refused(place: Path, make: object) -> None:
    path = place / "sock"
    assert callable(make)
    make(path)
    before = path.lstat()
    assert refusal(path).slug is Slug.ACCESS_DENIED
    assert path.lstat() == before


def test_a_socket_that_some_other_program_listens_on_is_refused(place: Path) -> None:
    path = place / "sock"
    with closing(socket.socket(socket.AF_UNIX)) as other:
        other.bind(str(path))
        path.chmod(0o600)
        other.listen()
        assert refusal(path).slug is Slug.PATH_BUSY
        assert answers(path)


def test_a_left_over_socket_with_a_wider_mode_is_not_ours_and_refused(place: Path) -> None:
    path = place / "sock"
    with closing(socket.socket(socket.AF_UNIX)) as other:
        other.bind(str(path))
    path.chmod(0o666)
    assert refusal(path).slug is Slug.ACCESS_DENIED
    assert path.is_socket()


def test_a_refused_bind_keeps_no_lock_and_no_descriptor(place: Path) -> None:
    path = place / "sock"
    path.write_text("keep")
    before = len(os.listdir("/proc/self/fd"))
    refusal(path)
    assert len(os.listdir("/proc/self/fd")) == before
    path.unlink()
    sockets.bind(str(path)).close()


def test_closing_leaves_what_took_the_path_since(place: Path) -> None:
    path = place / "sock"
    owned = sockets.bind(str(path))
    path.unlink()
    path.write_text("somebody else's")
    owned.close()
    owned.close()
    assert path.read_text() == "somebody else's"


@pytest.mark.parametrize(("socket_mode", "warns"), [(0o600, False), (0o666, True)])
def test_an_inherited_socket_is_taken_and_never_unlinked(place: Path, socket_mode: int, warns: bool) -> None:
    path = place / "sock"
    passed = socket.socket(socket.AF_UNIX)
    passed.bind(str(path))
    path.chmod(socket_mode)
    passed.listen()
    owned, warning = sockets.inherit(passed.detach())
    with closing(owned):
        assert answers(path)
        assert (warning is not None and str(path) in warning) == warns
    assert path.is_socket()
