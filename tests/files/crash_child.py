"""The children of `crashes.serve` that make one commit: `action` is "replace", "create" or "append"."""

import os
import signal

from picoclawd.files import linux, stamps
from picoclawd.files.commit import Target, append, create, replace
from tests.crashes import serve


def make_commit(fd: int, action: str, new: bytes) -> None:
    """Make the commit on `notes.txt`."""
    target = Target(fd, b"notes.txt", "notes.txt")
    if action == "create":
        create(target, new, 0o640)
        return
    expected = stamps.of(os.stat("notes.txt", dir_fd=fd, follow_symlinks=False))
    if action == "append":
        append(target, new, expected=expected, create_mode=0o640, refuse_hardlinks=True)
    else:
        replace(target, new, expected, old=None)


def run_child(folder: str, action: str, new: str) -> None:
    """Stand still until somebody lets it go on, commit, and end without any cleaning up."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.kill(os.getpid(), signal.SIGSTOP)
    make_commit(fd, action, new.encode())
    os._exit(0)


if __name__ == "__main__":
    linux.ignore_lease_signal()
    serve(run_child)
