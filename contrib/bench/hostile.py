"""Searches that never end by themselves, over the socket: `python contrib/bench/hostile.py`. Takes two minutes.

By how much an answer comes after the deadline, how long a cancelled search takes to answer, and what another client's
reads take meanwhile. The text and the patterns are such that RE2 builds new states without end, or falls back on its
slowest engine.
"""

import json
import pathlib
import random
import statistics
import sys
import time
from dataclasses import dataclass, field

from harness import Bars, Client, Scratch, median_ms, scratch_daemon, timed

DEADLINE_S = {"search_files": 10.0, "find_files": 30.0}
FILES, LINES, WIDTH = 150, 200, 1000
PATTERNS = {
    "states without end": "[ab]*a[ab]{200}c",
    "few instructions": r"x.{20}z|[ab]*a[ab]{30}c",
    "many instructions": "(a|b)*a(a|b){500}c|[^c]{1000}d",
}
CANCELLED = 15  # searches for each pattern
LET_RUN_S = 0.3


@dataclass
class Measured:
    """Seconds: past the deadline, from a cancellation to the answer, and of reads meanwhile."""

    overshoots: list[float] = field(default_factory=list)
    cancels: list[float] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)


def fill(root: pathlib.Path) -> None:
    """Text that holds the first letters of every pattern's end, so that no filter leaves a file out."""
    dice = random.Random(1)
    for number in range(FILES):
        letters = format(dice.getrandbits(LINES * WIDTH), f"0{LINES * WIDTH}b").translate({48: "a", 49: "b"})
        lines = [letters[start : start + WIDTH] for start in range(0, len(letters), WIDTH)]
        (root / f"{number}.txt").write_text("\n".join(["x c z d", *lines]))
    (root / "small.txt").write_text("x\n")


def request(tool: str, pattern: str) -> bytes:
    """The line of one search, with id 7."""
    queries = [{"pattern": pattern, "file_pattern": "*"}]
    params = {"pattern": pattern} if tool == "search_files" else {"queries": queries}
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": tool, "params": params}).encode() + b"\n"


def past_deadline(client: Client, tool: str, pattern: str) -> float:
    """By how much the answer comes after the deadline."""
    answer: dict[str, object] = {}
    seconds = timed(lambda: answer.update(json.loads(client.raw(request(tool, pattern)))))
    result = answer["result"]
    assert isinstance(result, dict)
    if result["data"]["complete"]:
        raise SystemExit(f"{tool}: the search for {pattern} ended by itself after {seconds:.1f} s")
    return seconds - DEADLINE_S[tool]


def cancelled(client: Client, tool: str, pattern: str, reader: Client, reads: list[float]) -> float:
    """From the cancellation to the answer; another client reads until then."""
    client.send(request(tool, pattern))
    end = time.perf_counter() + LET_RUN_S
    while time.perf_counter() < end:
        reads.append(timed(lambda: reader.call("read_file", path="small.txt")))
    return timed(lambda: client.raw(b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}\n'))


def measure(daemon: Scratch) -> Measured:
    """Every pattern with search_files, and the cancellation with both tools."""
    measured = Measured()
    client, reader = daemon.client(), daemon.client()
    for name, pattern in PATTERNS.items():
        overshoot = past_deadline(client, "search_files", pattern)
        print(f"     search_files, {name}: answered {overshoot * 1e3:.0f} ms after the deadline", flush=True)
        measured.overshoots.append(overshoot)
        for tool in DEADLINE_S:
            cancels = [cancelled(client, tool, pattern, reader, measured.reads) for _ in range(CANCELLED)]
            told = f"median {median_ms(cancels):.0f} ms, worst {max(cancels) * 1e3:.0f} ms"
            print(f"     {tool}, {name}: cancelled, {told}", flush=True)
            measured.cancels += cancels
    return measured


def main() -> int:
    """Run, print, and return 0 where every must is held."""
    bars = Bars()
    with scratch_daemon() as daemon:
        fill(daemon.root)
        measured = measure(daemon)
    bars.at_most("hostile search, worst time past its deadline", max(measured.overshoots) * 1e3, must=250, unit="ms")
    bars.at_most("cancelled search answers, median", median_ms(measured.cancels), must=100, unit="ms")
    bars.at_most("cancelled search answers, worst", max(measured.cancels) * 1e3, must=100, unit="ms")
    p99 = statistics.quantiles(measured.reads, n=100)[98] * 1e3
    bars.at_most("another client's read meanwhile, p99", p99, must=30, unit="ms")
    print(f"     of {len(measured.reads)} reads, p50 {median_ms(measured.reads):.2f} ms", flush=True)
    return bars.exit_status()


if __name__ == "__main__":
    sys.exit(main())
