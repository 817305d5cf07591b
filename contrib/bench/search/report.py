"""The bars of the search benchmark: each is printed once, with what it must reach and what it aims at."""

from dataclasses import dataclass
from enum import Enum, auto

from harness import Bars


class Bar(Enum):
    """One row of the table. Ratios are of our time to theirs, in the same run."""

    NAMES_READY = auto()
    TRIGRAMS_READY = auto()
    MEMORY = auto()
    TEN_WATCHED = auto()
    WORST_LITERAL = auto()
    WORST_REGEX = auto()
    RARE = auto()
    TEN_SMALL = auto()
    TEN_VERIFIED = auto()
    TEN_TIGHT = auto()
    RARE_TIGHT = auto()
    FIRST_PAGE = auto()
    FILES_VERIFIED = auto()
    FILES_FD = auto()
    FILES_WATCHED = auto()
    FILES_WATCHMAN = auto()
    READ_P99 = auto()
    CHANGE_P99 = auto()
    EQUAL = auto()


@dataclass(frozen=True)
class Wanted:
    """What is asked of a bar. `by_trigrams`: a build without them is measured all the same, and does not fail."""

    text: str
    must: float
    aim: float | None
    unit: str = "x"
    by_trigrams: bool = False


WANTED = {
    Bar.NAMES_READY: Wanted("names ready after a cold start", 3, 1, "s"),
    Bar.TRIGRAMS_READY: Wanted("trigram matrix ready after a cold start", 25, 12, "s", True),
    Bar.MEMORY: Wanted("memory without text", 180, 120, "MB"),
    Bar.TEN_WATCHED: Wanted("ten patterns / rg -c, geometric mean, watched", 0.4, 0.15, "x", True),
    Bar.WORST_LITERAL: Wanted("worst literal / rg -c, watched", 1.5, None, "x", True),
    Bar.WORST_REGEX: Wanted("worst regex / rg -c, watched", 4, None, "x", True),
    Bar.RARE: Wanted("rare literal / rg -c, watched", 0.08, 0.02, "x", True),
    Bar.TEN_SMALL: Wanted("ten patterns / rg -c, a small tree, verified", 0.7, 0.4, "x", True),
    Bar.TEN_VERIFIED: Wanted("ten patterns / rg -c, verified", 1.0, 0.7, "x", True),
    Bar.TEN_TIGHT: Wanted("ten patterns / rg -c, text budget a fifth, watched", 1.2, 0.7, "x", True),
    Bar.RARE_TIGHT: Wanted("rare literal / rg -c, text budget a fifth, watched", 0.15, None, "x", True),
    Bar.FIRST_PAGE: Wanted("first page (50) of a common pattern, watched", 10, 3, "ms"),
    Bar.FILES_VERIFIED: Wanted("target files, first page, verified", 40, 25, "ms"),
    Bar.FILES_FD: Wanted("target files, first page, verified / fd", 0.2, None),
    Bar.FILES_WATCHED: Wanted("target files, first page, watched", 10, 3, "ms"),
    Bar.FILES_WATCHMAN: Wanted("target files, first page, watched / watchman", 1, None),
    Bar.READ_P99: Wanted("4 KiB read_file during 4 full scans, p99", 20, 5, "ms"),
    Bar.CHANGE_P99: Wanted("outside change visible to a watched search, p99", 120, 20, "ms"),
    Bar.EQUAL: Wanted("random patterns whose (path, line) sets differ from rg's", 0, None, ""),
}


class Report:
    """Prints bars as they are measured. `has_trigrams` is what the daemon said of itself last."""

    def __init__(self) -> None:
        self.has_trigrams = True
        self._bars = Bars()
        self._shown: set[Bar] = set()

    def measured(self, bar: Bar, value: float) -> None:
        """Print a bar; one that waits for the trigrams misses nothing without them."""
        wanted = WANTED[bar]
        self._shown.add(bar)
        if wanted.by_trigrams and not self.has_trigrams:
            self._not_yet(wanted, f"{value:9.2f} {wanted.unit:<3}")
        else:
            self._bars.at_most(wanted.text, value, wanted.must, wanted.aim, wanted.unit)

    def close(self) -> int:
        """Print the bars that nothing measured, and give the exit status."""
        for bar, wanted in WANTED.items():
            if bar not in self._shown:
                self._not_yet(wanted, f"{'-':>9} {wanted.unit:<3}")
        return self._bars.exit_status()

    def _not_yet(self, wanted: Wanted, value: str) -> None:
        aim = "" if wanted.aim is None else f", aim <= {wanted.aim:g}"
        print(f"not yet {wanted.text:<55} {value} (must <= {wanted.must:g}{aim})", flush=True)
