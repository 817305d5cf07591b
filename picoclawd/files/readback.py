"""Read back what was written and compare it, through one small buffer."""

import os
import stat

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import closing, reading
from picoclawd.files.target import Target


def read_back(target: Target, expected: bytes, offset: int = 0) -> None:
    """Check that the name now leads to a regular file that holds `expected` at byte `offset`. Blocking.

    From offset 0 the file must end there too; after an append (`offset` over 0) somebody else's bytes may follow.

    Raises: read_back_failed (it could not be read), read_back_mismatch (it reads differently), outcome unknown.
    """
    try:
        place = _first_difference(target, expected, offset)
    except OSError as exc:
        raise _failed(target, exc.strerror or type(exc).__name__) from exc
    if place is not None:
        raise _mismatch(target, place)


def difference(fd: int, expected: bytes, offset: int = 0) -> int | None:
    """Find the first byte, counted from the file's start, where `fd` does not hold `expected`; None if it holds it."""
    done = 0
    while done < len(expected):
        got = os.pread(fd, min(limits.READ_BACK_BUFFER_BYTES, len(expected) - done), offset + done)
        if not got or got != expected[done : done + len(got)]:
            return offset + done + _agreeing(got, expected[done : done + len(got)])
        done += len(got)
    return None


def holds_exactly(fd: int, expected: bytes) -> bool:
    """Tell whether the file behind `fd` holds these bytes and no more."""
    return difference(fd, expected) is None and not os.pread(fd, 1, len(expected))


def _agreeing(got: bytes, expected: bytes) -> int:
    return next((index for index, (one, other) in enumerate(zip(got, expected, strict=True)) if one != other), len(got))


def _first_difference(target: Target, expected: bytes, offset: int) -> int | None:
    fd = reading.open_itself(target.dir_fd, target.name)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return offset
        place = difference(fd, expected, offset)
        if place is None and offset == 0 and os.pread(fd, 1, len(expected)):
            return len(expected)
        return place
    finally:
        closing.close(fd)


def _failed(target: Target, detail: str) -> Fault:
    return Fault(
        Slug.READ_BACK_FAILED,
        f"{target.given} was written, but reading it back failed: {detail}. The file may be on disk: inspect it "
        "before you retry",
        outcome="unknown",
        detail=detail,
    )


def _mismatch(target: Target, place: int) -> Fault:
    detail = f"the first difference is at byte {place}"
    return Fault(
        Slug.READ_BACK_MISMATCH,
        f"{target.given} was written, but reads back differently: {detail}. Another program may have saved it since: "
        "inspect it before you retry",
        outcome="unknown",
        detail=detail,
    )
