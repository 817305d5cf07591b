"""A workspace in which another process swaps everything that can be swapped, and canaries beside it.

    ws/p  <-> ws/q     a directory and a link out          ws/f <-> ws/g      a file and a link out
    ws/r  <-> ws/pipe  a file and a FIFO                    ws/m <-> away/m    a directory that is moved out, with
                                                            links in it that then lead to a canary

What lies in `m` may be read and written wherever it is: it was in the workspace. What lies beside it may not.
"""

import array
import fcntl
import hashlib
import os
import re
import stat
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.files.sandbox import racing

INSIDE = "inside of the workspace\n"
SECRET = "the canary sings outside\n" * 40_001  # a size of its own, below what is hashed
PIPED = b"the canary sings in a pipe\n"
SWAPS = """
for one, other in ((b"p", b"q"), (b"f", b"g"), (b"r", b"pipe")):
    try:
        linux.rename_exchange(fd, one, fd, other)
    except OSError:
        pass  # a tool has taken one away for a moment
for one, other in (("m", argv[1]), (argv[1], "m")):
    try:
        os.rename(one, other, src_dir_fd=fd, dst_dir_fd=fd)  # an absolute name takes no notice of the descriptor
    except OSError:
        pass
"""


# What no answer may hold: of a canary, its name, its text, its size, its hash.
REVEALING = re.compile(rf"canary|\b{len(SECRET)}\b|{hashlib.sha256(SECRET.encode()).hexdigest()}")


@dataclass(frozen=True)
class Look:
    """What is outside at one moment: every name, with what a change of it would change."""

    entries: dict[str, tuple[int, ...]]
    piped_bytes: int


class Traps:
    """`top` has `ws` (the workspace, which may exist), `out` and `away`."""

    def __init__(self, top: Path) -> None:
        self.top, self.ws, self.out, self.away = top, top / "ws", top / "out", top / "away"
        for directory in ("ws/p", "ws/m/sub", "out/sub", "away"):
            (top / directory).mkdir(parents=True, exist_ok=True)
        for name in ("ws/p/f.txt", "ws/f", "ws/r", "ws/m/f.txt", "ws/ok.txt"):
            (top / name).write_text(INSIDE)
        for name in ("out/f.txt", "out/canary.txt", "out/sub/f.txt", "away/ok.txt", "away/canary.txt"):
            (top / name).write_text(SECRET)
        links = {
            "q": "../out",
            "g": "../out/f.txt",
            "m/up": "../ok.txt",
            "m/sub/up": "../../ok.txt",
            "m/sub/back": "../..",
        }
        for name, target in links.items():
            (self.ws / name).symlink_to(target)
        os.mkfifo(self.ws / "pipe")
        self._pipe = os.open(self.ws / "pipe", os.O_RDWR | os.O_NONBLOCK)
        os.write(self._pipe, PIPED)
        self.tells_reads = self._age(self.top / "ws/ok.txt")
        for directory, _, names in os.walk(self.out):
            for name in (".", *names):
                os.utime(os.path.join(directory, name), ns=(0, os.stat(os.path.join(directory, name)).st_mtime_ns))
        for name in ("away/ok.txt", "away/canary.txt"):
            os.utime(top / name, ns=(0, os.stat(top / name).st_mtime_ns))

    def _age(self, witness: Path) -> bool:
        """Whether this file system tells by the access time that a file was read."""
        os.utime(witness, ns=(0, os.stat(witness).st_mtime_ns))
        witness.read_bytes()
        return os.stat(witness).st_atime_ns != 0

    def look(self) -> Look:
        """Take note of all that is outside, without reading any of it."""
        entries: dict[str, tuple[int, ...]] = {}
        for name in (
            "out",
            "out/f.txt",
            "out/canary.txt",
            "out/sub",
            "out/sub/f.txt",
            "away/ok.txt",
            "away/canary.txt",
        ):
            held = os.lstat(self.top / name)
            read_at = held.st_atime_ns if self.tells_reads else 0
            entries[name] = (
                held.st_ino,
                held.st_mode,
                held.st_nlink,
                held.st_size,
                held.st_mtime_ns,
                held.st_ctime_ns,
                read_at,
            )
        return Look(entries, self._piped_bytes())

    def check(self, before: Look) -> None:
        """Raise AssertionError for anything that was touched since."""
        after = self.look()
        changed = [name for name, facts in before.entries.items() if after.entries[name] != facts]
        assert not changed, f"touched outside: {changed}"
        assert sorted(os.listdir(self.out)) == ["canary.txt", "f.txt", "sub"]
        assert set(os.listdir(self.away)) - {"m"} == {"canary.txt", "ok.txt"}
        assert after.piped_bytes == len(PIPED), "something was read from the pipe, or written to it"

    def _piped_bytes(self) -> int:
        waiting = array.array("i", [0])
        fcntl.ioctl(self._pipe, termios.FIONREAD, waiting)
        return waiting[0]

    @contextmanager
    def swapping(self) -> Iterator[None]:
        """Have another process swap all of it as fast as it can."""
        with racing(SWAPS.strip(), str(self.ws), str(self.away / "m")):
            yield

    def close(self) -> None:
        """Close the pipe's end that keeps its bytes."""
        os.close(self._pipe)


# Victims: what a program does that looks before it opens. Each gives True where it was led out.


def victim_of_a_directory(traps: Traps) -> bool:
    """Check the real path, then read by name: `p` became a link in between."""
    return _checks_and_reads(traps, "p/f.txt")


def victim_of_a_file(traps: Traps) -> bool:
    """The same, for a file that became a link."""
    return _checks_and_reads(traps, "f")


def victim_of_a_move(traps: Traps) -> bool:
    """Hold a directory that was inside, then go by a link in it."""
    try:
        held = os.open(traps.ws / "m/sub", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        if not os.readlink(f"/proc/self/fd/{held}").startswith(f"{traps.ws}/"):
            return False
        with open(os.open("up", os.O_RDONLY, dir_fd=held), "rb") as file:
            return file.read() == SECRET.encode()
    except OSError:
        return False
    finally:
        os.close(held)


def victim_of_a_pipe(traps: Traps) -> bool:
    """See a regular file, open what is a FIFO."""
    path = traps.ws / "r"
    try:
        if not path.is_file():
            return False
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    finally:
        os.close(fd)


def _checks_and_reads(traps: Traps, name: str) -> bool:
    path = str(traps.ws / name)
    try:
        if not os.path.realpath(path).startswith(f"{traps.ws}/"):
            return False
        with open(path, "rb") as file:
            return file.read() == SECRET.encode()
    except OSError:
        return False


VICTIMS = (victim_of_a_directory, victim_of_a_file, victim_of_a_move, victim_of_a_pipe)
