"""A world of files that another process changes, and what searches of it must say, found out naively.

Run as a program it is that process: `python -m tests.e2e.search_world BASE SEED` makes one step for each line that it
reads, and answers each.
"""

import os
import random
import re
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from picoclawd.index.ignore import ROOT, Scope
from tests.index.truth import World, _rules

WORDS = (b"alpha", b"beta", b"gamma", b"delta", b"w1", b"w2", b"caf\xc3\xa9", b"caf\xe9", b"*.log")
PATTERNS = ("alpha", "w[12] gamma", "^beta", "delta$", "caf.", r"\*\.log|n1", "^$")
_REPOSITORY = Path(__file__).parents[2]


class TextWorld(World):
    """A world in which the texts of files change too: to as many bytes, with the old times, by rename, by append."""

    def step(self) -> None:
        if self.random.random() < 0.4:
            super().step()
        self.look()
        for _ in range(self.random.choice((1, 1, 3))):
            with suppress(OSError):
                self._change_text()

    def _change_text(self) -> None:
        directory = self._directory()
        names = [name for name in sorted(os.listdir(directory)) if not name.startswith(b".")]
        path = os.path.join(directory, self.random.choice(names or [b"first.txt"]))
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            return
        old = os.lstat(path) if os.path.exists(path) else None
        text = self._text()
        if old is not None and self.random.random() < 0.6:
            text = (text * (old.st_size // max(1, len(text)) + 1))[: old.st_size]
        self._put(path, text)
        if old is not None and self.random.random() < 0.7:
            os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))

    def _text(self) -> bytes:
        line = [b" ".join(self.random.choices(WORDS, k=2)) for _ in range(self.random.randrange(6))]
        return b"\n".join(line) + self.random.choice((b"", b"\n", b"\r\n", b"\0\n"))

    def _put(self, path: bytes, text: bytes) -> None:
        if self.random.random() < 0.5:
            with open(path, "wb") as file:
                file.write(text)
            return
        with open(self.outside + b"/saved", "wb") as file:
            file.write(text)
        os.rename(self.outside + b"/saved", path)


@dataclass
class Fresh:
    """A walk: the files that a search sees, with their bytes, in discovery order; and every directory of it."""

    files: dict[bytes, bytes] = field(default_factory=dict)
    directories: dict[bytes, dict[bytes, bool]] = field(default_factory=dict)

    def rows(self, pattern: str) -> list[tuple[bytes, int]]:
        """What a search for a pattern finds."""
        find = re.compile(pattern.encode("latin-1") if pattern.isascii() else pattern.encode())
        found = []
        for path, data in self.files.items():
            if data and b"\0" not in data[:8192]:
                lines = data.removesuffix(b"\n").split(b"\n")
                found += [(path, n) for n, line in enumerate(lines, 1) if find.search(line.removesuffix(b"\r"))]
        return found


def is_protected(name: bytes) -> bool:
    return name in (b".ssh", b".env") or name.endswith(b".pem")


def look(root: bytes) -> Fresh:
    """Walk and read everything."""
    fresh = Fresh()
    _walk(root, b"", ROOT, fresh)
    return fresh


def _walk(root: bytes, relative: bytes, above: Scope, fresh: Fresh) -> None:
    path = os.path.join(root, relative) if relative else root
    scope = above.enter(relative.rpartition(b"/")[2], _rules(path + b"/.gitignore"), _rules(path + b"/.ignore"))
    verdicts = fresh.directories[relative] = {}
    for name in sorted(os.listdir(path)):
        if name.startswith(b".picoclawd.") and name.endswith(b".tmp"):
            continue  # a write, or a probe, of the daemon's own that is not finished
        below = relative + b"/" + name if relative else name
        mode = os.lstat(os.path.join(path, name)).st_mode
        if name == b".git" or (name == b".picoclaw" and not relative) or is_protected(name):
            continue
        verdicts[name] = scope.verdict(name, stat.S_ISDIR(mode))
        if verdicts[name]:
            continue
        if stat.S_ISDIR(mode):
            _walk(root, below, scope, fresh)
        elif stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and _leads_to_a_file(root, below)):
            with open(os.path.join(root, below), "rb") as file:
                fresh.files[below] = file.read()


def _leads_to_a_file(root: bytes, relative: bytes) -> bool:
    real = os.path.realpath(os.path.join(root, relative))
    inside = os.path.relpath(real, os.path.realpath(root))
    return os.path.isfile(real) and not inside.startswith(b"..") and not any(map(is_protected, inside.split(b"/")))


class Other:
    """The second process, and the seed of what it does."""

    def __init__(self, base: Path, seed: int) -> None:
        self.root = base / "root"
        self.dice = random.Random(seed)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.search_world", str(base), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_REPOSITORY,
        )
        self._answer()

    def step(self) -> None:
        """Have it change something, and wait until it has."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"done\n", "the second process died"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


def main() -> None:
    world = TextWorld(os.fsencode(sys.argv[1]), int(sys.argv[2]))
    print("done", flush=True)
    for _ in sys.stdin:
        world.step()
        print("done", flush=True)


if __name__ == "__main__":
    main()
