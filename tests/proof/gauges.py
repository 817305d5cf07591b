"""What a daemon holds, measured from outside: its /proc, its children's, its directories, and what it says of itself.

`Rest` is what must be the same whenever nothing goes on; memory is apart, as it is compared over time.
"""

import os
import re
import sqlite3
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.daemon import Client

MIB = 1 << 20
# Connections that read the history are kept while idle: so many, and the writer's, and one that SQLite closes later.
HISTORY_CONNECTIONS_MAX = 6
# Threads that wait for work keep trio's name for them, and end after ten seconds without any.
_IDLE_THREAD = "Trio thread"
_SETTLE_S = 3.0  # some threads of its own end after a second without work, as that which closes old versions
_IDLE_GAUGES = ("locks_held", "lock_waiters", "approvals_pending", "history_waiting", "threads_waiting")
_STEADY_GAUGES = ("connections", "sessions", "subscriptions", "watcher_ok", "watcher_starts_total", "history_ok")


@dataclass(frozen=True)
class Rest:
    """What is held where nothing goes on. `descriptors` are by what they are of, but for the history's readers."""

    descriptors: dict[str, int]
    threads: int
    children: dict[str, int]
    gauges: dict[str, float]
    temporaries: tuple[str, ...]
    open_intents: int

    def differences(self, before: "Rest") -> list[str]:
        """What is not as it was, in words."""
        found = []
        for name in ("threads", "temporaries", "open_intents"):
            old, new = getattr(before, name), getattr(self, name)
            if old != new:
                found.append(f"{name}: {old} then, {new} now")
        for name in ("descriptors", "children", "gauges"):
            old, new = getattr(before, name), getattr(self, name)
            changed = [key for key in sorted({*old, *new}) if old.get(key, 0) != new.get(key, 0)]
            found += [f"{name}, {key}: {old.get(key, 0)} then, {new.get(key, 0)} now" for key in changed]
        return found


@dataclass(frozen=True)
class Sample:
    """One look. Bytes are anonymous memory: what it has allocated itself. `history` counts descriptors of its files."""

    at_s: float
    rest: Rest
    memory: dict[str, int]
    idle_threads: int
    history: dict[str, int]
    cpu_s: float

    @property
    def quiet(self) -> bool:
        """Whether nothing goes on."""
        return not (any(self.rest.gauges[name] for name in _IDLE_GAUGES) or self.rest.open_intents)


@dataclass
class Gauges:
    """Looks at one daemon. `operator` is a connection of its own, which counts among what is held."""

    pid: int
    places: tuple[Path, ...]
    operator: Client
    began_s: float = field(default_factory=time.monotonic)

    def look(self) -> Sample:
        """Measure once."""
        said = self._said()
        descriptors, history = _descriptors(self.pid)
        threads, idle = _threads(self.pid)
        children = _children(self.pid)
        rest = Rest(
            descriptors=descriptors,
            threads=threads,
            children=dict(Counter(_name(pid) for pid in children))
            | {f"{_name(pid)} descriptors": sum(_descriptors(pid)[0].values()) for pid in children},
            gauges={name: said[name] for name in (*_IDLE_GAUGES, *_STEADY_GAUGES)},
            temporaries=tuple(_temporaries(self.places)),
            open_intents=self._open_intents(),
        )
        memory = {"daemon": _anonymous_bytes(self.pid)} | {_name(pid): _anonymous_bytes(pid) for pid in children}
        return Sample(time.monotonic() - self.began_s, rest, memory, idle, history, said["cpu_seconds_total"])

    def settled(self, deadline_s: float, before: Rest | None = None) -> Sample:
        """Look until nothing goes on and all is as it was, or, where there is no before, the same for some seconds.

        Past the deadline it is the last look, whatever that saw.
        """
        began = time.monotonic()
        wanted, wanted_at = before, began - _SETTLE_S
        while True:
            sample, now = self.look(), time.monotonic()
            if before is None and sample.rest != wanted:
                wanted, wanted_at = sample.rest, now
            settled = sample.quiet and sample.rest == wanted and now - wanted_at >= _SETTLE_S
            if settled or now - began > deadline_s:
                return sample
            time.sleep(0.5)

    def threads_gone(self, deadline_s: float) -> int:
        """Wait until the threads that are kept for more work have ended; how many are left."""
        end = time.monotonic() + deadline_s
        while (idle := _threads(self.pid)[1]) and time.monotonic() < end:
            time.sleep(0.2)
        return idle

    def _said(self) -> dict[str, float]:
        """The daemon's own metrics, each family summed over its labels."""
        said: dict[str, float] = {}
        for line in self.operator.call("metrics")["content"].splitlines():
            match = re.fullmatch(r"picoclawd_(\w+)(?:\{.*\})? (\S+)", line)
            if match:
                said[match[1]] = said.get(match[1], 0) + float(match[2])
        return said

    def _open_intents(self) -> int:
        (path,) = (found for place in self.places for found in place.rglob("history.db"))
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10) as db:
            (count,) = db.execute("SELECT count(*) FROM versions WHERE state = 'intent'").fetchone()
        db.close()
        return int(count)


def slope_mib_per_h(points: list[tuple[float, int]]) -> float:
    """The Theil-Sen slope of (seconds, bytes): the median of all pairs', which single points do not move."""
    slopes = sorted(
        (later - earlier) / (then - first)
        for index, (first, earlier) in enumerate(points)
        for then, later in points[index + 1 :]
    )
    if not slopes:
        return 0.0
    middle = len(slopes) // 2
    median = slopes[middle] if len(slopes) % 2 else (slopes[middle - 1] + slopes[middle]) / 2
    return median * 3600 / MIB


def _descriptors(pid: int) -> tuple[dict[str, int], dict[str, int]]:
    """How many are open, by what they are of; those of the history's database apart."""
    found: Counter[str] = Counter()
    history: Counter[str] = Counter()
    for entry in _listed(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{entry}")
        except FileNotFoundError:
            continue
        if "/history.db" in target:
            history[Path(target).name] += 1
        else:
            found[re.sub(r":\[\d+\]$", "", target)] += 1
    return dict(found), dict(history)


def _threads(pid: int) -> tuple[int, int]:
    """Threads of its own, and threads that wait for more work."""
    names = [_read(f"/proc/{pid}/task/{thread}/comm").strip() for thread in _listed(f"/proc/{pid}/task")]
    idle = sum(name.startswith(_IDLE_THREAD) for name in names)
    return len(names) - idle, idle


def _children(pid: int) -> list[int]:
    """All processes below it."""
    below: list[int] = []
    for thread in _listed(f"/proc/{pid}/task"):
        for child in _read(f"/proc/{pid}/task/{thread}/children").split():
            below += [int(child), *_children(int(child))]
    return below


def _name(pid: int) -> str:
    """The module or program that a process runs."""
    words = _read(f"/proc/{pid}/cmdline").split("\0")
    modules = [word for word in words if word.startswith("picoclawd")]
    return modules[0] if modules else words[0] or "gone"


def _anonymous_bytes(pid: int) -> int:
    match = re.search(r"^Anonymous: +(\d+) kB$", _read(f"/proc/{pid}/smaps_rollup"), re.MULTILINE)
    return int(match[1]) << 10 if match else 0


def _temporaries(places: tuple[Path, ...]) -> list[str]:
    return sorted(
        str(Path(directory, name))
        for place in places
        for directory, _, names in os.walk(place)
        for name in names
        if name.startswith(".picoclawd.")
    )


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except (FileNotFoundError, ProcessLookupError):
        return []


def _read(path: str) -> str:
    """A file of /proc; empty where its process or thread has gone meanwhile."""
    try:
        return Path(path).read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
