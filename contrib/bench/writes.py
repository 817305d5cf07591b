"""Durable edits against the raw sequence they cannot do without, side by side: `python contrib/bench/writes.py`.

Raw: write a 4 KiB temporary file, fsync it, rename it over the old one, fsync the directory. Ours: edit_file over the
socket, which also reads, matches, diffs, guards against other programs' saves and reads back. BENCH_DIR chooses the
file system.
"""

import os
import pathlib
import statistics
import sys
import threading
import time

from harness import Bars, Scratch, median_ms, scratch_daemon, timed

ROUNDS = 200
THROUGHPUT_S = 3.0
NO_HISTORY = {"daemon.history": {"max_bytes": 0}}
LINES = 128  # of 32 bytes: 4 KiB


def text(number: int) -> str:
    """4 KiB with one line that changes."""
    return f"number {number:08} ".ljust(31) + "\n" + ("x" * 31 + "\n") * (LINES - 1)


class RawFile:
    """The raw sequence on one file."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        self._number = 0

    def save(self) -> None:
        """Make the next version durable."""
        self._number += 1
        fd = os.open("raw.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=self._fd)
        os.write(fd, text(self._number).encode())
        os.fsync(fd)
        os.close(fd)
        os.rename("raw.tmp", "raw.txt", src_dir_fd=self._fd, dst_dir_fd=self._fd)
        os.fsync(self._fd)


class EditedFile:
    """edit_file on one file, over a connection of its own."""

    def __init__(self, daemon: Scratch, name: str) -> None:
        self._client = daemon.client()
        self._name = name
        self.number = 0
        (daemon.root / name).write_text(text(0))

    def edit(self) -> None:
        """Make the next version durable."""
        old, new = f"number {self.number:08}", f"number {self.number + 1:08}"
        self._client.call("edit_file", path=self._name, old_text=old, new_text=new)
        self.number += 1

    def edit_until(self, end: float) -> None:
        """Edit as fast as answers come."""
        while time.perf_counter() < end:
            self.edit()


def throughput(files: list[EditedFile]) -> float:
    """Edits a second of all files together, a thread each."""
    before = sum(file.number for file in files)
    end = time.perf_counter() + THROUGHPUT_S
    threads = [threading.Thread(target=file.edit_until, args=(end,)) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (sum(file.number for file in files) - before) / THROUGHPUT_S


def compare(bars: Bars, daemon: Scratch, name: str, must: float) -> EditedFile:
    """One client, in turn with the raw sequence."""
    raw, edited = RawFile(daemon.root), EditedFile(daemon, "one.txt")
    raw_s: list[float] = []
    edit_s: list[float] = []
    for _ in range(ROUNDS):
        raw_s.append(timed(raw.save))
        edit_s.append(timed(edited.edit))
    print(f"     raw sequence p50 {median_ms(raw_s):.2f} ms, edit_file p50 {median_ms(edit_s):.2f} ms")
    bars.at_most(name, statistics.median(edit_s) / statistics.median(raw_s), must=must)
    return edited


def main() -> int:
    """Run, print, and return 0 where every must is held."""
    bars = Bars()
    with scratch_daemon(NO_HISTORY) as daemon:
        compare(bars, daemon, "durable edit_file p50 / raw sequence p50", must=3)
    with scratch_daemon() as daemon:
        edited = compare(bars, daemon, "the same, with the history", must=4)
        one = throughput([edited])
        eight = throughput([EditedFile(daemon, f"{number}.txt") for number in range(8)])
        print(f"     edits a second: one client {one:.0f}, eight clients on eight files {eight:.0f}")
        bars.at_least("8 clients on 8 files / one client, edits a second", eight / one, must=2)
    return bars.exit_status()


if __name__ == "__main__":
    sys.exit(main())
