"""From changes to the feed: our own as they are made, those of others once a look at the disk confirms them.

The watcher hears our own writes, too, and hears some things twice. So each file that was told of is remembered as it
was then, and a hint counts only where the file differs from that.
"""

import itertools
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
import trio

from picoclawd import limits
from picoclawd.errors import Fault
from picoclawd.files import closing, paths
from picoclawd.files.rooted import Rooted
from picoclawd.files.stamps import Stamp
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.changes import Difference
from picoclawd.index.ground import Ground
from picoclawd.index.listing import Kind
from picoclawd.workspace.events import OUTSIDE, Action, Change, Feed

REMEMBERED_MAX = 20_000  # files; some 4 MiB
_CHUNK = 500  # files looked at, or told of, without a pause

Seen = tuple[int, int, int]  # inode, size, mtime_ns


class _Hint(msgspec.Struct, frozen=True):
    """What the index makes of a file: its name came or went, or somebody touched it."""

    path: bytes
    action: Action


class Announcer:
    """Tells `feed`. Methods say where they may run."""

    def __init__(self, rooted: Rooted, threads: Threads, feed: Feed) -> None:
        self._rooted = rooted
        self._threads = threads
        self._ground = Ground(rooted.root_fd)  # which goes through no link: nothing outside is looked at
        self._feed = feed
        self._lock = threading.Lock()
        self._seen: OrderedDict[bytes, Seen | None] = OrderedDict()
        self._changing: dict[bytes, int] = {}
        self._deferred: set[bytes] = set()
        self._hints: dict[bytes, Action] = {}
        self._due = trio.Event()

    async def run(self) -> None:
        """Tell of what others change, until cancelled."""
        while True:
            await self._due.wait()
            self._due = trio.Event()
            hints, self._hints = self._hints, {}
            await self._tell_outside([_Hint(path, action) for path, action in hints.items()])

    @contextmanager
    def changing(self, relative: bytes | None) -> Iterator[None]:
        """Keep hints of a file waiting while we change it ourselves. Any thread."""
        if relative is None:
            yield
            return
        with self._lock:
            self._changing[relative] = self._changing.get(relative, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._changing[relative] -= 1
                if not self._changing[relative]:
                    del self._changing[relative]

    def note(self, relative: bytes | None, stamp: Stamp | None) -> None:
        """Remember how we left a file, None for removed: what is heard of that state is nothing new. Any thread."""
        if relative is not None:
            with self._lock:
                self._remember(relative, None if stamp is None else (stamp.ino, stamp.size, stamp.mtime_ns))

    def own(self, change: Change) -> None:
        """Tell of a change of ours. Loop only, before it is answered."""
        self._feed.changed(change)
        if change.path in self._deferred:
            self._deferred.discard(change.path)
            self._hint(change.path, "modify")

    async def touched(self, relatives: Iterable[bytes]) -> None:
        """Take in what the watcher heard of."""
        ours = limits.TEMP_PREFIX  # they are gone by now
        await self._hint_all((path, "modify") for path in relatives if ours not in path)

    async def named(self, difference: Difference) -> None:
        """Take in which names came and went."""
        if not difference.complete:
            self._feed.lost()
        if difference.rules_changed:  # then they came or went with nothing done to them
            return
        await self._hint_all((path, "create") for path, kind in difference.created if kind is Kind.FILE)
        await self._hint_all((path, "delete") for path, kind in difference.removed if kind is Kind.FILE)
        await self._hint_all((path, "modify") for path in difference.passing)

    async def _hint_all(self, hints: Iterator[tuple[bytes, Action]]) -> None:
        while chunk := list(itertools.islice(hints, _CHUNK)):
            for path, action in chunk:
                self._hint(path, action)
            await trio.lowlevel.checkpoint()

    def lost(self) -> None:
        """Say that hints were lost. Loop only."""
        self._feed.lost()

    def _hint(self, path: bytes, action: Action) -> None:
        if action != "modify" or path not in self._hints:
            self._hints[path] = action
        self._due.set()

    async def _tell_outside(self, hints: list[_Hint]) -> None:
        for start in range(0, len(hints), _CHUNK):
            changes = await self._threads.run(Lane.INDEX, self._look, hints[start : start + _CHUNK])
            for change in changes:
                self._feed.changed(change)
            await trio.lowlevel.checkpoint()

    def _look(self, hints: list[_Hint]) -> list[Change]:
        """What the hints come to, by what the disk says now. Blocking."""
        found = (self._look_at(hint) for hint in hints)
        return [change for change in found if change is not None]

    def _look_at(self, hint: _Hint) -> Change | None:
        with self._lock:  # held over the stat: a change of ours must not begin and end between it and the comparison
            if hint.path in self._changing:
                self._deferred.add(hint.path)
                return None
            seen, known = self._stat(hint.path), hint.path in self._seen
            before = self._seen.get(hint.path)
            if (known and before == seen) or (not known and seen is None and hint.action != "delete"):
                return None
            self._remember(hint.path, seen)
        return Change(hint.path, _action(hint, seen, before, known), OUTSIDE, protected=self._is_protected(hint.path))

    def _stat(self, relative: bytes) -> Seen | None:
        """The file as it is now; None where there is none."""
        directory, name = paths.split(relative)
        try:
            fd = self._ground.open(directory)
        except (OSError, Fault):
            return None
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError:
            return None
        finally:
            closing.close(fd)
        return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None

    def _remember(self, relative: bytes, seen: Seen | None) -> None:
        self._seen[relative] = seen
        self._seen.move_to_end(relative)
        if len(self._seen) > REMEMBERED_MAX:
            self._seen.popitem(last=False)

    def _is_protected(self, relative: bytes) -> bool:
        return self._rooted.policy.hidden(paths.join(self._rooted.workspace, relative))


def _action(hint: _Hint, seen: Seen | None, before: Seen | None, known: bool) -> Action:
    if seen is None:
        return "delete"
    if known:
        return "create" if before is None else "modify"
    return "modify" if hint.action == "delete" else hint.action  # it is back: an editor deletes, then creates
