"""read_file over the socket against what it cannot do without, side by side: `python contrib/bench/reads.py`.

Cached: a bare trio echo that sends back as many bytes. Uncached: the same, plus one empty thread hop, plus open, read
and close of the file. Uncached means that another program has rewritten the file before each read.
"""

import os
import pathlib
import statistics
import sys
import tempfile
import time
from functools import partial

import trio
from harness import Bars, Scratch, scratch_daemon, timed
from rpc import CALLS, ROUNDS, Target, latency_us, started

TEXT = "def work(number):\n    return number + 1  # the next one\n" * 75  # 4 KiB
UNCACHED = 200  # files, each read once
SETTLED_S = 0.5  # after they were written: what the watcher makes of 200 new files is not a read's cost


def request(name: str) -> bytes:
    """The line of one call."""
    return b'{"jsonrpc":"2.0","id":1,"method":"read_file","params":{"path":"' + name.encode() + b'"}}\n'


def bare_read_us(directory: pathlib.Path) -> float:
    """The median of open, read and close of a file that was not read before."""
    names = _files(directory, "bare")

    def read_one(name: str) -> None:
        fd = os.open(directory / name, os.O_RDONLY)
        os.read(fd, 65536)
        os.close(fd)

    return median_us([timed(partial(read_one, name)) for name in names])


def hop_us() -> float:
    """The median of one empty hop into a thread and back."""

    async def hops() -> list[float]:
        times = []
        for _ in range(CALLS):
            start = time.perf_counter()
            await trio.to_thread.run_sync(int)
            times.append(time.perf_counter() - start)
        return times

    return median_us(trio.run(hops))


def uncached_us(daemon: Scratch) -> float:
    """The median of reads of files that the daemon has not seen before."""
    client = daemon.client()
    client.call("ping")
    times = [timed(partial(client.raw, request(name))) for name in _files(daemon.root, "uncached")]
    client.close()
    return median_us(times)


def median_us(samples: list[float]) -> float:
    """The median of seconds, in microseconds."""
    return statistics.median(samples) * 1e6


def _files(directory: pathlib.Path, stem: str) -> list[str]:
    names = [f"{stem}{number}.txt" for number in range(UNCACHED)]
    for name in names:
        (directory / name).write_text(TEXT)
    time.sleep(SETTLED_S)
    return names


def main() -> int:
    """Run, print, and return 0 where every must is held."""
    bars = Bars()
    with scratch_daemon() as daemon, tempfile.TemporaryDirectory() as directory, started("echo", directory) as path:
        (daemon.root / "cached.txt").write_text(TEXT)
        client = daemon.client()
        answer = client.raw(request("cached.txt"))
        echo = Target(path, b"x" * (len(answer) - 1) + b"\n")
        ours = Target(daemon.socket, request("cached.txt"))
        pairs = [(latency_us(echo), latency_us(ours)) for _ in range(ROUNDS)]
        echo_us = statistics.median(pair[0] for pair in pairs)
        print(f"     echo of {len(answer)} bytes p50 {echo_us:.0f} us")
        print(f"     cached read_file p50 {statistics.median(pair[1] for pair in pairs):.0f} us")
        ratio = statistics.median(theirs / ours for ours, theirs in pairs)
        bars.at_most("4 KiB read_file, cached and fresh / echo", ratio, must=3.5)
        floors, reads = [], []
        for _ in range(5):
            floors.append(latency_us(echo) + hop_us() + bare_read_us(daemon.root))
            reads.append(uncached_us(daemon))
        print(f"     echo + hop + open, read, close {statistics.median(floors):.0f} us")
        print(f"     uncached read_file p50 {statistics.median(reads):.0f} us")
        ratio = statistics.median(read / floor for read, floor in zip(reads, floors, strict=True))
        bars.at_most("4 KiB read_file, uncached / (echo + hop + open, read, close)", ratio, must=1.5)
    return bars.exit_status()


if __name__ == "__main__":
    sys.exit(main())
