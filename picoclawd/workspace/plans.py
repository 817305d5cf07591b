"""What a change starts from and what it comes down to: the old file, and the plan that a tool computes from it."""

import hashlib
import os
from collections.abc import Callable
from functools import cached_property

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.oserrors import as_fault
from picoclawd.files.stamps import Stamp
from picoclawd.history.records import Before, Trashed, Unread


class Replace(msgspec.Struct, frozen=True):
    """Put these bytes in place of the file, atomically; or create it, with `mode` or, if None, the configured one."""

    data: bytes
    mode: int | None = None


class Append(msgspec.Struct, frozen=True):
    """Add these bytes at the end, in place; or create the file."""

    data: bytes
    refuse_hardlinks: bool = False


class Remove(msgspec.Struct, frozen=True):
    """Move the file to the trash."""


class Retrieve(msgspec.Struct, frozen=True):
    """Move a file that a version's change removed back out of the trash, to a name that is free.

    `data` is what it holds, None where it is too large for history to keep once more.
    """

    version: int
    trashed: Trashed
    data: bytes | None = None


class Keep(msgspec.Struct, frozen=True):
    """Write nothing: the file is as it should be."""


Plan = Replace | Append | Remove | Retrieve | Keep


class Old:
    """The file as it is under the lock. Its bytes are read when somebody asks for them."""

    def __init__(self, fd: int | None, stamp: Stamp | None, real: bytes, given: str) -> None:
        self._fd = fd
        self.stamp = stamp
        self.real = real
        self.given = given

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self.stamp is not None

    @property
    def size(self) -> int:
        """Bytes; 0 where there is no file."""
        return 0 if self.stamp is None else self.stamp.size

    @property
    def hardlinks(self) -> int:
        """How many names the file has; 1 where there is none yet."""
        return 1 if self.stamp is None else self.stamp.nlink

    @cached_property
    def data(self) -> bytes:
        """All bytes.

        Raises: too_large over limits.EDIT_MAX_BYTES; io_error, access_denied.
        """
        if self._fd is None:
            return b""
        if self.size > limits.EDIT_MAX_BYTES:
            raise Fault(
                Slug.TOO_LARGE,
                f"{self.given} has {self.size} bytes; files over {limits.EDIT_MAX_BYTES // limits.MIB} MiB are not "
                "edited in memory. Use append_file, or a program of your own.",
                size=self.size,
            )
        try:
            return _read_all(self._fd, self.size)
        except OSError as error:
            raise as_fault(error, "read", self.given) from error

    @property
    def known_data(self) -> bytes | None:
        """All bytes, where somebody has read them already."""
        return self.__dict__.get("data")

    def sha256(self) -> str:
        """The hash of all bytes, streamed for a file of any size; "" where there is no file."""
        if self.stamp is None:
            return ""
        return self._sha256

    @cached_property
    def _sha256(self) -> str:
        if self._fd is None or self.known_data is not None or self.size <= limits.SHA256_MAX_BYTES:
            return hashlib.sha256(self.data).hexdigest()
        try:
            with open(self._fd, "rb", closefd=False) as source:
                source.seek(0)
                return hashlib.file_digest(source, "sha256").hexdigest()
        except OSError as error:
            raise as_fault(error, "read", self.given) from error

    def kept(self, max_bytes: int) -> Before:
        """What history keeps of the file: its bytes, or of one over `max_bytes` only its size.

        Raises: io_error, access_denied.
        """
        if self.stamp is None:
            return None
        return self.data if self.size <= max_bytes else Unread(self.size)

    def removed(self) -> Before:
        """What history notes of a file that is going to the trash, which keeps its bytes: size, and hash if that is
        quick. Raises: io_error, access_denied."""
        if self.stamp is None:
            return None
        sha = self.sha256() if self.size <= limits.EDIT_MAX_BYTES else None
        return Unread(self.size, "it is not in the trash any more", sha)


Compute = Callable[[Old], Plan]


def _read_all(fd: int, size: int) -> bytes:
    chunks: list[bytes] = []
    offset = 0
    while chunk := os.pread(fd, max(size - offset, 0) + 1, offset):
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)
