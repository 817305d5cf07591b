"""The record of changes: `python contrib/bench/history.py`. 100,000 versions are made first, which takes a minute.

Prints what file_history costs on them, what they cost at start, how large the store is, how many edits share an fsync,
and how long an event takes to 32 subscribers while 8 clients write.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial

from harness import Bars, Client, Scratch, median_ms, scratch_daemon, timed

from picoclawd.history.records import Author, Intent, Outcome
from picoclawd.history.store import History

VERSIONS = 100_000
PATHS = 1_000
ASKED = 300
SUBSCRIBERS = 32
WRITERS = 8
WRITING_S = 4.0


def recorded(directory: pathlib.Path) -> History:
    """A store with many versions, a hundred of each path, as eight sessions make them."""
    history = History(str(directory))
    before: dict[int, bytes] = {}

    def make(session: int) -> None:
        for number in range(session, VERSIONS, WRITERS):
            path, after = number % PATHS, f"content {number}\n".encode()
            author = Author(f"s-{session}", "bench", "edit_file", f"t-{number % 97}", "to make many versions")
            intent = Intent(b"dir/file%d.txt" % path, "modify", before.get(path), after, author)
            history.finish(history.begin(intent).version, Outcome("applied"))
            before[path] = after

    threads = [threading.Thread(target=make, args=(session,)) for session in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return history


def start_s(state: pathlib.Path) -> float:
    """Seconds from the start to the first answer of a daemon with this state directory."""
    started = time.perf_counter()
    with scratch_daemon({"daemon.state_dir": str(state)}):
        return time.perf_counter() - started


def asked(bars: Bars, state: pathlib.Path) -> None:
    """What history costs whoever asks it."""
    with scratch_daemon({"daemon.state_dir": str(state)}) as daemon:
        client = daemon.client()
        times = [
            timed(partial(client.call, "file_history", path=f"dir/file{number % PATHS}.txt")) for number in range(ASKED)
        ]
        bars.at_most(f"file_history of one path of {VERSIONS} versions, p50", median_ms(times), must=5, unit="ms")


def shared(bars: Bars, daemon: Scratch) -> None:
    """Edits that share commits, and events that reach everybody."""
    ears = [Ear(daemon) for _ in range(SUBSCRIBERS)]
    client = daemon.client()
    before = client.call("workspace.status")["data"]["history"]
    end = time.perf_counter() + WRITING_S
    counts = [0] * WRITERS
    sent: dict[str, float] = {}

    def write(number: int) -> None:
        mine = daemon.client()
        while time.perf_counter() < end:
            name = f"w{number}-{counts[number]}.txt"
            mine.call("write_file", path=name, content="x")
            sent[name] = time.perf_counter()
            counts[number] += 1
        mine.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = client.call("workspace.status")["data"]["history"]
    writes = sum(counts)
    bars.at_least("edits that share one fsync of the history", writes / (after["commits"] - before["commits"]), must=3)
    delays = sorted(delay for ear in ears for delay in ear.delays(sent))
    print(f"     {writes} writes, {len(delays)} events, p50 {statistics.median(delays) * 1e3:.1f} ms")
    p99_ms = delays[int(len(delays) * 0.99)] * 1e3
    bars.at_most(f"an event at {SUBSCRIBERS} subscribers, p99 after its answer", p99_ms, must=20, unit="ms")


class Ear:
    """A subscriber in a process of its own, which notes when each event came."""

    def __init__(self, daemon: Scratch) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--listen", daemon.socket], stdout=subprocess.PIPE, stdin=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def delays(self, sent: dict[str, float]) -> list[float]:
        """Seconds from each answer to its event; below 0 is 0: most events are there before the answer."""
        out, _ = self._process.communicate(b"end\n", timeout=60)
        heard = json.loads(out)
        return [max(0.0, heard[name] - at) for name, at in sent.items() if name in heard]


def listen(path: str) -> None:
    """Collect events until standard input ends."""
    client = Client(path)
    client.call("events.subscribe", kinds=["file.changed"])
    print("ready", flush=True)
    heard: dict[str, float] = {}

    def read() -> None:
        while line := client.raw_line():
            heard.setdefault(json.loads(line)["params"].get("path", ""), time.perf_counter())

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    sys.stdin.readline()
    time.sleep(0.5)
    print(json.dumps(heard))
    sys.stdout.flush()
    os._exit(0)


def main() -> int:
    """Run, print, and return 0 where every must is held."""
    bars = Bars()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as directory:
        state, empty = pathlib.Path(directory) / "state", pathlib.Path(directory) / "empty"
        made = recorded(state / "history")
        store = made.statistics()
        print(f"     {VERSIONS} versions: {store.used_bytes / 2**20:.0f} MiB of {store.max_bytes / 2**20:.0f}")
        bars.at_most("the store / its bound", store.used_bytes / store.max_bytes, must=1)
        made.close()
        pairs = [(start_s(empty), start_s(state)) for _ in range(5)]
        ratio = statistics.median(theirs / ours for ours, theirs in pairs)
        bars.at_most("start with these versions / with none", ratio, must=1.2)
        asked(bars, state)
    with scratch_daemon() as daemon:
        shared(bars, daemon)
    return bars.exit_status()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--listen"]:
        listen(sys.argv[2])
    sys.exit(main())
