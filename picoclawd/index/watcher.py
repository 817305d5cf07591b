"""Learn which directories changed, from a child process that watches them: hints that save work, never the truth.

The child may die, lag or lose events; it is started again with back-off, and all directories are reported dirty once
they are watched again. What the watcher says is at most "nothing happened there that you have not been told of", and
it says so only where `cookie` returned True.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from subprocess import PIPE
from types import MappingProxyType
from typing import Literal, assert_never

import msgspec
import trio

from picoclawd.files.threads import Lane, Threads
from picoclawd.index import watcher_lines as lines
from picoclawd.index.watcher_cookies import CookieDirectory, Cookies

# -P: the working directory may be the workspace, whose files are not to be imported.
COMMAND = (sys.executable, "-P", "-m", "picoclawd.index.watcher_child")

BACK_OFF_MIN_S = 1.0
BACK_OFF_MAX_S = 60.0  # who lived for so long is started again after the shortest wait
_END_S = 2.0  # a child ends within milliseconds of its stdin; then it is killed
_LINES_PER_SEND = 2_000  # of 100,000 orders; written at once they would hold up the loop for 80 ms
_CALM_AFTER_S = lines.EAGER_FOR_S + 1.0
_CHUNK_BYTES = 64 * 1024  # the size of a pipe


class WatcherState(msgspec.Struct, frozen=True):
    """How well directories are watched: `ok`; `degraded`, for this reason, also while it starts; `off`, by choice."""

    state: Literal["ok", "degraded", "off"]
    reason: str | None = None


class WatcherStatistics(msgspec.Struct, frozen=True):
    """`pid` of the child that runs, how many were started, how many directories are told, how many unwatched."""

    pid: int | None
    starts: int
    directories: int
    unwatched: int


_OK = WatcherState("ok")


class Watcher:
    """Supervise the child. All methods are for the loop's thread; `run` is a service that ends by cancellation.

    `on_dirty(directories, paths)` is called with directories to rescan and paths to stat, in the order in which the
    child told them; `on_lost(reason)` when events may have been lost: a sweep is due. Both must not block. Directories
    are absolute paths. `command` None means off; tests give other commands that speak as `watcher_lines` has it.
    """

    def __init__(
        self,
        threads: Threads,
        on_dirty: Callable[[frozenset[bytes], frozenset[bytes]], None],
        on_lost: Callable[[str], None],
        *,
        cookies: CookieDirectory | None = None,
        command: Sequence[str] | None = COMMAND,
    ) -> None:
        self._threads = threads
        self._on_dirty = on_dirty
        self._on_lost = on_lost
        self._cookies = Cookies(threads, cookies) if cookies else None
        self._command = command
        self._state = WatcherState("off") if command is None else WatcherState("degraded", "the watcher is starting")
        self._told: set[bytes] = set()
        self._unwatched: dict[bytes, str] = {}
        self._add: set[bytes] = set()
        self._remove: set[bytes] = set()
        self._more = trio.Event()
        self._sent = 0  # batches told to this child, and of those how many are watched
        self._ready = 0
        self._starts = 0
        self._pid: int | None = None
        self._life = trio.CancelScope()
        self._asked = trio.Event()
        self._asked_s = 0.0
        self._dirty: set[bytes] = set()
        self._touched: set[bytes] = set()

    @property
    def state(self) -> WatcherState:
        """How well directories are watched now."""
        return self._state

    @property
    def unwatched(self) -> Mapping[bytes, str]:
        """Told directories that cannot be watched, and why: verify them always."""
        return MappingProxyType(self._unwatched)

    def statistics(self) -> WatcherStatistics:
        """Count starts and directories."""
        return WatcherStatistics(self._pid, self._starts, len(self._told), len(self._unwatched))

    def update(self, add: Iterable[bytes], remove: Iterable[bytes] = ()) -> None:
        """Stop watching `remove`, then watch `add`; one that is watched is watched anew, as it must be when replaced.

        Returns at once; to remove what was never added costs nothing. Each added directory is reported dirty when it is
        watched; until all are, `cookie` is False.
        """
        add, remove = set(add), self._told.intersection(remove)
        if not add and not remove:
            return
        for kept in (self._told, self._add):
            kept -= remove
            kept |= add
        self._remove |= remove
        for path in add | remove:
            self._unwatched.pop(path, None)
        self._more.set()

    async def cookie(self) -> bool:
        """Wait until all that happened before this call has been told; False, within about 100 ms, when it cannot be.

        True holds for the directories that are told and not `unwatched`, and once `on_dirty` has been heeded.
        """
        if self._cookies is None or not self._caught_up():
            return False
        self._asked_s = trio.current_time()
        self._asked.set()
        try:
            seen = await self._cookies.ask()
        except FileNotFoundError:
            self._life.cancel()  # what is watched there is a directory that was removed; the next child gets a new one
            return False
        return seen and self._caught_up()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep a child running. It reports itself started at once, before there is a child: nothing waits for it."""
        task_status.started()
        if self._command is None:
            return
        pause_s = 0.0
        while True:
            began = trio.current_time()
            why = await self._live(self._command)
            pause_s = back_off(trio.current_time() - began, pause_s)
            self._degrade(f"{why}; it is started again in {pause_s:.0f} s")
            await trio.sleep(pause_s)

    def _caught_up(self) -> bool:
        return self._pid is not None and not self._add and not self._remove and self._ready == self._sent > 0

    def _degrade(self, reason: str) -> None:
        self._state = WatcherState("degraded", reason)
        if self._cookies is not None:
            self._cookies.give_up()
        self._on_lost(reason)

    async def _live(self, command: Sequence[str]) -> str:
        """Run one child from its start to its end, and say why it ended."""
        self._starts += 1
        cookies = self._cookies
        with_cookies = cookies is not None and await self._threads.run(Lane.READ, cookies.directory.open)
        try:
            process = await trio.lowlevel.open_process(command, stdin=PIPE, stdout=PIPE, start_new_session=True)
        except OSError as exc:
            return f"the watcher cannot be started ({exc.strerror})"
        try:
            return await self._converse(process, with_cookies)
        finally:
            self._pid = None
            await _end(process)
            if cookies is not None:
                cookies.directory.close()

    async def _converse(self, process: trio.Process, with_cookies: bool) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        self._pid = process.pid
        self._sent = self._ready = 0
        self._add, self._remove = set(self._told), set()
        self._unwatched.clear()
        why = "the watcher's cookie directory was removed"
        async with trio.open_nursery() as nursery:
            self._life = nursery.cancel_scope
            nursery.start_soon(self._tell, process.stdin, with_cookies)
            nursery.start_soon(self._calm_down)
            why = await self._hear(process.stdout)
            nursery.cancel_scope.cancel()
        return why

    async def _calm_down(self) -> None:
        """Make one more cookie a while after the last that somebody asked for: it lets the child look less often."""
        while self._cookies is not None:
            await self._asked.wait()
            self._asked = trio.Event()
            due_s = 0.0
            while due_s != self._asked_s + _CALM_AFTER_S:  # somebody asked meanwhile
                due_s = self._asked_s + _CALM_AFTER_S
                await trio.sleep_until(due_s)
            with suppress(FileNotFoundError):
                await self._cookies.ask()

    async def _tell(self, stdin: trio.abc.SendStream, with_cookies: bool) -> None:
        """Send what is told to the child; what cannot be sent is told to the next."""
        try:
            if self._cookies is not None and with_cookies:
                await stdin.send_all(lines.cookies_line(self._cookies.directory.path))
            while True:
                self._more = trio.Event()
                await self._send_batch(stdin)
                await self._more.wait()
        except trio.BrokenResourceError:
            return  # the child ended; the end of its stdout ends this life

    async def _send_batch(self, stdin: trio.abc.SendStream) -> None:
        add, remove = list(self._add), list(self._remove)
        self._add, self._remove = set(), set()
        self._sent += 1
        for start in range(0, max(len(add), len(remove)), _LINES_PER_SEND):
            part = slice(start, start + _LINES_PER_SEND)
            await stdin.send_all(lines.forget_lines(remove[part]))
            await stdin.send_all(lines.watch_lines(add[part]))
        await stdin.send_all(lines.END_OF_BATCH)

    async def _hear(self, stdout: trio.abc.ReceiveStream) -> str:
        """Heed reports until there are no more, and say why there are no more."""
        rest = b""
        while chunk := await stdout.receive_some(_CHUNK_BYTES):
            *whole, rest = (rest + chunk).split(b"\n")
            try:
                for line in whole:
                    self._heed(lines.parse_report(line))
            except ValueError as exc:
                return f"the watcher told {exc}"
            finally:
                self._hint()
            if len(rest) > lines.LINE_MAX_BYTES:
                return "the watcher told a line without an end"
        return "the watcher ended"

    def _heed(self, report: lines.Report) -> None:
        match report:
            case lines.Dirty(path):
                self._dirty.add(path)
            case lines.Touched(path):
                self._touched.add(path)
            case lines.Unwatched(path, reason):
                if path in self._told:
                    self._unwatched[path] = reason
            case lines.CookieSeen(number):
                self._hint()
                if self._cookies is not None:
                    self._cookies.saw(number)
            case lines.Ready(batches):
                self._hint()
                self._ready = max(self._ready, batches)
                if self._ready == self._sent:
                    self._state = _OK
            case lines.Lost(reason):
                self._on_lost(reason)
            case lines.Degraded(reason):
                self._degrade(reason)
            case _:
                assert_never(report)

    def _hint(self) -> None:
        """Hand on what has gathered; always before a cookie or `ready` counts."""
        if self._dirty or self._touched:
            dirty, touched = frozenset(self._dirty), frozenset(self._touched)
            self._dirty, self._touched = set(), set()
            self._on_dirty(dirty, touched)


def back_off(lived_s: float, last_s: float) -> float:
    """Say how long to wait before the next start: twice as long as last time, 1 to 60 s; 1 after a long life."""
    if lived_s > BACK_OFF_MAX_S:
        return BACK_OFF_MIN_S
    return max(BACK_OFF_MIN_S, min(2 * last_s, BACK_OFF_MAX_S))


async def _end(process: trio.Process) -> None:
    """End the child: by the end of its stdin, else by force."""
    assert process.stdin is not None
    assert process.stdout is not None
    with trio.move_on_after(2 * _END_S, shield=True):
        await process.stdin.aclose()
        await process.stdout.aclose()
        with trio.move_on_after(_END_S):
            await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()
