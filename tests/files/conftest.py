"""Fixtures of the file tests: a folder with an open descriptor, and system calls that fail on demand."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from picoclawd.files import stamps
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import Target
from tests.conftest import needs


@dataclass(frozen=True)
class Folder:
    """A directory of one test, held open as the daemon holds it."""

    path: Path
    fd: int

    def target(self, name: str = "notes.txt") -> Target:
        return Target(self.fd, os.fsencode(name), name)

    def put(self, data: bytes, name: str = "notes.txt", mode: int = 0o644) -> Stamp:
        """Write a file as somebody else would, and return its stamp."""
        (self.path / name).write_bytes(data)
        (self.path / name).chmod(mode)
        return self.stamp(name)

    def save_by_rename(self, data: bytes, name: str = "notes.txt") -> None:
        """Save as most editors do: a new file takes the old one's name."""
        (self.path / "editor~").write_bytes(data)
        (self.path / "editor~").rename(self.path / name)

    def stamp(self, name: str = "notes.txt") -> Stamp:
        return stamps.of((self.path / name).lstat())

    def bytes(self, name: str = "notes.txt") -> bytes:
        return (self.path / name).read_bytes()

    def names(self) -> list[str]:
        return sorted(os.listdir(self.path))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Make a folder with nothing in it; broken leases send no deadly signal while the test runs."""
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    path = tmp_path / "folder"
    path.mkdir()
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Folder(path, fd)
    finally:
        os.close(fd)
        signal.signal(signal.SIGIO, before)


Injected = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def injected() -> Injected:
    """Give `with injected("fsync:error=EIO:when=1"):`, which answers this thread's system calls by strace's rules.

    In the body only the operation under test may run: the rules count every call of this thread.
    """
    needs("strace")
    return _injected


@contextmanager
def _injected(*rules: str) -> Iterator[None]:
    options = [word for rule in rules for word in ("-e", f"inject={rule}")]
    command = ["strace", "-o", os.devnull, "-p", str(threading.get_native_id()), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        first = tracer.stderr.readline()
        if "attached" not in first:
            tracer.kill()
            pytest.skip(f"strace cannot attach here: {first.strip()}")
        try:
            yield
        finally:
            tracer.send_signal(signal.SIGINT)


@pytest.fixture
def as_nobody() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Give `with as_nobody():`, in which this process has no privileges."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")

    @contextmanager
    def become() -> Iterator[None]:
        groups = os.getgroups()
        os.setgroups([])
        os.setegid(65534)
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)

    yield become
