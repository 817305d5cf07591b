"""Cookies: files that are made only to see their event come, and with it the end of all that happened before.

The order of inotify(7) makes it true: events of one queue come in the order in which they happened.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from picoclawd.files.threads import Lane, Threads

COOKIE_WAIT_S = 0.1  # a query that waits longer had better verify: that takes 190 ms for 78,600 files
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class CookieDirectory:
    """The directory where cookies are made: its absolute path, for the watcher, and a way to open it, for us.

    `open_directory` makes the directory where it is missing, follows no link, and returns a descriptor, which is ours
    from then on; it raises OSError where there can be none.
    """

    def __init__(self, path: bytes, open_directory: Callable[[], int]) -> None:
        self.path = path
        self._open_directory = open_directory
        self._lock = threading.Lock()  # a descriptor that is closed must not be used by the thread of a late cookie
        self._fd = -1

    def open(self) -> bool:
        """Open the directory anew; False where it cannot be had. Blocking."""
        self.close()
        try:
            fd = self._open_directory()
        except OSError:
            return False
        with self._lock:
            self._fd = fd
        return True

    def drop(self, number: int) -> None:
        """Make the file of this number and remove it: its event is in the queue from then on. Blocking.

        Raises: OSError: FileNotFoundError where the directory has been removed, EBADF where it is not open.
        """
        name = b"%d" % number
        with self._lock:
            os.close(os.open(name, _FLAGS, 0o600, dir_fd=self._fd))
            os.unlink(name, dir_fd=self._fd)

    def close(self) -> None:
        """Close the descriptor, if it is open."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = -1


@dataclass(eq=False, slots=True)
class _Cookie:
    settled: trio.Event = field(default_factory=trio.Event)
    seen: bool = False


class Cookies:
    """Let callers wait for a cookie, and share one: any that is made after they asked is as good as their own."""

    def __init__(self, threads: Threads, directory: CookieDirectory) -> None:
        self.directory = directory
        self._threads = threads
        self._number = 0
        self._next: _Cookie | None = None  # asked for and not yet being made: to be joined
        self._afloat: dict[int, _Cookie] = {}
        self._making = trio.Lock()

    async def ask(self) -> bool:
        """Wait for a cookie that is made from now on; True when it came within 100 ms.

        Raises: FileNotFoundError where the directory of the cookies has been removed.
        """
        with trio.move_on_after(COOKIE_WAIT_S):
            if self._next is not None:
                cookie = self._next
                await cookie.settled.wait()
                return cookie.seen
            return await self._lead(_Cookie())
        return False

    async def _lead(self, cookie: _Cookie) -> bool:
        self._next = cookie
        number = 0
        try:
            async with self._making:
                self._next = None
                number = self._number = self._number + 1
                self._afloat[number] = cookie
                await self._threads.run(Lane.READ, self.directory.drop, number)
            await cookie.settled.wait()
            return cookie.seen
        except FileNotFoundError:
            raise
        except OSError:
            return False  # a full disk, a closed directory: no cookie, so the caller verifies
        finally:
            if self._next is cookie:
                self._next = None
            self._afloat.pop(number, None)
            cookie.settled.set()

    def saw(self, number: int) -> None:
        """Settle this cookie and those before it. Raises: ValueError for one that has not been made: not our file."""
        if number > self._number:
            raise ValueError(f"a file {number} that is no cookie")
        for each in [each for each in self._afloat if each <= number]:
            cookie = self._afloat.pop(each)
            cookie.seen = True
            cookie.settled.set()

    def give_up(self) -> None:
        """Settle all cookies as not seen: there is nobody who would see them."""
        while self._afloat:
            self._afloat.popitem()[1].settled.set()
