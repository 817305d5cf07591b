"""Keep every told directory watched, and report what happens there: the child's one state, shared by its threads.

What it promises: a directory is reported dirty after each time that its watch is made, so no gap is silent; and a
cookie is reported only when everything told is watched, after every hint of what happened before it.
"""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field

from picoclawd.index import watcher_lines as lines
from picoclawd.index.watcher_generations import ADDED, DELETED, Backend, BadName, Changes, Failed, Generation, to_absorb

BURST_MAX_EVENTS = 4_000  # within a second: of a queue of 16,384, so many may mean that some fell out, unsaid
INTERVAL_S = 1.0  # between two times that watches are made: building tools make directories in crowds
BACK_OFF_MAX_S = 60.0
MISSING = "it is missing"


@dataclass(slots=True)
class News:
    """What one batch of changes means. `replaced` holds told directories at whose path something came or went."""

    dirty: set[bytes] = field(default_factory=set)
    touched: set[bytes] = field(default_factory=set)
    replaced: set[bytes] = field(default_factory=set)
    cookie: int = 0


@dataclass(slots=True)
class _Burst:
    """Count events, a second at a time."""

    began: float = 0.0
    events: int = 0

    def add(self, events: int, now: float) -> bool:
        """Count on, and tell whether it is too many; counting then begins again."""
        if now - self.began > 1.0:
            self.began, self.events = now, 0
        self.events += events
        if self.events <= BURST_MAX_EVENTS:
            return False
        self.events = 0
        return True


class Keeper:
    """Own the generations. `make` begins to watch directories, or raises Failed; `write` sends whole lines, blocking.

    `tell` is for the thread that reads orders, `run` for a thread of its own. `cookie_directory` is set before both.
    """

    def __init__(
        self,
        make: Callable[[Sequence[bytes]], Backend],
        write: Callable[[bytes], None],
        *,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self.cookie_directory: bytes | None = None
        self._make = make
        self._write = write
        self._interval_s = interval_s
        self._change = threading.Condition()  # guards all below; never held while writing, making or stopping
        self._told: set[bytes] = set()
        self._wanted: set[bytes] = set()
        self._replaced: set[bytes] = set()
        self._unwatched: set[bytes] = set()  # was missing or refused when its turn came, or its turn is now
        self._making = False
        self._failed = False
        self._batches = 0
        self._generations: list[Generation] = []
        self._cookie = 0
        self._burst = _Burst()

    def tell(self, watch: Iterable[bytes], forget: Iterable[bytes]) -> None:
        """Take one batch of orders: forget these directories, then watch those, anew where they are watched."""
        watch, forget = set(watch), set(forget)
        with self._change:
            for kept in (self._told, self._wanted):
                kept -= forget
                kept |= watch
            self._unwatched -= forget
            self._batches += 1
            self._change.notify_all()
        self._report_ready()

    def run(self) -> None:
        """Make watches whenever directories wait for one, at most once in `interval_s`; never returns.

        After a failure it tries again, ever more slowly, up to once a minute.
        """
        pause_s = self._interval_s
        while True:
            with self._change:
                self._change.wait_for(self._due)
            failed = not self._place()
            pause_s = min(2 * pause_s, BACK_OFF_MAX_S) if failed else self._interval_s
            time.sleep(pause_s)

    def _place(self) -> bool:
        """Make the watches that are due, and tell whether that went well, and nothing broke since the last time."""
        with self._change:
            taken = (self._wanted | under(self._told, self._replaced)) & self._told
            self._wanted, self._replaced, self._making = set(), set(), True
            broke, self._failed = self._failed, False
        try:
            self._watch(taken)
        except Failed as exc:
            with self._change:
                self._wanted |= taken & self._told
                self._making = False
            self._write(lines.degraded_line(str(exc)))
            return False
        with self._change:
            self._making = False
        self._report_ready()
        return not broke

    def _watch(self, taken: set[bytes]) -> None:
        """Watch `taken` in a new generation that absorbs smaller ones; grows `taken` by what it had to let go."""
        with self._change:
            absorbed = to_absorb(self._generations, len(taken), self._told.__contains__)
            paths = taken.union(*(each.directories for each in absorbed)) & self._told
            self._unwatched |= paths
        refusals = {path: refusal(path) for path in paths}
        with self._change:
            self._unwatched -= {path for path, why in refusals.items() if why is None}
        refused = {path: why for path, why in refusals.items() if why is not None and why != MISSING}
        backend = self._begin(paths - refused.keys(), absorbed, taken)
        for each in absorbed:
            each.stop()
        # From here on nothing that happens is missed; what happened before shows when the directory is read again.
        self._write(lines.hint_lines(paths))
        self._write(b"".join(lines.unwatched_line(path, why) for path, why in refused.items()))
        with self._change:
            made = Generation(backend, frozenset(paths - refused.keys()), self._cookie)
            self._generations = [each for each in self._generations if each not in absorbed] + [made]
            made.start(self._heard, self._broken)

    def _begin(self, paths: set[bytes], absorbed: Sequence[Generation], taken: set[bytes]) -> Backend:
        """Watch `paths` while the absorbed generations still do, so that there is no gap; else after their end."""
        wanted = [*paths, *([self.cookie_directory] if self.cookie_directory else [])]
        try:
            return self._make(wanted)
        except Failed:
            if not absorbed:
                raise
        # Both at once may have been more watches than the system allows.
        for each in absorbed:
            each.stop()
            taken |= each.directories
        with self._change:
            self._generations = [each for each in self._generations if each not in absorbed]
        return self._make(wanted)

    def _heard(self, generation: Generation, changes: Changes) -> None:
        """Report a batch of one generation; runs in that generation's thread."""
        news = read(changes, self._told, self._unwatched, self.cookie_directory)
        with self._change:
            many = self._burst.add(len(changes), time.monotonic())
            if news.replaced:
                self._replaced |= news.replaced
                self._change.notify_all()
        self._write(lines.hint_lines(news.dirty, () if many else news.touched))
        if many:
            self._write(lines.lost_line(f"batch of over {BURST_MAX_EVENTS} events"))
        if news.cookie:
            with self._change:
                generation.cookie = max(generation.cookie, news.cookie)
            self._report_cookie()

    def _broken(self, generation: Generation, exc: Exception) -> None:
        """Have a generation's directories watched anew, but for one whose names cannot be told."""
        generation.backend.close()
        blamed = exc.directory if isinstance(exc, BadName) else None
        # Said first: this generation, which sees no cookie any more, holds all cookies back until it is removed.
        if blamed is not None and blamed in generation.directories:
            self._write(lines.hint_lines([blamed]))
            self._write(lines.unwatched_line(blamed, "a name in it is not UTF-8"))
        else:
            self._write(lines.lost_line(f"watching failed: {exc}"))
        with self._change:
            if generation not in self._generations:
                return  # it is being absorbed: its directories are watched anew already
            self._generations.remove(generation)
            self._wanted |= (generation.directories & self._told) - {blamed}
            self._failed |= blamed not in generation.directories
            if blamed is not None and blamed == self.cookie_directory:
                self.cookie_directory = None  # no cookie is seen from now on
            self._change.notify_all()

    def _due(self) -> bool:
        return bool(self._wanted or self._replaced or (self._told and not self._generations))

    def _settled(self) -> bool:
        return not (self._due() or self._making)

    def _report_ready(self) -> None:
        with self._change:
            batches = self._batches if self._settled() else None
        if batches is not None:
            self._write(lines.ready_line(batches))
            self._report_cookie()

    def _report_cookie(self) -> None:
        """Report the newest cookie that every generation has seen, once, and not while a directory waits."""
        with self._change:
            seen = min((each.cookie for each in self._generations), default=0)
            if seen <= self._cookie or not self._settled():
                return
            self._cookie = seen
        self._write(lines.cookie_line(seen))


def read(changes: Changes, told: Set[bytes], unwatched: Set[bytes], cookie_directory: bytes | None) -> News:
    """Say what a batch of changes means. A change's path may be a told directory, or lie in one, or both, or neither.

    What happened in the cookie directory is a cookie or nothing. What took a told directory's path is seen by the old
    one's going, or was there before its watch; only where nothing was watched does a coming call for a new watch.
    """
    news = News()
    for kind, text in changes:
        path = text.encode()
        directory, _, name = path.rpartition(b"/")
        directory = directory or b"/"
        if directory == cookie_directory:
            news.cookie = max(news.cookie, int(name) if name.isdigit() else 0)
            continue
        if directory in told:
            news.dirty.add(directory)
            news.touched.add(path)
        if path in told:
            news.dirty.add(path)
            if kind == DELETED or (kind == ADDED and path in unwatched):
                news.replaced.add(path)
    return news


def under(directories: Iterable[bytes], tops: set[bytes]) -> set[bytes]:
    """Choose the directories that are among `tops` or below one: where a directory moved, so did all below it."""
    if not tops:
        return set()
    return {path for path in directories if path in tops or any(parent in tops for parent in _parents(path))}


def _parents(path: bytes) -> Iterator[bytes]:
    end = path.rfind(b"/")
    while end > 0:
        yield path[:end]
        end = path.rfind(b"/", 0, end)


def refusal(path: bytes) -> str | None:
    """Say why a directory cannot be watched; None where it can. MISSING is no fault: its coming is seen from above."""
    try:
        path.decode()
        mode = os.lstat(path).st_mode
    except UnicodeDecodeError:
        return "its path is not UTF-8"
    except OSError:
        return MISSING
    if not stat.S_ISDIR(mode):
        return "it is no directory"
    return None if os.access(path, os.R_OK) else "no permission to read it"
