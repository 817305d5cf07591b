"""A process that forks a child for each line on its standard input: the child records changes until it is killed.

A line is the state directory. The child's pid is printed, then, by the child, a line for each acknowledged intent:
`<version> <path> <sha256 before> <sha256 after>`; then `end` when it has ended.
"""

import hashlib
import os
import sys
import threading

from picoclawd.history.records import Author, Intent, Outcome
from picoclawd.history.store import History

SIZES = (10, 4_000, 4_000, 30_000, 300_000)  # the last is a file beside the database
WRITERS = 3


def keep_changing(history: History, name: str, out: int) -> None:
    """Change one file for ever, saying so after each intent, as a daemon answers its clients."""
    old = f"{name} {os.getpid()}".encode()
    turn = 0
    while True:
        new = os.urandom(SIZES[turn % len(SIZES)])
        begun = history.begin(Intent(name.encode(), "modify", old, new, Author("s", "c", "t", "task", "o")))
        line = f"{begun.version} {name} {hashlib.sha256(old).hexdigest()} {hashlib.sha256(new).hexdigest()}\n"
        os.write(out, line.encode())
        history.finish(begun.version, Outcome("applied"))
        old = new
        turn += 1


def run_child(directory: str) -> None:
    """Record changes from several threads at once."""
    history = History(directory)
    for number in range(WRITERS):
        threading.Thread(target=keep_changing, args=(history, f"file-{number}", 1)).start()
    threading.Event().wait()


def main() -> None:
    """Serve the lines."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            run_child(line.rstrip("\n"))
        print(pid, flush=True)
        os.waitpid(pid, 0)
        print("end", flush=True)


if __name__ == "__main__":
    main()
