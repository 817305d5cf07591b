"""The service manager that started the daemon: told that it is ready, what it is doing, and that it is alive.

sd_notify(3) and sd_watchdog_enabled(3), by hand: each is a few lines.
"""

import logging
import socket
import time
from collections.abc import Callable, MutableMapping

import trio

from picoclawd.files.locks import LockKey, LockTable
from picoclawd.files.threads import Lane, Threads
from picoclawd.text.display import log_line
from picoclawd.workspace.index import IndexState

# A third of what systemd waits: one sign of life may come late, and one may be lost.
_FEEDINGS = 3
_STATUS_BUSY_S = 1.0  # between two looks at an index that is being built
_STATUS_READY_S = 15.0
_STATUS_MAX_CHARS = 300  # systemctl shows one line
# No file has this key: no device has the number 0.
_LOCK: LockKey = (0, 0, b"watchdog")


class Supervisor:
    """The manager behind NOTIFY_SOCKET, or nobody: then nothing is sent and nothing waited for.

    `watchdog_s` is how long it waits for a sign of life before it kills the daemon; None where it does not.
    """

    def __init__(self, address: str, watchdog_s: float | None, log: logging.Logger) -> None:
        self._address = address
        self._log = log
        self._told = ""
        self.watchdog_s = watchdog_s if address else None

    def notify(self, state: str) -> bool:
        """Send assignments, one a line, such as `READY=1`; False where nobody listens or the message was lost.

        Never waits: a full queue loses the message, as sd_notify(3) allows.
        """
        if not self._address:
            return False
        target = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.sendto(state.encode("utf-8", "backslashreplace"), target)
        except OSError:
            return False
        return True

    def status(self, text: str) -> None:
        """Say what the daemon is doing, where that is news."""
        self._send("", text)

    def ready(self, text: str) -> None:
        """Say that the start, or a reload, is over."""
        self._send("READY=1\n", text)

    def reloading(self) -> None:
        """Say that a reload begins, and when: systemd drops a `ready` that is older than that."""
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send(f"RELOADING=1\nMONOTONIC_USEC={now_us}\n", "reading the configuration again")

    def stopping(self, text: str) -> None:
        """Say that the end begins."""
        self._send("STOPPING=1\n", text)

    async def feed(self, threads: Threads, locks: LockTable) -> None:
        """Give signs of life until cancelled. Each is sent once a lock was had and a thread that commits has run.

        So a loop that stands still, a table of locks that is stuck, and disks that no longer answer a write all end
        in a restart. Lanes with long work (scans, the index, pruning) are left out: that is no fault.
        """
        if self.watchdog_s is None:
            return
        pause_s = self.watchdog_s / _FEEDINGS
        while True:
            with trio.move_on_after(pause_s) as patience:
                async with locks.hold([_LOCK], holder="watchdog"):
                    await threads.run(Lane.COMMIT, _nothing)
            if patience.cancelled_caught:
                self._log.error(
                    "no thread was free to commit for %.1f s: not telling systemd that all is well", pause_s
                )
                continue
            self.notify("WATCHDOG=1")
            await trio.sleep(pause_s)

    async def follow(self, index: Callable[[], IndexState], sessions: Callable[[], int]) -> None:
        """Keep the status line true until cancelled."""
        while self._address:
            now = index()
            self.status(status_line(now, sessions()))
            await trio.sleep(_STATUS_READY_S if _is_whole(now) else _STATUS_BUSY_S)

    def _send(self, state: str, text: str) -> None:
        line = log_line(text)[:_STATUS_MAX_CHARS]
        if state or line != self._told:
            self._told = line
            self.notify(f"{state}STATUS={line}")


def supervisor_of(environ: MutableMapping[str, str], pid: int, log: logging.Logger) -> Supervisor:
    """The manager that the environment names. Its variables are removed, so that no child speaks for us.

    A watchdog that is meant for another process (WATCHDOG_PID) is none of ours.
    """
    address = environ.pop("NOTIFY_SOCKET", "")
    interval_us = environ.pop("WATCHDOG_USEC", "")
    meant_for = environ.pop("WATCHDOG_PID", "")
    watched = interval_us.isascii() and interval_us.isdigit() and int(interval_us) > 0 and meant_for in ("", str(pid))
    usable = address if address.startswith(("/", "@")) else ""
    return Supervisor(usable, int(interval_us) / 1e6 if watched else None, log)


def status_line(index: IndexState, sessions: int) -> str:
    """What `systemctl status` shows of a daemon that serves."""
    if index.reason is not None:
        return f"the index is not whole: {index.reason}"
    if index.state != "ready":
        return "serving; the names of the workspace are being read"
    if not _is_whole(index):
        return f"serving; building the index: {index.done} of {index.total} files"
    return f"ready: {index.files} files in the index, {sessions} {'session' if sessions == 1 else 'sessions'}"


def _is_whole(index: IndexState) -> bool:
    return index.state == "ready" and index.trigrams == "ready" and index.done >= index.total


def _nothing() -> None:
    """Show that a thread runs."""
