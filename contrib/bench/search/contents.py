"""Searches of contents against rg, in turns: ten patterns, and random ones for the same answer."""

import math
import random
import re
import statistics
from dataclasses import dataclass
from functools import partial

from harness import timed

from search.ours import Consistency, Ours
from search.rivals import Rg
from search.trees import Tree, files_of

RARE = "zzzqqqxxx"
COMMON = "return"
TEN = (
    "EXPORT_SYMBOL_GPL",
    "usb_submit_urb",
    "[a-z]+_[0-9]{4}x",
    r"\bschedule_work\w*\(",
    RARE,
    "(?i)submit_urb",
    r"^static int .*probe\(.*\)$",
    "TODO|FIXME|XXX",
    r"\w+\s*=\s*kmalloc\(",
    COMMON,
)
LINES_MAX = 5000  # of a random pattern; more would only take time
# Nothing that rg and RE2 read differently on purpose, such as \w beyond ASCII or `.` on bytes that are no UTF-8.
RANDOM_SHAPES = (
    "{0}",
    "{0}|{1}",
    "(?i){0}",
    "^{0}",
    "{0}$",
    "{0}[ -~]*{1}",
    "[a-z]+{0}[0-9]?",
    r"{0}\(",
    "({0}|{1})[;,]",
)


@dataclass(frozen=True)
class Ratio:
    """Our best time for a pattern through rg's; infinite where we gave up."""

    pattern: str
    ratio: float

    @property
    def is_literal(self) -> bool:
        """Whether the pattern is plain text."""
        return re.fullmatch(r"\w+", self.pattern) is not None


def compare(rg: Rg, us: Ours, consistency: Consistency, rounds: int) -> list[Ratio]:
    """Time the ten patterns, one after the other, rg and us in turns; print a row each."""
    return [_compared(rg, us, pattern, consistency, rounds) for pattern in TEN]


def mean(ratios: list[Ratio]) -> float:
    """Their geometric mean."""
    return statistics.geometric_mean(found.ratio for found in ratios)


def rare(ratios: list[Ratio]) -> float:
    """That of the rare literal."""
    return next(found.ratio for found in ratios if found.pattern == RARE)


def worst(ratios: list[Ratio], *, literal: bool) -> float:
    """The highest of the literals, or of the others."""
    return max(found.ratio for found in ratios if found.is_literal is literal)


def _compared(rg: Rg, us: Ours, pattern: str, consistency: Consistency, rounds: int) -> Ratio:
    theirs_s, ours_s = [], []
    files = (rg.files_with(pattern), us.files_with(pattern, consistency))
    for _ in range(rounds):
        theirs_s.append(timed(partial(rg.count, pattern)))
        ours_s.append(timed(partial(us.files_with, pattern, consistency)))
    ratio = math.inf if files[1] < 0 else min(ours_s) / min(theirs_s)
    print(
        f"     {pattern:<28} rg {_ms(theirs_s)}  us {_ms(ours_s)}  ratio {ratio:6.3f}"
        f"  files {files[0]} {'gave up' if files[1] < 0 else files[1]}",
        flush=True,
    )
    return Ratio(pattern, ratio)


def _ms(samples: list[float]) -> str:
    return f"min {min(samples) * 1e3:8.1f} median {statistics.median(samples) * 1e3:8.1f} ms"


def differing(rg: Rg, us: Ours, tree: Tree, patterns: int) -> int:
    """How many of some random patterns have other (path, line) sets here than with rg. Each is printed."""
    differ = compared = lines = 0
    for pattern in _random_patterns(tree, patterns):
        theirs = rg.lines(pattern)
        if len(theirs) > LINES_MAX:
            continue
        compared += 1
        lines += len(theirs)
        found = us.lines(pattern)
        if found != theirs:
            differ += 1
            print(f"     {pattern!r}: {sorted(found ^ theirs)[:3]}", flush=True)
    print(f"     compared {compared} patterns with {lines} lines", flush=True)
    return differ


def _random_patterns(tree: Tree, patterns: int) -> list[str]:
    rng = random.Random(1)
    texts = rng.sample(list(files_of(tree.root)), min(50, tree.files))
    words = sorted(
        {word for path in texts for word in re.findall(r"\b[a-zA-Z_0-9]{3,12}\b", path.read_text(errors="ignore"))}
    )
    return [rng.choice(RANDOM_SHAPES).format(rng.choice(words), rng.choice(words)) for _ in range(patterns)]
