"""What an opened path is: a file, a directory, or a place where a name is or may come to be.

Each owns a descriptor and closes it at the end of its `with` block; closing twice is harmless.
"""

import os
import stat as stat_bits
from dataclasses import dataclass
from typing import Self

import msgspec

from picoclawd.files import closing, linux, paths
from picoclawd.files.policy import Allow, Ask

_KINDS = (
    (stat_bits.S_ISREG, "file"),
    (stat_bits.S_ISDIR, "directory"),
    (stat_bits.S_ISLNK, "symbolic link"),
    (stat_bits.S_ISFIFO, "FIFO"),
    (stat_bits.S_ISSOCK, "socket"),
    (stat_bits.S_ISCHR, "character device"),
    (stat_bits.S_ISBLK, "block device"),
)


def kind_of(mode: int) -> str:
    """Name what `st_mode` tells of, for messages: "file", "directory", "FIFO", ..."""
    return next((name for matches, name in _KINDS if matches(mode)), "unknown object")


@dataclass(slots=True)
class Held:
    """A descriptor with its owner's duty to close it. `fd` is -1 once closed."""

    fd: int

    def close(self) -> None:
        """Close the descriptor, once."""
        fd = self.release()
        if fd >= 0:
            closing.close(fd)

    def release(self) -> int:
        """Give the descriptor and the duty to close it to the caller."""
        fd, self.fd = self.fd, -1
        return fd

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(slots=True)
class OpenFile(Held):
    """A regular file, opened for reading. `stat` was taken from `fd`; `real` is the path that it had then."""

    stat: os.stat_result
    real: bytes
    verdict: Allow | Ask


@dataclass(slots=True)
class OpenDirectory(Held):
    """A directory, opened for `scandir`. `stat` was taken from `fd`; `real` is the path that it had then."""

    stat: os.stat_result
    real: bytes
    verdict: Allow | Ask


@dataclass(slots=True)
class Place(Held):
    """A name in an opened directory: the one way to change what is there. All further calls take `dir_fd` and `name`.

    `stat` is what was there, without following, None where nothing was. `real` is the absolute path of the name.
    """

    name: bytes
    real: bytes
    stat: os.stat_result | None
    verdict: Allow | Ask

    @property
    def dir_fd(self) -> int:
        """The directory, opened O_RDONLY, so that it can be fsynced."""
        return self.fd

    @property
    def key(self) -> tuple[int, int, bytes]:
        """What a lock on this name is known by: device and inode of the directory, and the name."""
        directory = os.fstat(self.fd)
        return directory.st_dev, directory.st_ino, self.name

    def still_there(self) -> bool:
        """Tell whether the directory still is where it was resolved, neither moved nor removed since.

        Raises: OSError where the system does not tell.
        """
        return os.fstat(self.fd).st_nlink > 0 and linux.fd_path(self.fd) == paths.split(self.real)[0]


class Foreseen(msgspec.Struct, frozen=True):
    """What a write would find, with nothing created: the real path of the name, what is there, and the verdict."""

    real: bytes
    stat: os.stat_result | None
    missing: tuple[bytes, ...]
    verdict: Allow | Ask
