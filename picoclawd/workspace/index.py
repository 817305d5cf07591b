"""The index as a service: the tree built and kept right, hints applied, and the names of a scope for a query.

Truth comes from `Tree.verify`. The watcher's hints make it cheap to be nearly right; losing them costs speed only.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import trio

from picoclawd.errors import Fault
from picoclawd.files import paths
from picoclawd.files.dotdir import open_own_directory
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.changes import Found
from picoclawd.index.contents import Contents
from picoclawd.index.ground import OWN, Ground
from picoclawd.index.hiding import WorkspaceHiding
from picoclawd.index.listing import Kind
from picoclawd.index.node import Names
from picoclawd.index.tree import Tree
from picoclawd.index.trust import Trust
from picoclawd.index.watcher import COMMAND, Watcher, WatcherState
from picoclawd.index.watcher_cookies import CookieDirectory
from picoclawd.workspace.scope import Consistency

SWEEP_INTERVAL_S = 60.0
_COOKIES = b"cookies"
_CLOCK_JUMP_S = 2.0  # wall clock against monotonic clock: beyond this somebody set it, and stamps may lie


@dataclass(frozen=True, slots=True)
class Known:
    """The names of a scope, and how sure they are."""

    names: Names
    consistency: Consistency


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the index is. `done` of `total` files have their text loaded, or were found to have none."""

    state: Literal["cold", "building", "ready"]
    files: int
    directories: int
    text_bytes: int
    done: int
    total: int


class Index:
    """The names and texts of the workspace. Methods are for the loop, but for `noted`, which blocks."""

    def __init__(
        self,
        rooted: Rooted,
        threads: Threads,
        tick_ns: int,
        text_cache_bytes: int,
        *,
        watcher_command: tuple[str, ...] | None = COMMAND,
    ) -> None:
        self._rooted = rooted
        self._threads = threads
        hiding = WorkspaceHiding(rooted.workspace, lambda: rooted.policy)
        self.tree = Tree(Ground(rooted.root_fd), hiding, Trust(tick_ns), rooted.check_root)
        self.contents = Contents(rooted.root_fd, text_cache_bytes, tick_ns)
        cookies = CookieDirectory(paths.join(rooted.workspace, OWN + b"/" + _COOKIES), self._open_cookies)
        self.watcher = Watcher(threads, self._on_dirty, self._on_lost, cookies=cookies, command=watcher_command)
        self._dirty: set[bytes] = set()
        self._touched: set[bytes] = set()
        self._hints = trio.Event()
        self._applying = trio.Lock()
        self._sweep_due = trio.Event()
        self._building = False
        self._lost_reason: str | None = None

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Build, then keep right until cancelled. A query never waits for this."""
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._build)
            nursery.start_soon(self.watcher.run)
            nursery.start_soon(self._apply_hints)
            nursery.start_soon(self._sweep)

    async def known(self, scope: bytes, wanted: Consistency, poll: Callable[[int], None]) -> Known | None:
        """The names below a directory of the workspace; None where the tree does not hold it, or not yet.

        `watched` trusts the watcher where all its hints up to this call have come in; else, and at `degraded`, it is
        `verified`: every change that ended before this call is seen.

        Raises: root_gone, io_error, path_busy; what `poll` raises.
        """
        if not self.tree.is_built:
            return None
        if wanted == "watched" and await self._is_caught_up():
            names = self.tree.names(scope)
            return None if names is None else Known(names, "watched")
        return await self._threads.run(Lane.INDEX, self._verified, scope, poll)

    def noted(self, real: bytes) -> None:
        """Take in our own write at an absolute path, before it is acknowledged. Blocking, 20 us."""
        relative = paths.below(real, self._rooted.workspace)
        if relative and self.tree.is_built:
            self.contents.forget(relative)
            self.tree.noted(relative)

    def state(self) -> IndexState:
        """How far the index is."""
        names = self.tree.names(b"")
        texts = self.contents.statistics()
        if names is None:
            return IndexState("building" if self._building else "cold", 0, 0, texts.bytes, 0, 0)
        total = names.files.count
        return IndexState("ready", total, len(self.tree.directories()), texts.bytes, min(texts.files, total), total)

    def watcher_state(self) -> WatcherState:
        """How well changes by others are heard of."""
        return self.watcher.state

    def judge_again(self) -> None:
        """Have every name judged anew, as after a reload that changed which ones are protected."""
        self.tree.judge_again()
        self._sweep_due.set()

    def _open_cookies(self) -> int:
        return open_own_directory(self._rooted.root_fd, (OWN, _COOKIES))

    def _verified(self, scope: bytes, poll: Callable[[int], None]) -> Known | None:
        self.tree.verify(scope, poll)
        names = self.tree.names(scope)
        return None if names is None else Known(names, "verified")

    async def _build(self) -> None:
        self._building = True
        try:
            await self._threads.run(Lane.INDEX, self.tree.build)
        except Fault as fault:
            self._lost_reason = fault.message  # each query says it again, and each sweep tries again
        finally:
            self._building = False
        self._tell_watcher_all()

    async def _is_caught_up(self) -> bool:
        """Whether the tree holds everything that happened before this call, as far as the watcher hears."""
        if self.watcher.unwatched or not await self.watcher.cookie():
            return False
        await self._drain_hints()
        return True

    def _on_dirty(self, directories: frozenset[bytes], touched: frozenset[bytes]) -> None:
        self._dirty |= directories
        self._touched |= touched
        self._hints.set()

    def _on_lost(self, reason: str) -> None:
        self._sweep_due.set()

    async def _apply_hints(self) -> None:
        while True:
            await self._hints.wait()
            await self._drain_hints()

    async def _drain_hints(self) -> None:
        """Apply every hint that has come in. Whoever returns from here has seen them all applied."""
        async with self._applying:
            while self._dirty or self._touched:
                dirty, touched = self._dirty, self._touched
                self._dirty, self._touched = set(), set()
                self._hints = trio.Event()
                await self._threads.run(Lane.INDEX, self._heed, dirty, touched)
            self._tell_watcher()

    def _heed(self, dirty: set[bytes], touched: set[bytes]) -> None:
        root = self._rooted.workspace
        for path in touched:
            relative = paths.below(path, root)
            if relative:
                self.contents.recheck(relative)
        for path in sorted(dirty):
            relative = paths.below(path, root)
            if relative is not None and self.tree.is_built:
                self._rescan(relative)

    def _rescan(self, relative: bytes) -> None:
        try:
            self.tree.rescan(relative)
        except Fault:
            self._sweep_due.set()

    def _tell_watcher(self) -> None:
        """Watch the directories that came, forget those that went."""
        difference = self.tree.take()
        if not difference.complete:
            self._tell_watcher_all()
            return
        came, went = self._directories(difference.created), self._directories(difference.removed)
        if came or went:
            self.watcher.update(came, went)

    def _tell_watcher_all(self) -> None:
        self.tree.take()
        root = self._rooted.workspace
        self.watcher.update({paths.join(root, path) for path in self.tree.directories()})

    def _directories(self, found: Iterable[Found]) -> set[bytes]:
        return {paths.join(self._rooted.workspace, path) for path, kind in found if kind is Kind.DIRECTORY}

    async def _sweep(self) -> None:
        """Verify everything every 60 s, and whenever something was lost or the clock was set."""
        offset = time.time() - time.monotonic()
        while True:
            with trio.move_on_after(SWEEP_INTERVAL_S):
                await self._sweep_due.wait()
            self._sweep_due = trio.Event()
            if not self.tree.is_built:
                await self._build()
            now = time.time() - time.monotonic()
            if abs(now - offset) > _CLOCK_JUMP_S:
                self.contents.distrust()
            offset = now
            try:
                await self._threads.run(Lane.INDEX, self.tree.verify, b"")
            except Fault as fault:
                self._lost_reason = fault.message
            self._tell_watcher()
