"""Read leases on the file that a commit is about to displace: they tell of a writer who has it open, or who comes.

A writer that has the file open makes the kernel refuse the lease; one that comes breaks it, and waits in its open(2)
until the lease is given back: it then writes into the file where we have put it back, and nothing of it is lost.
Readers neither hinder nor break it. SIGIO must be ignored (`linux.ignore_lease_signal`). See fcntl(2), F_SETLEASE.
"""

import errno
import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import linux

RETRY_S = 0.005  # a save holds its file open for a few milliseconds


class Answer(Enum):
    """What the kernel said to a request for a lease."""

    GRANTED = "granted"
    WRITER = "somebody has the file open for writing"
    UNAVAILABLE = "not this user's file, or a file system without leases"


# EACCES, EPERM: another user's file; the rest: file systems and kernels without leases.
_UNAVAILABLE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOTTY}
)


class Lease(msgspec.Struct, frozen=True):
    """A lease that was asked for. `fd` was opened O_RDONLY and stays the caller's."""

    fd: int
    granted: bool

    def intact(self) -> bool:
        """Tell whether no writer has come since. Without a lease nothing can be told, and the answer is True."""
        return not self.granted or linux.lease_held(self.fd)


def ask(fd: int) -> Answer:
    """Ask once for a read lease on `fd`, opened O_RDONLY."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return Answer.WRITER
    except OSError as exc:
        if exc.errno in _UNAVAILABLE:
            return Answer.UNAVAILABLE
        raise
    return Answer.GRANTED


@contextmanager
def hold(fd: int, given: str) -> Iterator[Lease]:
    """Hold a read lease on `fd` for the body of the `with`, or go without one where there are none. Blocks up to 0.2 s.

    Raises: path_busy, when somebody has the file open for writing all that time.
    """
    lease = Lease(fd, _ask_until_deadline(fd, given) is Answer.GRANTED)
    try:
        yield lease
    finally:
        if lease.granted:
            with suppress(OSError):  # what is done is done; the end of the descriptor ends the lease, too
                linux.drop_lease(fd)


def _ask_until_deadline(fd: int, given: str) -> Answer:
    deadline_s = time.monotonic() + limits.LEASE_WAIT_S
    while (answer := ask(fd)) is Answer.WRITER:
        if time.monotonic() >= deadline_s:
            raise Fault(
                Slug.PATH_BUSY,
                f"failed to write file: another program has {given} open for writing; nothing was written. "
                "Retry when it has saved and closed the file",
            )
        time.sleep(RETRY_S)
    return answer
