"""Opening a name itself, whatever it is by now."""

import os
import stat
import subprocess
import sys

import pytest

from picoclawd.files.reading import open_itself
from tests.files.conftest import Folder


def test_a_file_is_opened_for_reading(folder: Folder) -> None:
    folder.put(b"x")
    with open(open_itself(folder.fd, b"notes.txt"), "rb") as file:
        assert file.read() == b"x"
        assert not os.get_inheritable(file.fileno())


def test_a_fifo_without_a_writer_is_not_waited_for(folder: Folder) -> None:
    os.mkfifo(folder.path / "notes.txt")
    fd = open_itself(folder.fd, b"notes.txt")
    try:
        assert stat.S_ISFIFO(os.fstat(fd).st_mode)
    finally:
        os.close(fd)


def test_a_link_is_not_followed(folder: Folder) -> None:
    folder.put(b"x", "elsewhere")
    (folder.path / "notes.txt").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        open_itself(folder.fd, b"notes.txt")


_IN_A_NEW_SESSION = """
import os, sys
from picoclawd.files.reading import open_itself
open_itself(os.open("/dev/pts", os.O_RDONLY), os.fsencode(sys.argv[1]))
try:
    os.open("/dev/tty", os.O_RDONLY)
except OSError:
    print("no terminal")
"""


def test_a_terminal_does_not_become_ours() -> None:
    master, slave = os.openpty()
    try:
        name = os.path.basename(os.ttyname(slave))
        command = [sys.executable, "-c", _IN_A_NEW_SESSION, name]
        ran = subprocess.run(command, start_new_session=True, capture_output=True, text=True, timeout=60)
    finally:
        os.close(master)
        os.close(slave)
    assert ran.stdout == "no terminal\n", ran.stderr
