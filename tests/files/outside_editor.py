"""An editor that saves all the time and watches whether its saves survive: `FOLDER MODE SECONDS`.

MODE is `rename`, `in-place`, or `slow-in-place`, which holds the file open for some milliseconds. Every save raises
the number in the file; as nobody else raises it, a number that stays below the last saved one is a lost save. Prints
JSON: {"saves": n, "lost": n}.
"""

import json
import os
import random
import re
import sys
import time

PAUSE_MAX_S = 0.003  # about the time of one replace: so the two meet at every point of it
PATIENCE_S = 1.0  # a save may be out of sight for the moment that a swap back takes


def number_in(path: str) -> int | None:
    """Read the number, None where the file is being written."""
    with open(path, "rb") as file:
        found = re.match(rb"save (\d+)\n", file.read())
    return int(found[1]) if found else None


def save(path: str, mode: str, number: int) -> None:
    """Save the next number."""
    data = b"save %d\n" % number
    if mode == "rename":
        with open(path + "~", "wb") as file:
            file.write(data)
        os.rename(path + "~", path)
        return
    with open(path, "wb") as file:
        if mode == "slow-in-place":
            time.sleep(0.003)
        file.write(data)


def survives(path: str, number: int) -> bool:
    """Watch until the file shows this save."""
    deadline = time.monotonic() + PATIENCE_S
    while number_in(path) != number:
        if time.monotonic() > deadline:
            return False
    return True


def main(folder: str, mode: str, seconds: float) -> None:
    """Save until the time is over."""
    path = os.path.join(folder, "notes.txt")
    number = lost = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        number += 1
        save(path, mode, number)
        time.sleep(random.random() * PAUSE_MAX_S)
        lost += not survives(path, number)
    print(json.dumps({"saves": number, "lost": lost}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
