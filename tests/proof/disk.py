"""An ext4 file system in an image that can be copied whole at any moment, as a power loss would leave it.

The image lies on an XFS of its own: a reflink copies it in one step, between two writes of the block device, also while
an fsync is under way. What ext4 had not sent to its device is not in the copy; mounting that replays the journal.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_FICLONE = 0x40049409  # linux/fs.h
_DEPOT_BYTES = 640 << 20  # mkfs.xfs wants 300 MiB at least
_IMAGE_BYTES = 128 << 20
# The timer would write what nobody synced: a control without fsync must not be saved by it.
_OPTIONS = "loop,commit=300"


class CannotError(Exception):
    """Why there can be no such disk here."""


class Disk:
    """`live` is the mounted file system."""

    def __init__(self, depot: Path, live: Path, copy: Path) -> None:
        self.live = live
        self._image, self._copied = depot / "live.img", depot / "copy.img"
        self._copy = copy

    def snapshot(self) -> None:
        """Copy the image as it is at one moment, in place of the last copy."""
        with open(self._image, "rb") as source, open(self._copied, "wb") as target:
            fcntl.ioctl(target, _FICLONE, source.fileno())

    @contextmanager
    def replayed(self) -> Iterator[Path]:
        """Mount the copy, which replays its journal."""
        _run("mount", "-o", _OPTIONS, str(self._copied), str(self._copy))
        try:
            yield self._copy
        finally:
            _run("umount", str(self._copy))


@contextmanager
def disk(root: Path) -> Iterator[Disk]:
    """A fresh one below `root`, gone at the end. Raises: CannotError."""
    _check()
    places = [root / name for name in ("depot", "live", "copy")]
    for place in places:
        place.mkdir()
    depot, live, copy = places
    with ExitStack() as undo:
        backing = root / "backing.img"
        undo.callback(backing.unlink, missing_ok=True)
        _sized(backing, _DEPOT_BYTES)
        _run("mkfs.xfs", "-q", "-m", "reflink=1", str(backing))
        _mounted(undo, backing, depot, "loop")
        _sized(depot / "live.img", _IMAGE_BYTES)
        _run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(depot / "live.img"))
        _mounted(undo, depot / "live.img", live, _OPTIONS)
        yield Disk(depot, live, copy)


def _mounted(undo: ExitStack, image: Path, place: Path, options: str) -> None:
    _run("mount", "-o", options, str(image), str(place))
    undo.callback(_run, "umount", str(place))


def _check() -> None:
    if os.geteuid() != 0:
        raise CannotError("only root can mount an image")
    for program in ("mkfs.xfs", "mkfs.ext4", "mount"):
        if shutil.which(program) is None:
            raise CannotError(f"{program} is not installed")


def _sized(path: Path, size: int) -> None:
    with open(path, "wb") as file:
        file.truncate(size)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise CannotError(f"{' '.join(command)}: {done.stderr.strip()}")
