"""An editor that saves as fast as it can and knows which of its saves it has not seen again.

Called with PATH MODE SAVES SECONDS SEED PAUSE.

Each save is the line `save N`, which others may write before, with N going up. MODE is how:

- `exchange`: a new file takes the name, by an exchange, which is a rename that shows what it replaced. Where that is
  no save of ours, it was made from one: if not from the save before this one, that one is missed.
- `in-place`: the file is opened, cut and written; `slow-in-place` holds it open for a while. Some saves later the
  file has to have a name still, or to have been written to again: else the save in it is missed.

It ends after so many saves or seconds; PAUSE is the longest pause between two, in seconds, most are far shorter. It
prints JSON: {"saves": n, "missed": [numbers]}. A missed save is lost unless somebody else has it: whoever replaced it,
having read it, or whoever keeps what could not be put back.
"""

import json
import os
import random
import re
import sys
import time
from collections import deque

from picoclawd.files import linux

HELD_OPEN_S = 0.003
LOOK_BACK = 20  # saves: until then whoever swapped the file has put it back or dropped it
SAVED = re.compile(rb"save (\d+)\n")


class Exchanging:
    """Saves by exchange."""

    def __init__(self, path: str) -> None:
        folder, name = os.path.split(path)
        self._dir_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._name, self._beside = name.encode(), f"{name}~".encode()

    def save(self, number: int, missed: set[int]) -> None:
        """Save. The save before this one is missed where it is not what this one replaced."""
        fd = os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, dir_fd=self._dir_fd)
        with open(fd, "wb") as file:
            file.write(b"save %d\n" % number)
        linux.rename_exchange(self._dir_fd, self._beside, self._dir_fd, self._name)
        with open(os.open(self._beside, os.O_RDONLY, dir_fd=self._dir_fd), "rb") as file:
            found = SAVED.search(file.read())
        os.unlink(self._beside, dir_fd=self._dir_fd)
        missed.add(number - 1)
        if found is not None:
            missed.discard(int(found[1]))  # also one that was missed, was put back, and is now replaced by this one

    def rest(self, missed: set[int]) -> None:
        """Do nothing: all saves but the last have been looked for."""


class InPlace:
    """Saves into the file that is there."""

    def __init__(self, path: str, held_open_s: float) -> None:
        self._path, self._held_open_s = path, held_open_s
        self._looked_after: deque[tuple[int, int]] = deque()  # number, O_PATH descriptor: it is no writer

    def save(self, number: int, missed: set[int]) -> None:
        """Save. Some saves later this one is missed where its file has no name any more."""
        fd = os.open(self._path, os.O_WRONLY | os.O_TRUNC)
        try:
            if self._held_open_s:
                time.sleep(self._held_open_s)
            os.write(fd, b"save %d\n" % number)
            pin = os.open(f"/proc/self/fd/{fd}", os.O_PATH)
        finally:
            os.close(fd)
        if self._looked_after and os.path.sameopenfile(self._looked_after[-1][1], pin):
            os.close(self._looked_after.pop()[1])  # written over by this save
        self._looked_after.append((number, pin))
        while len(self._looked_after) > LOOK_BACK:
            self._look(missed)

    def rest(self, missed: set[int]) -> None:
        """Look at what is left, but for the last save."""
        while len(self._looked_after) > 1:
            self._look(missed)

    def _look(self, missed: set[int]) -> None:
        number, pin = self._looked_after.popleft()
        if os.fstat(pin).st_nlink == 0:
            missed.add(number)
        os.close(pin)


def main(path: str, mode: str, saves: int, seconds: float, seed: int, pause_max_s: float) -> None:
    """Save until enough was saved."""
    dice = random.Random(seed)
    editor = Exchanging(path) if mode == "exchange" else InPlace(path, HELD_OPEN_S if mode.startswith("slow") else 0)
    missed: set[int] = set()
    end, number = time.monotonic() + seconds, 0
    while number < saves and time.monotonic() < end:
        number += 1
        editor.save(number, missed)
        pause = dice.random() ** 4 * pause_max_s
        if pause > pause_max_s / 10:
            time.sleep(pause)
    editor.rest(missed)
    print(json.dumps({"saves": number, "missed": sorted(missed)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6]))
