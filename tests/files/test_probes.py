"""The probes tell the truth about this file system and leave nothing behind."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from picoclawd.files import linux
from picoclawd.files.probes import probe


@pytest.fixture(autouse=True)
def quiet_leases() -> Iterator[None]:
    before = signal.getsignal(signal.SIGIO)
    linux.ignore_lease_signal()
    yield
    signal.signal(signal.SIGIO, before)


def test_probes_are_tried_and_leave_nothing(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    fds = os.listdir("/proc/self/fd")
    found = probe(fd)
    assert os.listdir("/proc/self/fd") == fds
    os.close(fd)
    assert os.listdir(tmp_path) == []
    assert found.exchange
    assert found.noreplace
    assert 0 < found.timestamp_tick_ns < 100_000_000
    assert found.watch_limit is None or found.watch_limit > 0


def test_on_a_workspace_that_cannot_be_written_the_probes_say_so(
    tmp_path: Path, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    fd = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    tmp_path.chmod(0o555)
    with as_nobody():
        found = probe(fd)
    os.close(fd)
    assert (found.exchange, found.noreplace, found.tmpfile, found.leases, found.xattrs) == (False,) * 5
    assert found.timestamp_tick_ns == 0


def test_proc_offers_nothing_and_its_name_is_unknown() -> None:
    fd = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    found = probe(fd)
    os.close(fd)
    assert not found.tmpfile
    assert found.file_system is None


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no tmpfs at /dev/shm")
def test_a_known_file_system_is_named() -> None:
    fd = os.open("/dev/shm", os.O_PATH | os.O_DIRECTORY)
    found = probe(fd)
    os.close(fd)
    assert found.file_system == "tmpfs"
