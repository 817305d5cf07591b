"""Watch directories for the daemon, in a process of its own: `python -m picoclawd.index.watcher_child`.

The only user of watchfiles. Orders come on stdin, reports go to stdout (`watcher_lines`), and the end of stdin, which
is also the daemon's own end, however it comes, ends it.
"""

import math
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import assert_never

from watchfiles._rust_notify import RustNotify

from picoclawd.index import watcher_lines as lines
from picoclawd.index.watcher_generations import Backend, BadName, Changes, Failed
from picoclawd.index.watcher_keeper import INTERVAL_S, Keeper

# A change is told after two looks that found the same. Looking every 20 ms costs 0.15 % of a core, which is right
# while nobody asks; every 1 ms costs twenty times that, for which a query that waits for its cookie waits 2 ms, not 40.
_CALM_STEP_MS = 20
_EAGER_STEP_MS = 1
_DEBOUNCE_MS = 30  # the longest that a stream of changes is gathered; a cookie must be through within 100 ms
_COOKIE_PARENT = "/.picoclaw/cookies/"

# watchfiles 1.3 prints the path as Rust's Debug does: "…" with \xFF for a byte that is not UTF-8, \n, \u{301}, \\.
_BAD_NAME = re.compile(r'Unable to decode path "(.*)" to string', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u\{([0-9A-Fa-f]+)\}|(.))", re.DOTALL)
_ESCAPED = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0"}


class Pace:
    """How often to look: eagerly while one cookie comes soon after another, calmly else.

    watchfiles looks on at the pace that it was called with until something happens; so whoever makes cookies makes a
    last one, well after the others, for the pace to fall back (`Watcher`).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._newest = 0
        self._came_s = -math.inf
        self._is_eager = False
        self._lock = threading.Lock()

    @property
    def step_ms(self) -> int:
        """Milliseconds between two looks."""
        return _EAGER_STEP_MS if self._is_eager else _CALM_STEP_MS

    def note(self, changes: Changes) -> None:
        """Take note of the cookies among some changes; each counts once, whoever sees it."""
        for _kind, path in changes:
            place, parent, name = path.rpartition(_COOKIE_PARENT)
            if parent and place and name.isdigit():
                self._cookie(int(name))

    def _cookie(self, number: int) -> None:
        with self._lock:
            if number > self._newest:
                now_s = self._clock()
                self._is_eager = now_s - self._came_s < lines.EAGER_FOR_S
                self._newest, self._came_s = number, now_s


class Notify:
    """Watches made by watchfiles, not recursive: recursive ones follow links."""

    def __init__(self, pace: Pace, directories: Sequence[bytes]) -> None:
        """Begin to watch; missing directories are passed over. Blocks 14 us a directory. Raises: Failed."""
        self._pace = pace
        try:
            # Passing over "permission denied" passes over every error: one vanished directory must not fail the others.
            self._notify = _rust_notify([path.decode() for path in directories], pass_over=True)
            # So the limit must be asked for: where there is no room for one more, there may not have been for all.
            _rust_notify(["/"], pass_over=False).close()
        except (OSError, RuntimeError) as exc:
            raise Failed(_advice(str(exc))) from exc

    def watch(self, stop: threading.Event) -> Changes | None:
        """See `Backend`. No timeout: at a timeout watchfiles throws away what has just come."""
        try:
            changes = self._notify.watch(_DEBOUNCE_MS, self._pace.step_ms, 0, stop)
        except RuntimeError as exc:  # WatchfilesRustInternalError; it would be raised again for ever
            directory = directory_of_bad_name(str(exc))
            raise Failed(str(exc)) if directory is None else BadName(directory) from exc
        if isinstance(changes, str):
            return None
        self._pace.note(changes)
        return changes

    def close(self) -> None:
        """See `Backend`."""
        self._notify.close()


def _rust_notify(paths: list[str], *, pass_over: bool) -> RustNotify:
    return RustNotify(
        paths, debug=False, force_polling=False, poll_delay_ms=0, recursive=False, ignore_permission_denied=pass_over
    )


def _advice(reason: str) -> str:
    """Say what to raise where a limit of the system is in the way."""
    if "MaxFilesWatch" in reason or "os error 28" in reason:
        return "watch limit reached: raise fs.inotify.max_user_watches"
    if "os error 24" in reason:
        return "too many inotify instances or open files: raise fs.inotify.max_user_instances"
    return f"cannot watch: {reason}"


def directory_of_bad_name(message: str) -> bytes | None:
    """Read from watchfiles' error the directory that holds a name that is not UTF-8; None for any other error."""
    found = _BAD_NAME.search(message)
    if found is None:
        return None
    parts = []
    end = 0
    for escape in _ESCAPE.finditer(found[1]):
        parts += [found[1][end : escape.start()].encode(), _unescape(escape)]
        end = escape.end()
    path = b"".join([*parts, found[1][end:].encode()])
    return path.rpartition(b"/")[0] or b"/"


def _unescape(escape: re.Match[str]) -> bytes:
    byte, point, letter = escape.groups()
    if byte:
        return bytes.fromhex(byte)
    if point:
        return chr(int(point, 16)).encode()
    return _ESCAPED.get(letter, letter.encode())


def serve(
    orders: Iterable[bytes],
    write: Callable[[bytes], None],
    make: Callable[[Sequence[bytes]], Backend] | None = None,
    interval_s: float = INTERVAL_S,
) -> None:
    """Obey the orders until they end. `write` sends reports, from several threads; they do not end with the call."""
    keeper = Keeper(make or partial(Notify, Pace()), write, interval_s=interval_s)
    threading.Thread(target=keeper.run, daemon=True).start()
    watch: set[bytes] = set()
    forget: set[bytes] = set()
    for line in orders:
        match lines.parse_order(line.rstrip(b"\n")):
            case lines.Cookies(path):
                keeper.cookie_directory = path
            case lines.Watch(path):
                watch.add(path)
            case lines.Forget(path):
                forget.add(path)
            case lines.EndOfBatch():
                keeper.tell(watch, forget)
                watch, forget = set(), set()
            case order:
                assert_never(order)


class Out:
    """Write whole blocks of lines to a descriptor, from any thread, one block at a time."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def write(self, block: bytes) -> None:
        """Write all of `block`; blocks while the reader is behind. Ends the process where nobody reads any more."""
        rest = memoryview(block)
        with self._lock:
            while rest:
                try:
                    rest = rest[os.write(self._fd, rest) :]
                except BrokenPipeError:
                    os._exit(0)


def _die_of_bug(args: threading.ExceptHookArgs) -> None:
    """End the process with the traceback: without one of its threads it would be silent; ended, it is begun anew."""
    traceback.print_exception(args.exc_type, args.exc_value, args.exc_traceback)
    os._exit(1)


def main(write: Callable[[bytes], None] | None = None, interval_s: float = INTERVAL_S) -> None:
    """Serve the pipes until stdin ends, then end the process at once: the kernel takes the watches back."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the daemon, which ends us in its own time
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # the daemon may block SIGTERM when it starts us
    threading.excepthook = _die_of_bug
    serve(sys.stdin.buffer, write or Out(sys.stdout.fileno()).write, interval_s=interval_s)
    os._exit(0)


if __name__ == "__main__":
    main()
