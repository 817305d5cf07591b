"""A child of the watcher with a fault: `python faulty_child.py MODE [INTERVAL_S]`.

`sound` has none, `silent` tells no hint, `half` one of two, by chance, `twice` each one two times; cookies and
all else are told as they are, so that the watcher believes that it knows.
"""

import random
import sys

from picoclawd.index import watcher_child
from picoclawd.index.watcher_keeper import INTERVAL_S

_CHANCE = random.Random(1)  # turn and turn about would drop each directory and tell each file


def faulty(mode: str, block: bytes) -> bytes:
    """Say what a child with this fault would write in place of a block of lines."""
    return b"".join(line * _copies(mode, line) for line in block.splitlines(keepends=True))


def _copies(mode: str, line: bytes) -> int:
    if mode == "sound" or not line.startswith((b"dirty ", b"touched ")):
        return 1
    return {"silent": 0, "half": _CHANCE.randrange(2), "twice": 2}[mode]


if __name__ == "__main__":
    out = watcher_child.Out(sys.stdout.fileno())
    interval_s = float(sys.argv[2]) if len(sys.argv) > 2 else INTERVAL_S
    watcher_child.main(lambda block: out.write(faulty(sys.argv[1], block)), interval_s)
