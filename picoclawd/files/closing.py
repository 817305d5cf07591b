"""Close a descriptor where an error of close(2) would tell nothing that matters, and must not fail what is done."""

import errno
import os
import queue
import threading

_LATER_MAX = 16  # descriptors that wait to be closed: each is one fewer of those that this process may have
_IDLE_S = 1.0  # then the thread ends


def close(fd: int) -> None:
    """Close a descriptor, once. Whatever had to be durable was synced before.

    Linux has given the descriptor back also where close(2) answers EINTR, EIO, ENOSPC or EDQUOT (its manual page,
    "Dealing with error returns"), so a second try would close somebody else's. EBADF is a bug, and is raised.
    """
    try:
        os.close(fd)
    except OSError as exc:
        if exc.errno == errno.EBADF:
            raise


class Closer:
    """Closes descriptors in a thread, for who has an answer to give meanwhile. Safe between threads.

    The last descriptor of a file that lost its name frees the file's blocks, in close(2), as slowly as an fsync (0.3 ms
    on an ext4 mounted with `discard`): the old version of every file that is replaced. The thread ends when it has had
    nothing to do for a while.
    """

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._lock = threading.Lock()  # of whether there is a thread
        self._runs = False

    def close(self, fd: int) -> None:
        """Close it soon; at once where many wait already."""
        if self._waiting.qsize() >= _LATER_MAX:
            close(fd)
            return
        with self._lock:
            if not self._runs:
                try:
                    threading.Thread(target=self._run, name="closer", daemon=True).start()
                except RuntimeError:  # no room for one more thread
                    close(fd)
                    return
                self._runs = True
            self._waiting.put(fd)

    def _run(self) -> None:
        while True:
            try:
                close(self._waiting.get(timeout=_IDLE_S))
            except queue.Empty:
                with self._lock:
                    if self._waiting.empty():
                        self._runs = False
                        return
