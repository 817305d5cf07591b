"""Directories nested deeper than any path may be long, which only relative steps make, and only `rm -rf` removes."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDLE = "needle\n"


@contextmanager
def dug(root: Path, levels: int, needles_at: tuple[int, ...] = ()) -> Iterator[None]:
    """Nest directories `d` for the body, with a file `needle` in some of them; the first level is 1."""
    try:
        _dig(root, levels, needles_at)
        yield
    finally:
        subprocess.run(["rm", "-rf", str(root / "d")], check=True)


def _dig(root: Path, levels: int, needles_at: tuple[int, ...]) -> None:
    fd = os.open(root, os.O_RDONLY)
    for level in range(1, levels + 1):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
        if level in needles_at:
            with open(os.open("needle", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=fd), "w") as file:
                file.write(NEEDLE)
    os.close(fd)
