"""A process that forks a child for each line on its standard input: the child stops itself, then makes one commit.

A line is JSON: {"folder": path, "action": "replace" | "create" | "append", "new": text}. The child's pid is printed
as soon as it stands still; how it ended (os.waitpid's status) when it has ended.
"""

import json
import os
import signal
import sys

from picoclawd.files import linux, stamps
from picoclawd.files.commit import Target, append, create, replace


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


def main() -> None:
    """Serve the lines."""
    linux.ignore_lease_signal()
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            run_child(order["folder"], order["action"], order["new"])
        os.waitpid(pid, os.WUNTRACED)
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)


if __name__ == "__main__":
    main()
