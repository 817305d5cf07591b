"""Every bar of the benchmarks, one after the other: `python contrib/bench`. Exits 1 where a must is missed.

With `--search` also the search benchmark, which takes minutes; run it alone (`contrib/bench/search`) for its options.
"""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = (
    "rpc.py",
    "reads.py",
    "writes.py",
    "history.py",
    "documents.py",
    "start.py",
    "hostile.py",
    "bridge.py",
    "page.py",
    "editors.py",
)
SEARCH = "search"


def main() -> int:
    """Run each benchmark in a process of its own."""
    missed = 0
    for name in (*BENCHMARKS, SEARCH) if "--search" in sys.argv[1:] else BENCHMARKS:
        print(f"== {name}", flush=True)
        missed += subprocess.run([sys.executable, str(Path(__file__).parent / name)]).returncode != 0
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
