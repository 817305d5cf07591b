"""Search beside rg, fd, watchman and the npm MCP filesystem server: `python contrib/bench/search [--tree PATH]`."""

import sys
from pathlib import Path

# A directory that is run is on the path itself; the benchmarks' shared parts lie beside it.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from search.run import main  # noqa: E402  # found on the path of the line above

if __name__ == "__main__":
    sys.exit(main())
