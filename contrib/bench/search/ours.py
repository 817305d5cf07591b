"""The daemon as the benchmark calls it: on a tree, warm, with the questions that the rivals are asked too."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

from harness import Client, Scratch, scratch_daemon

Consistency = Literal["watched", "verified"]

ROOMY_BYTES = 4 << 30  # more than any tree that this is run on
READY_TIMEOUT_S = 180.0
STILL_S = 2.0  # an index that says the same for so long has come as far as it will
NOWHERE = "zzz[wW]arm"  # a pattern that looks at everything and finds nothing


@dataclass(frozen=True)
class Readiness:
    """When an index had its names and its trigrams, in seconds from the daemon's start; None: not within the time."""

    names_s: float | None
    trigrams_s: float | None


class Ours:
    """One client of a daemon."""

    def __init__(self, daemon: Scratch, started: float) -> None:
        self.daemon = daemon
        self.client: Client = daemon.client()
        self._started = started
        self._asked = count()

    def index(self) -> dict[str, Any]:
        """What the daemon says of its index; empty where it says nothing."""
        data = self.client.call("workspace.status")["data"]
        found = data.get("index") or {}
        assert isinstance(found, dict)
        return found

    def wait(self) -> Readiness:
        """Wait until the index is as ready as it gets."""
        names_s = trigrams_s = None
        said: dict[str, Any] = {}
        end = time.perf_counter() + READY_TIMEOUT_S
        still_since = time.perf_counter()
        while trigrams_s is None and time.perf_counter() < end:
            now, before = self.index(), said
            passed = time.perf_counter() - self._started
            if now.get("state") == "ready" and names_s is None:
                names_s = passed
            if now.get("trigrams") == "ready":
                trigrams_s = passed
            said = now
            if now != before or "building" in (now.get("state"), now.get("trigrams")):
                still_since = time.perf_counter()
            elif not now or time.perf_counter() - still_since > STILL_S:
                break
            time.sleep(0.01 if names_s is None else 0.05)
        print(f"     index after {time.perf_counter() - self._started:.1f} s: {said}", flush=True)
        return Readiness(names_s, trigrams_s)

    def warm(self) -> None:
        """Look at every text once."""
        self.files_with(NOWHERE, "watched")

    def files_with(self, pattern: str, consistency: Consistency) -> int:
        """How many files match, all counted exactly; -1 where the daemon gave up before it knew."""
        query = {"dir": ".", "pattern": pattern, "file_pattern": "**/*"}
        # `context` changes nothing where files are listed, but no answer that was kept fits the question.
        data = self.client.call(
            "find_files", queries=[query], limit=1, consistency=consistency, context=next(self._asked) % 20
        )["data"]
        return int(data["total"]) if data["complete"] else -1

    def first_page(self, pattern: str) -> None:
        """The first 50 matching lines."""
        self.client.call("search_files", pattern=pattern, limit=50, consistency="watched")

    def names(self, form: str, consistency: Consistency) -> None:
        """The first 50 files whose path matches, and how many there are."""
        self.client.call("search_files", target="files", pattern=form, limit=50, consistency=consistency)

    def lines(self, pattern: str) -> set[tuple[str, int]]:
        """Each matching line as (path, number)."""
        query = {"dir": ".", "pattern": pattern, "file_pattern": "**/*"}
        found: set[tuple[str, int]] = set()
        offset: int | None = 0
        while offset is not None:
            data = self.client.call("find_files", queries=[query], output="content", limit=1000, offset=offset)["data"]
            found |= {(row["path"], row["line"]) for row in data["results"]}
            offset = data["next_offset"]
        return found


@contextmanager
def ours(root: Path, text_bytes: int = ROOMY_BYTES) -> Iterator[Ours]:
    """Start a daemon on a tree, with this much room for text."""
    config = {
        "daemon.text_cache_bytes": text_bytes,
        "tools.search_files.scan_max_files": 10**7,
        "tools.search_files.scan_max_bytes": 1 << 40,
        "tools.max_inline_result_chars": 1 << 30,  # a longer answer would be written into the tree
    }
    started = time.perf_counter()
    with scratch_daemon(config, root) as daemon:
        asking = Ours(daemon, started)
        try:
            yield asking
        finally:
            asking.client.close()
