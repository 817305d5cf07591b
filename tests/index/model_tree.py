"""The smallest tree that a watcher can serve, and the watcher's tests' view of it: rescan what is dirty, no more."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import trio

from picoclawd.files.dotdir import open_own_directory
from picoclawd.files.threads import Threads
from picoclawd.index.watcher import Watcher
from picoclawd.index.watcher_cookies import CookieDirectory

DEADLINE_S = 30.0
QUICK = (sys.executable, str(Path(__file__).with_name("faulty_child.py")), "sound", "0.05")


class Tree:
    """A root, a watcher, and the names in each directory as the hints have brought them; `.picoclaw` shows nowhere."""

    def __init__(self, root: Path, command: Sequence[str] | None = QUICK) -> None:
        self.root = os.fsencode(root)
        self.names: dict[bytes, dict[bytes, int]] = {}
        self.touched: set[bytes] = set()
        self.dirty: set[bytes] = set()
        self.lost: list[str] = []
        self._root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        open_cookies = partial(open_own_directory, self._root_fd, (b".picoclaw", b"cookies"))
        self.cookies = CookieDirectory(os.path.join(self.root, b".picoclaw", b"cookies"), open_cookies)
        self.watcher = Watcher(Threads(), self._heed, self.lost.append, cookies=self.cookies, command=command)
        self.rescan(self.root)

    def close(self) -> None:
        os.close(self._root_fd)

    def _heed(self, dirty: frozenset[bytes], touched: frozenset[bytes]) -> None:
        self.dirty |= dirty
        self.touched |= touched
        for directory in dirty:
            if directory in self.names:
                self.rescan(directory)

    def rescan(self, directory: bytes) -> None:
        """Take the names as they are; tell the watcher of directories that came, went or were replaced."""
        old = self.names.get(directory, {})
        new = listed(directory)
        if directory not in self.names:
            self.watcher.update([directory])
        self.names[directory] = new
        for name in {*old, *new}:
            if old.get(name) != new.get(name):
                self._drop(os.path.join(directory, name))
                if new.get(name):
                    self.rescan(os.path.join(directory, name))

    def _drop(self, directory: bytes) -> None:
        for name, is_directory in self.names.pop(directory, {}).items():
            if is_directory:
                self._drop(os.path.join(directory, name))
        self.watcher.update([], [directory])

    def truth(self) -> dict[bytes, dict[bytes, int]]:
        """What a full walk finds."""
        found: dict[bytes, dict[bytes, int]] = {}
        waiting = [self.root]
        while waiting:
            directory = waiting.pop()
            found[directory] = listed(directory)
            waiting += [os.path.join(directory, name) for name, inode in found[directory].items() if inode]
        return found

    def knows(self, path: str) -> bool:
        directory, name = os.path.split(os.path.join(self.root, os.fsencode(path)))
        return name in self.names.get(directory, {})

    async def settle(self) -> None:
        """Wait for a cookie that comes."""
        with trio.fail_after(DEADLINE_S):
            while not await self.watcher.cookie():  # noqa: ASYNC110 the child tells nobody when to ask again
                await trio.sleep(0.01)

    async def until(self, condition: Callable[[], object]) -> None:
        with trio.fail_after(DEADLINE_S):
            while not condition():  # noqa: ASYNC110 conditions on another process and on files have no event
                await trio.sleep(0.01)

    def path(self, name: str) -> bytes:
        return os.path.join(self.root, os.fsencode(name))


def listed(directory: bytes) -> dict[bytes, int]:
    """Name to inode of a directory's entries, 0 for what is no directory; nothing for what cannot be listed."""
    try:
        with os.scandir(directory) as entries:
            return {
                each.name: each.inode() if each.is_dir(follow_symlinks=False) else 0
                for each in entries
                if each.name != b".picoclaw"
            }
    except OSError:
        return {}
