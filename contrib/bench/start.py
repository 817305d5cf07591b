"""Start-up and memory: `python contrib/bench/start.py`. Start to first answer against a bare `import trio`, in turn."""

import statistics
import subprocess
import sys
import time

from harness import Bars, median_ms, scratch_daemon, timed

ROUNDS = 7


def start_s() -> float:
    """Seconds from spawning the daemon to its first answer."""
    started = time.perf_counter()
    with scratch_daemon():
        return time.perf_counter() - started


def bare_s() -> float:
    """Seconds of a Python that imports trio."""
    return timed(lambda: subprocess.run([sys.executable, "-c", "import trio"], check=True))


def main() -> int:
    """Run, print, and return 0 where every must is held."""
    bars = Bars()
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(ROUNDS):
        bare.append(bare_s())
        ours.append(start_s())
    print(f"     import trio {median_ms(bare):.0f} ms, start to first answer {median_ms(ours):.0f} ms")
    ratio = statistics.median(ours) / statistics.median(bare)
    bars.at_most("start to first answer / python -c 'import trio'", ratio, must=5)
    with scratch_daemon() as daemon:
        client = daemon.client()
        for number in range(200):
            client.call("write_file", path=f"{number}.txt", content="x" * 4096)
            client.call("read_file", path=f"{number}.txt")
        bars.at_most("resident memory after 200 writes and reads", daemon.resident_mb(), must=60, unit="MB")
    return bars.exit_status()


if __name__ == "__main__":
    sys.exit(main())
