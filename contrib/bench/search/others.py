"""What a search means to others: a read by another client meanwhile, and how soon a change by others is seen."""

import os
import shutil
import statistics
import threading
import time
from pathlib import Path

from harness import timed

from search.ours import Ours
from search.trees import Tree, file_of_about

SCANS = 4
SCANNED_FOR = "[q-z]{3}_[0-9]{9}"  # no text that a filter could look for, and nowhere to be found
READ_BYTES = 4096
PAUSE_S = 0.002  # between reads: a client that asks, not one that floods
SEEN_TIMEOUT_S = 5.0


def read_p99_ms(us: Ours, tree: Tree, seconds: float) -> float:
    """The slow end of small reads while four other clients have everything searched, over and over."""
    name = file_of_about(tree, READ_BYTES)
    enough = threading.Event()
    done: list[float] = []
    scanners = [threading.Thread(target=_scan, args=(us, enough, done)) for _ in range(SCANS)]
    for scanner in scanners:
        scanner.start()
    reads: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        reads.append(timed(lambda: us.client.call("read_file", path=name, mode="bytes", length=READ_BYTES)))
        time.sleep(PAUSE_S)
    enough.set()
    for scanner in scanners:
        scanner.join()
    print(
        f"     {len(reads)} reads of {name}: median {statistics.median(reads) * 1e3:.2f} ms, "
        f"longest {max(reads) * 1e3:.1f} ms; {len(done)} scans of {statistics.median(done):.2f} s",
        flush=True,
    )
    return _p99(reads) * 1e3


def _scan(us: Ours, enough: threading.Event, done: list[float]) -> None:
    own = Ours(us.daemon, 0)
    while not enough.is_set():
        done.append(timed(lambda: own.files_with(SCANNED_FOR, "watched")))
    own.client.close()


def change_p99_ms(us: Ours, tree: Tree, changes: int) -> float:
    """From the close of a file that was made or written anew to an answer that shows it, in a directory of its own."""
    directory = tree.root / f"picoclawd-bench-{os.getpid()}"
    directory.mkdir()
    try:
        took = [_seen_after_s(us, directory, number) for number in range(changes)]
    finally:
        shutil.rmtree(directory)
    print(f"     {changes} changes: seen after {statistics.median(took) * 1e3:.2f} ms, median", flush=True)
    return _p99(took) * 1e3


def _seen_after_s(us: Ours, directory: Path, number: int) -> float:
    word = f"word_{number}_of_the_bench"
    (directory / f"{number // 2}.c").write_text(f"{word}\n")
    begun = time.perf_counter()
    found = False
    while not found and time.perf_counter() - begun < SEEN_TIMEOUT_S:
        answer = us.client.call("search_files", pattern=word, path=directory.name, limit=1, consistency="watched")
        found = bool(answer["data"]["results"])
    return time.perf_counter() - begun


def _p99(samples: list[float]) -> float:
    return sorted(samples)[int(len(samples) * 0.99)]
