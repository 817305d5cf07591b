"""Open the very file that a change was computed from, or say that it is no longer there."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, linux, stamps
from picoclawd.files.readback import holds_exactly
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import Target, changed_meanwhile


@contextmanager
def opened(target: Target, expected: Stamp, flags: int) -> Iterator[int]:
    """Open the target with `flags` if it is still the expected version, and yield the descriptor.

    Its inode is pinned with O_PATH and looked at first: a FIFO or device that took its name is never opened.

    Raises: conflict, not_a_file; OSError, as of EACCES.
    """
    if not stat.S_ISREG(expected.mode):
        raise Fault(Slug.NOT_A_FILE, f"failed to write file: {target.given} is not a regular file; nothing was written")
    try:
        pin = os.open(target.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=target.dir_fd)
    except FileNotFoundError as exc:
        raise changed_meanwhile(target, "was removed") from exc
    try:
        if not stamps.same_content(stamps.of(os.fstat(pin)), expected):
            raise changed_meanwhile(target, "was changed by another program")
        fd = linux.reopen(pin, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        closing.close(pin)
    try:
        yield fd
    finally:
        closing.close(fd)


def check_unchanged(target: Target, fd: int, expected: Stamp, old: bytes | None) -> None:
    """Check that the file behind `fd` is still the expected version.

    While its times are so fresh that a change could hide behind them, its bytes are compared with `old`, where given
    (then `fd` must be readable): clocks with a coarse tick leave two saves within one tick with the same times.

    Raises: conflict.
    """
    taken_ns = time.time_ns()
    now = stamps.of(os.fstat(fd))
    if not stamps.same_content(now, expected):
        raise changed_meanwhile(target, "was changed by another program")
    if old is not None and not stamps.settled(now, taken_ns, None) and not holds_exactly(fd, old):
        raise changed_meanwhile(target, "was changed by another program")
