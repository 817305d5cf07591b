"""The run: one daemon after the other, each beside its rivals, then the bars and the plot.

    python contrib/bench/search [--tree PATH] [--plot FILE.svg] [--quick]

Without `--tree` it makes a tree of 20,000 C-like files. Samples and made trees are kept in
`$XDG_CACHE_HOME/picoclawd-bench`. A tree that is given gets the daemon's own directory, as any workspace does, and for
some seconds one directory with files that appear and change. The first figures of a run are of a cold daemon, not of a
cold disk.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness import median_ms, timed

from search import contents, names, others, plot, trees
from search.ours import Ours, Readiness, ours
from search.report import Bar, Report
from search.rivals import Rg, program

DEFAULT_TEXT_BYTES = 256 << 20  # daemon.text_cache_bytes
TIGHT = 5  # how many times larger than its text budget a tree is
COMMON = ("return", "static", "struct")
REGEX = r"\w+\s*=\s*kmalloc\("
NAME = "usb"


@dataclass(frozen=True)
class Scale:
    """How much of everything: sizes in files, and repetitions."""

    made: int
    small: int
    plotted: tuple[int, ...]
    rounds: int
    names_rounds: int
    reads_s: float
    changes: int
    random_patterns: int


FULL = Scale(20_000, 5_000, (1_000, 10_000, 80_000), 3, 5, 8.0, 100, 200)
QUICK = Scale(240, 120, (60, 120, 240), 1, 2, 0.5, 10, 10)


@dataclass(frozen=True)
class Bench:
    """What every part of the run needs. `rg` is None where it is not installed."""

    tree: trees.Tree
    given: bool
    scale: Scale
    rg: str | None
    report: Report

    def part(self, count: int) -> trees.Tree:
        """A tree of so many files, of the kind that this run is about."""
        return trees.sampled(self.tree, count) if self.given else trees.made(count)


def main() -> int:
    """Run, print, and return 0 where every must is held that this build can hold."""
    parser = argparse.ArgumentParser(description="Search beside rg, fd, watchman and the npm MCP filesystem server.")
    parser.add_argument("--tree", type=Path, help="the tree to search; default: one of 20,000 files is made")
    parser.add_argument("--plot", type=Path, help="draw cost against tree size into this SVG")
    parser.add_argument("--quick", action="store_true", help="a small tree and few repetitions")
    options = parser.parse_args()
    scale = QUICK if options.quick else FULL
    tree = trees.taken(options.tree) if options.tree else trees.made(scale.made)
    print(f"     {tree.files} files, {tree.size_bytes / 1e6:.1f} MB", flush=True)
    bench = Bench(tree, bool(options.tree), scale, program("rg"), Report())
    for measure in (_without_text, _roomy, _tight, _small, _random):
        measure(bench)
    if options.plot:
        options.plot.write_text(_plotted(bench))
    return bench.report.close()


def _without_text(bench: Bench) -> None:
    """Start-up and memory of names and trigrams alone."""
    print("== cold start, no room for text", flush=True)
    with ours(bench.tree.root, text_bytes=0) as us:
        ready = _awaited(bench, us)
        if ready.names_s is not None:
            bench.report.measured(Bar.NAMES_READY, ready.names_s)
        if ready.trigrams_s is not None:
            bench.report.measured(Bar.TRIGRAMS_READY, ready.trigrams_s)
        bench.report.measured(Bar.MEMORY, us.daemon.resident_mb())


def _roomy(bench: Bench) -> None:
    """Everything that is asked of a daemon with all text in memory."""
    print("== room for all text", flush=True)
    report, scale = bench.report, bench.scale
    with ours(bench.tree.root) as us:
        _awaited(bench, us)
        us.warm()
        print(f"     resident {us.daemon.resident_mb():.0f} MB", flush=True)
        if bench.rg:
            _ten(bench, us)
        print("== first page", flush=True)
        pages = [timed(partial(us.first_page, word)) for word in COMMON for _ in range(scale.names_rounds + 1)]
        report.measured(Bar.FIRST_PAGE, median_ms(pages))
        print("== names", flush=True)
        names.compare(us, bench.tree, scale.names_rounds, report)
        print("== others", flush=True)
        report.measured(Bar.READ_P99, others.read_p99_ms(us, bench.tree, scale.reads_s))
        report.measured(Bar.CHANGE_P99, others.change_p99_ms(us, bench.tree, scale.changes))


def _ten(bench: Bench, us: Ours) -> None:
    assert bench.rg
    rg, report = Rg(bench.rg, bench.tree.root), bench.report
    print("== ten patterns, watched", flush=True)
    watched = contents.compare(rg, us, "watched", bench.scale.rounds)
    report.measured(Bar.TEN_WATCHED, contents.mean(watched))
    report.measured(Bar.WORST_LITERAL, contents.worst(watched, literal=True))
    report.measured(Bar.WORST_REGEX, contents.worst(watched, literal=False))
    report.measured(Bar.RARE, contents.rare(watched))
    print("== ten patterns, verified", flush=True)
    report.measured(Bar.TEN_VERIFIED, contents.mean(contents.compare(rg, us, "verified", bench.scale.rounds)))


def _tight(bench: Bench) -> None:
    """The ten patterns where most text is on disk."""
    if not bench.rg:
        return
    text_bytes = min(DEFAULT_TEXT_BYTES, bench.tree.size_bytes // TIGHT)
    print(f"== ten patterns, watched, text budget {text_bytes / 1e6:.1f} MB", flush=True)
    with ours(bench.tree.root, text_bytes) as us:
        _awaited(bench, us)
        us.warm()
        ratios = contents.compare(Rg(bench.rg, bench.tree.root), us, "watched", bench.scale.rounds)
    bench.report.measured(Bar.TEN_TIGHT, contents.mean(ratios))
    bench.report.measured(Bar.RARE_TIGHT, contents.rare(ratios))


def _small(bench: Bench) -> None:
    """The ten patterns on a tree of the size that most projects have."""
    if not bench.rg:
        return
    tree = bench.part(bench.scale.small)
    print(f"== ten patterns, verified, {tree.files} files", flush=True)
    with ours(tree.root) as us:
        _awaited(bench, us)
        us.warm()
        ratios = contents.compare(Rg(bench.rg, tree.root), us, "verified", bench.scale.rounds)
    bench.report.measured(Bar.TEN_SMALL, contents.mean(ratios))


def _random(bench: Bench) -> None:
    """The same answers as rg's."""
    if not bench.rg:
        return
    tree = bench.part(bench.scale.plotted[0])
    print(f"== {bench.scale.random_patterns} random patterns, {tree.files} files", flush=True)
    with ours(tree.root) as us:
        _awaited(bench, us)
        differ = contents.differing(Rg(bench.rg, tree.root), us, tree, bench.scale.random_patterns)
    bench.report.measured(Bar.EQUAL, differ)


def _awaited(bench: Bench, us: Ours) -> Readiness:
    ready = us.wait()
    bench.report.has_trigrams = ready.trigrams_s is not None
    return ready


# The plot

Ask = Callable[[], object]


def _plotted(bench: Bench) -> str:
    """Four questions on trees of three sizes, ours and rg's."""
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for size in bench.scale.plotted:
        tree = bench.part(size)
        print(f"== plot: {tree.files} files", flush=True)
        with ours(tree.root) as us:
            _awaited(bench, us)
            us.warm()
            for (label, who), ask in _questions(us, Rg(bench.rg, tree.root) if bench.rg else None).items():
                cost_ms = min(timed(ask) for _ in range(bench.scale.rounds)) * 1e3
                points.setdefault((label, who), []).append((tree.files, cost_ms))
                print(f"     {label:<14} {who:<5} {cost_ms:9.2f} ms", flush=True)
    colours = dict(zip(dict.fromkeys(label for label, _who in points), plot.COLOURS, strict=False))
    return plot.svg(
        "What a search costs, by the size of the tree",
        [plot.Line(f"{label}, {who}", colours[label], who == "rg", tuple(at)) for (label, who), at in points.items()],
    )


def _questions(us: Ours, rg: Rg | None) -> dict[tuple[str, str], Ask]:
    asked: dict[tuple[str, str], Ask] = {}
    for label, pattern in (("rare literal", contents.RARE), ("common word", contents.COMMON), ("regex", REGEX)):
        asked[label, "ours"] = partial(us.files_with, pattern, "watched")
        if rg:
            asked[label, "rg"] = partial(rg.count, pattern)
    asked["names", "ours"] = partial(us.names, NAME, "watched")
    if rg:
        asked["names", "rg"] = partial(rg.names, NAME)
    return asked
