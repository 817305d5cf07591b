"""The index as a service: the tree built and kept right, hints applied, and the names of a scope for a query.

Truth comes from `Tree.verify`. The watcher's hints make it cheap to be nearly right; losing them costs speed only.
"""

import time
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec
import trio
from msgspec.structs import replace

from picoclawd.errors import Fault
from picoclawd.files import paths
from picoclawd.files.dotdir import open_own_directory
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.changes import Difference, Found
from picoclawd.index.contents import Contents
from picoclawd.index.corpus import Corpus
from picoclawd.index.ground import OWN, Ground
from picoclawd.index.hiding import WorkspaceHiding
from picoclawd.index.listing import Kind
from picoclawd.index.matrix import Matrix
from picoclawd.index.node import Names
from picoclawd.index.tree import Tree
from picoclawd.index.trust import Trust
from picoclawd.index.watcher import COMMAND, Watcher, WatcherState
from picoclawd.index.watcher_cookies import CookieDirectory
from picoclawd.workspace.announcer import Announcer
from picoclawd.workspace.loading import Loader
from picoclawd.workspace.scope import Consistency, Poll

SWEEP_INTERVAL_S = 60.0
SWEEP_EVENTS = 4_000  # a batch of hints so large is a storm, in which some are lost without a word
_COOKIES = b"cookies"
_CLOCK_JUMP_S = 2.0  # wall clock against monotonic clock: beyond this somebody set it, and stamps may lie


class Known(msgspec.Struct, frozen=True):
    """The names of a scope, and how sure they are. `degraded` is why they were verified although `watched` was due."""

    names: Names
    consistency: Consistency
    degraded: str | None = None


class IndexState(msgspec.Struct, frozen=True):
    """How far the index is, the counts as of the last sweep. `done` of `total` files have their text loaded or its
    trigrams noted, or were found to have none. `reason`: why the names could not be read."""

    state: Literal["cold", "building", "ready"]
    trigrams: Literal["cold", "building", "ready"]
    files: int
    directories: int
    text_bytes: int
    done: int
    total: int
    reason: str | None


class _News(msgspec.Struct, frozen=True):
    """What came and went, and of that the directories, absolute: what to watch, and what no longer."""

    difference: Difference
    came: set[bytes]
    went: set[bytes]


class _Heard(msgspec.Struct, frozen=True):
    """What hints came to: whether all could be looked at, the files that were touched, and the names."""

    everywhere: bool
    touched: list[bytes]
    news: _News


class Index:
    """The names and texts of the workspace. Methods are for the loop and do not block, but for `noted`, which does."""

    def __init__(
        self,
        rooted: Rooted,
        threads: Threads,
        tick_ns: int,
        text_cache_bytes: int,
        announcer: Announcer,
        *,
        watcher_command: tuple[str, ...] | None = COMMAND,
        **bundling: int,
    ) -> None:
        self._rooted = rooted
        self._threads = threads
        self._announcer = announcer
        hiding = WorkspaceHiding(rooted.workspace, lambda: rooted.policy)
        trust = Trust(tick_ns)
        self.tree = Tree(Ground(rooted.root_fd), hiding, trust, rooted.check_root)
        contents = Contents(rooted.root_fd, text_cache_bytes, trust)
        self.contents = Corpus(rooted.root_fd, contents, trust, _new_matrix, **bundling)
        self._loader = Loader(self.contents, threads, self._files)
        cookies = CookieDirectory(paths.join(rooted.workspace, OWN + b"/" + _COOKIES), self._open_cookies)
        self.watcher = Watcher(threads, self._on_dirty, self._on_lost, cookies=cookies, command=watcher_command)
        self._dirty: set[bytes] = set()
        self._touched: set[bytes] = set()
        self._hints = trio.Event()
        self._applying = trio.Lock()
        self._sweep_due = trio.Event()
        self._building = False
        self._reason: str | None = None
        self._counted = (0, 0)  # files and directories
        # Something may have happened that no hint tells of: nothing is believed before all is verified again.
        self._in_doubt = False

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Build, then keep right until cancelled. A query never waits for this."""
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._build)
            nursery.start_soon(self.watcher.run)
            nursery.start_soon(self._apply_hints)
            nursery.start_soon(self._sweep_now_and_then)
            nursery.start_soon(self._loader.run)
            nursery.start_soon(self._announcer.run)

    async def known(self, scope: bytes, wanted: Consistency | None, files_max: int, poll: Poll) -> Known | None:
        """The names below a directory of the workspace; None where the tree does not hold it, or not yet.

        `watched` trusts the watcher where all its hints up to this call have come in; else, and at `degraded`, it is
        `verified`: every change that ended before this call is seen. None is `verified` for at most `files_max` files.

        Raises: root_gone, io_error, path_busy; what `poll` raises.
        """
        if not self.tree.is_built:
            return None
        if (wanted or await self._default(scope, files_max)) == "verified":
            return await self._threads.run(Lane.INDEX, self._verified, scope, poll)
        if await self._is_caught_up():
            names = await self._names(scope)
            return None if names is None else Known(names, "watched")
        known = await self._threads.run(Lane.INDEX, self._verified, scope, poll)
        state = self.watcher.state
        return known if known is None or state.state != "degraded" else replace(known, degraded=state.reason)

    def noted(self, real: bytes, is_file: bool) -> None:
        """Take in our own write at an absolute path, where a regular file `is_file` known to be now, before the write
        is acknowledged. Blocking, 20 us; never fails."""
        relative = paths.below(real, self._rooted.workspace)
        if not relative:
            return
        self.contents.forget(relative)
        try:
            self.tree.noted(relative, is_file=is_file)
        except (Fault, OSError):  # the write itself stands
            self._in_doubt = True

    def state(self) -> IndexState:
        """How far the index is."""
        state: Literal["cold", "building", "ready"] = "building" if self._building else "cold"
        if self.tree.is_built:
            state = "ready"
        files, directories = self._counted
        load = self._loader.progress()
        text_bytes = self.contents.statistics().bytes
        trigrams = self._loader.trigrams()
        return IndexState(state, trigrams, files, directories, text_bytes, load.done, load.total, self._reason)

    def watcher_state(self) -> WatcherState:
        """How well changes by others are heard of."""
        return self.watcher.state

    def judge_again(self) -> None:
        """Have every name judged anew, as after a reload that changed which ones are protected."""
        self.tree.judge_again()
        self._doubt()

    def _open_cookies(self) -> int:
        return open_own_directory(self._rooted.root_fd, (OWN, _COOKIES))

    async def _default(self, scope: bytes, files_max: int) -> Consistency:
        if self._counted[0] <= files_max:
            return "verified"
        names = await self._names(scope)
        return "verified" if names is None or names.files.count <= files_max else "watched"

    async def _names(self, scope: bytes) -> Names | None:
        """The names as they are known now; only where some changed, behind whoever else is busy in the lane."""
        return self.tree.names_at_hand(scope) or await self._threads.run(Lane.INDEX, self.tree.names, scope)

    def _files(self) -> list[bytes] | None:
        names = self.tree.names(b"")
        return None if names is None else names.files.lines()

    def _verified(self, scope: bytes, poll: Poll) -> Known | None:
        self.tree.verify(scope, poll)
        names = self.tree.names(scope)
        return None if names is None else Known(names, "verified")

    async def _build(self) -> None:
        self._building = True
        try:
            await self._threads.run(Lane.INDEX, self._verify_all, self.tree.build)
            self._reason = None
        except Fault as fault:
            self._reason = fault.message  # each query says it again, and each sweep tries again
        finally:
            self._building = False
        async with self._applying:
            self.watcher.update(await self._threads.run(Lane.INDEX, self._built))
        self._loader.due()

    def _verify_all(self, verify: Callable[[], object]) -> None:
        """Look at everything, after which there is no doubt but of what came up meanwhile. Blocking."""
        self._in_doubt, before = False, self._in_doubt
        try:
            verify()
        except Fault:
            self._in_doubt = before or self.tree.is_built
            raise
        self._count()

    def _count(self) -> None:
        names = self.tree.names(b"")
        self._counted = (names.files.count if names else 0, len(self.tree.directories()))

    async def _is_caught_up(self) -> bool:
        """Whether the tree holds everything that happened before this call, as far as the watcher hears."""
        if self._in_doubt or self.watcher.unwatched or not await self.watcher.cookie():
            return False
        await self._drain_hints()
        return not self._in_doubt

    def _doubt(self) -> None:
        self._in_doubt = True
        self._sweep_due.set()

    def _on_dirty(self, directories: frozenset[bytes], touched: frozenset[bytes]) -> None:
        self._dirty |= directories
        self._touched |= touched
        self._hints.set()
        if len(touched) > SWEEP_EVENTS:
            self._sweep_due.set()

    def _on_lost(self, reason: str) -> None:
        self._announcer.lost()
        self._doubt()

    async def _apply_hints(self) -> None:
        while True:
            await self._hints.wait()
            await self._drain_hints()

    async def _drain_hints(self) -> None:
        """Apply every hint that has come in. Whoever returns from here has seen them all applied."""
        async with self._applying:
            while self._dirty or self._touched:
                with trio.CancelScope(shield=True):  # whose search it is may go away; what was heard must not
                    await self._apply(self._dirty, self._touched)
                await trio.lowlevel.checkpoint_if_cancelled()

    async def _apply(self, dirty: set[bytes], touched: set[bytes]) -> None:
        self._dirty, self._touched = set(), set()
        self._hints = trio.Event()
        heard = await self._threads.run(Lane.INDEX, self._heed, dirty, touched)
        if not heard.everywhere:
            self._doubt()
        await self._tell(heard.news)
        await self._announcer.touched(heard.touched)  # after the names: what came was created, not modified

    def _heed(self, dirty: set[bytes], touched: set[bytes]) -> _Heard:
        """Look wherever hints point. Blocking."""
        root = self._rooted.workspace
        files = [relative for path in touched if (relative := paths.below(path, root))]
        for relative in files:
            self.contents.recheck(relative)
        if not self.tree.is_built:
            return _Heard(True, files, self._news())
        relatives = [paths.below(path, root) for path in sorted(dirty)]
        missed = [relative for relative in relatives if relative is not None and not self._rescan(relative)]
        return _Heard(not missed, files, self._news())

    def _rescan(self, relative: bytes) -> bool:
        """Look at a directory and at its files: where its watch was made anew, any may have changed unheard."""
        try:
            self.tree.rescan(relative)
        except Fault:
            return False
        listing = self.tree.listing(relative)
        for name, mark in listing.entries() if listing is not None else ():
            if mark == Kind.FILE:
                self.contents.recheck(paths.join(relative, name) if relative else name)
        return True

    def _news(self) -> _News:
        """What came and went since the last call; the texts of what went are forgotten. Blocking."""
        difference = self.tree.take()
        if difference.created or difference.removed:
            self._count()
        for path, kind in difference.removed:
            if kind is Kind.FILE:
                self.contents.forget(path)
        if not difference.complete:
            return _News(difference, self._all_directories(), set())
        return _News(difference, self._directories(difference.created), self._directories(difference.removed))

    async def _tell(self, news: _News) -> None:
        """Watch the directories that came, no longer those that went, and tell of the files."""
        self.watcher.update(news.came, news.went)
        await self._announcer.named(news.difference)

    def _built(self) -> set[bytes]:
        """All directories of a tree that was built just now, whose names are no news. Blocking."""
        self.tree.take()
        return self._all_directories()

    def _all_directories(self) -> set[bytes]:
        root = self._rooted.workspace
        return {paths.join(root, path) for path in self.tree.directories()}

    def _directories(self, found: Iterable[Found]) -> set[bytes]:
        return {paths.join(self._rooted.workspace, path) for path, kind in found if kind is Kind.DIRECTORY}

    async def _sweep_now_and_then(self) -> None:
        """Verify everything every 60 s, and whenever something was lost or the clock was set."""
        offset = time.time() - time.monotonic()
        while True:
            with trio.move_on_after(SWEEP_INTERVAL_S):
                await self._sweep_due.wait()
            self._sweep_due = trio.Event()
            now = time.time() - time.monotonic()
            if abs(now - offset) > _CLOCK_JUMP_S:
                self.contents.distrust()
            offset = now
            await self._sweep()

    async def _sweep(self) -> None:
        if not self.tree.is_built:
            await self._build()
            return
        try:
            await self._threads.run(Lane.INDEX, self._verify_all, self._verify_tree)
            self._reason = None
        except Fault as fault:
            self._reason = fault.message
        async with self._applying:
            await self._tell(await self._threads.run(Lane.INDEX, self._news))
        self._loader.due()

    def _verify_tree(self) -> None:
        self.tree.verify(b"")
        self.contents.retain(self._files() or ())


def _new_matrix() -> Matrix:
    from picoclawd.index.trigrams import TrigramMatrix  # numpy: 0.15 s and 12 MB, when there is something to index

    return TrigramMatrix()
