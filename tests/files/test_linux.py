"""The system calls that Python lacks, on the real file system."""

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.files import linux


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "a").write_bytes(b"A")
    (tmp_path / "b").write_bytes(b"B")
    (tmp_path / "out").symlink_to("/")
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.fixture
def quiet_leases() -> Iterator[None]:
    before = signal.getsignal(signal.SIGIO)
    linux.ignore_lease_signal()
    yield
    signal.signal(signal.SIGIO, before)


def content(directory: int, name: str) -> bytes:
    fd = os.open(name, os.O_RDONLY, dir_fd=directory)
    with open(fd, "rb") as source:
        return source.read()


def test_openat2_opens_below_and_sets_cloexec(directory: int) -> None:
    fd = linux.openat2(directory, b"a", os.O_RDONLY, 0, linux.RESOLVE_BENEATH)
    assert os.read(fd, 9) == b"A"
    assert not os.get_inheritable(fd)
    os.close(fd)


def test_openat2_creates_with_a_mode(directory: int) -> None:
    os.close(linux.openat2(directory, b"new", os.O_CREAT | os.O_WRONLY, 0o600, linux.RESOLVE_BENEATH))
    assert os.stat("new", dir_fd=directory).st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("path", "resolve", "code"),
    [
        (b"..", linux.RESOLVE_BENEATH, errno.EXDEV),
        (b"/", linux.RESOLVE_BENEATH, errno.EXDEV),
        (b"out/etc", linux.RESOLVE_BENEATH, errno.EXDEV),
        (b"out/etc", linux.RESOLVE_NO_SYMLINKS, errno.ELOOP),
        (b"gone", linux.RESOLVE_BENEATH, errno.ENOENT),
        (b"a/x", linux.RESOLVE_BENEATH, errno.ENOTDIR),
        (b"a", 1 << 40, errno.EINVAL),
    ],
)
def test_openat2_raises_the_kernels_errno(directory: int, path: bytes, resolve: int, code: int) -> None:
    with pytest.raises(OSError) as caught:
        linux.openat2(directory, path, os.O_RDONLY, 0, resolve)
    assert caught.value.errno == code


def test_a_nul_never_reaches_the_kernel(directory: int) -> None:
    with pytest.raises(ValueError, match="null"):
        linux.openat2(directory, b"a\0/../../x", os.O_RDONLY, 0, 0)
    for rename in (linux.rename_exchange, linux.rename_noreplace):
        with pytest.raises(ValueError, match="null"):
            rename(directory, b"a\0", directory, b"b")
        with pytest.raises(ValueError, match="null"):
            rename(directory, b"a", directory, b"b\0")
    with pytest.raises(ValueError, match="null"):
        linux.link_fd(directory, directory, b"x\0")


def test_exchange_swaps_two_names(directory: int) -> None:
    linux.rename_exchange(directory, b"a", directory, b"b")
    assert (content(directory, "a"), content(directory, "b")) == (b"B", b"A")
    with pytest.raises(FileNotFoundError):
        linux.rename_exchange(directory, b"a", directory, b"gone")


def test_noreplace_takes_a_free_name_only(directory: int) -> None:
    linux.rename_noreplace(directory, b"a", directory, b"c")
    assert content(directory, "c") == b"A"
    with pytest.raises(FileExistsError):
        linux.rename_noreplace(directory, b"c", directory, b"b")
    assert content(directory, "b") == b"B"


def test_a_nameless_file_gets_a_name_once(directory: int) -> None:
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600, dir_fd=directory)
    os.write(fd, b"T")
    linux.link_fd(fd, directory, b"t")
    assert content(directory, "t") == b"T"
    with pytest.raises(FileExistsError):
        linux.link_fd(fd, directory, b"a")
    os.close(fd)


def test_a_path_follows_a_rename_and_outlives_the_name(directory: int, tmp_path: Path) -> None:
    fd = os.open("a", os.O_RDONLY, dir_fd=directory)
    os.rename("a", "moved", src_dir_fd=directory, dst_dir_fd=directory)
    moved = os.fsencode(tmp_path.resolve() / "moved")
    assert linux.fd_path(fd) == moved
    os.unlink("moved", dir_fd=directory)
    assert linux.fd_path(fd) == moved
    os.close(fd)


def test_a_name_that_ends_like_the_kernels_mark_is_kept(directory: int, tmp_path: Path) -> None:
    name = b"x (deleted)"
    fd = os.open(name, os.O_CREAT | os.O_RDONLY, dir_fd=directory)
    assert linux.fd_path(fd) == os.fsencode(tmp_path.resolve()) + b"/" + name
    os.unlink(name, dir_fd=directory)
    assert linux.fd_path(fd) == os.fsencode(tmp_path.resolve()) + b"/" + name
    os.close(fd)


def test_the_mark_is_cut_off_an_unlinked_name_of_a_file_that_has_others(directory: int, tmp_path: Path) -> None:
    os.link("a", ".env", src_dir_fd=directory, dst_dir_fd=directory)
    fd = os.open(".env", os.O_RDONLY, dir_fd=directory)
    os.unlink(".env", dir_fd=directory)
    assert linux.fd_path(fd) == os.fsencode(tmp_path.resolve() / ".env")
    (tmp_path / ".env (deleted)").write_bytes(b"another file")
    assert linux.fd_path(fd) == os.fsencode(tmp_path.resolve() / ".env")
    os.close(fd)


def test_what_has_no_path_gives_none() -> None:
    reader, writer = os.pipe()
    assert linux.fd_path(reader) is None
    os.close(reader)
    os.close(writer)
    assert linux.fd_path(reader) is None


def test_the_file_system_of_proc_is_known(directory: int) -> None:
    proc = os.open("/proc", os.O_PATH)
    assert linux.file_system_magic(proc) == linux.PROC_SUPER_MAGIC
    assert linux.file_system_magic(directory) != linux.PROC_SUPER_MAGIC
    os.close(proc)
    with pytest.raises(OSError, match="Bad file descriptor"):
        linux.file_system_magic(proc)


@pytest.mark.usefixtures("quiet_leases")
def test_a_lease_is_held_until_dropped_and_may_be_dropped_twice(directory: int) -> None:
    fd = os.open("a", os.O_RDONLY, dir_fd=directory)
    assert not linux.lease_held(fd)
    assert linux.take_read_lease(fd)
    assert linux.lease_held(fd)
    assert content(directory, "a") == b"A"
    assert linux.lease_held(fd)
    linux.drop_lease(fd)
    linux.drop_lease(fd)
    assert not linux.lease_held(fd)
    os.close(fd)


@pytest.mark.usefixtures("quiet_leases")
def test_no_lease_while_somebody_may_write(directory: int) -> None:
    writer = os.open("a", os.O_WRONLY, dir_fd=directory)
    fd = os.open("a", os.O_RDONLY, dir_fd=directory)
    assert not linux.take_read_lease(fd)
    os.close(writer)
    assert linux.take_read_lease(fd)
    os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        linux.take_read_lease(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        linux.drop_lease(fd)


@pytest.mark.usefixtures("quiet_leases")
def test_a_writer_breaks_the_lease_and_ends_nobody(directory: int) -> None:
    fd = os.open("a", os.O_RDONLY, dir_fd=directory)
    assert linux.take_read_lease(fd)
    writer = threading.Thread(target=lambda: os.close(os.open("a", os.O_WRONLY, dir_fd=directory)))
    writer.start()
    for _ in range(5000):
        if not linux.lease_held(fd):
            break
        writer.join(0.001)
    assert not linux.lease_held(fd)
    linux.drop_lease(fd)
    writer.join(10)
    assert not writer.is_alive()
    os.close(fd)


def test_a_process_whose_parent_is_gone_already_ends() -> None:
    code = "from picoclawd.files import linux; linux.end_with_parent({}); print('alive', flush=True)"
    mine = subprocess.run([sys.executable, "-c", code.format(os.getpid())], capture_output=True, timeout=60)
    other = subprocess.run([sys.executable, "-c", code.format(1 << 30)], capture_output=True, timeout=60)
    assert (mine.returncode, mine.stdout) == (0, b"alive\n")
    assert (other.returncode, other.stdout) == (-signal.SIGKILL, b"")


def test_an_architecture_without_a_known_number_answers_enosys(tmp_path: Path) -> None:
    # In a process of its own: the lookup is cached.
    code = """
import errno, os
from picoclawd.files import linux
class Bare:
    pass
linux._libc = lambda: Bare()
{machine}
fd = os.open({path!r}, os.O_RDONLY)
try:
    linux.rename_noreplace(fd, b"x", fd, b"y")
    print("done")
except OSError as exc:
    print(errno.errorcode[exc.errno])
"""
    (tmp_path / "x").write_bytes(b"")
    found = []
    for machine in ("", "os.uname = lambda: os.uname_result(('', '', '', '', 'pdp11'))"):
        program = code.format(machine=machine, path=str(tmp_path))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
        found.append(done.stdout.strip())
    assert found == ["done", "ENOSYS"]
