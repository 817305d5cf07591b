"""Searches of names against fd, watchman and the npm MCP filesystem server, in turns."""

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from harness import median_ms, timed

from search import rivals
from search.ours import Ours
from search.report import Bar, Report
from search.trees import Tree

FORMS = ("usb", "**/*probe*.c", "", "usb/core")
NPM_FORM = "usb"  # one call takes seconds


def compare(us: Ours, tree: Tree, rounds: int, report: Report) -> None:
    """Time each form and print the bars; programs that are not there are skipped."""
    with ExitStack() as running:
        asked: dict[str, Callable[[str], None]] = {
            "watched": partial(us.names, consistency="watched"),
            "verified": partial(us.names, consistency="verified"),
        }
        if path := rivals.program("fd", "fdfind"):
            asked["fd"] = rivals.Fd(path, tree.root).names
        if path := rivals.program("watchman"):
            asked["watchman"] = running.enter_context(rivals.watchman(path, tree.root)).names
        took: dict[str, list[float]] = {name: [] for name in asked}
        for form in FORMS:
            for _ in range(rounds):
                for name, ask in asked.items():
                    took[name].append(timed(partial(ask, form)))
        if path := rivals.program("mcp-server-filesystem"):
            server = running.enter_context(rivals.npm_server(path, tree.root))
            took["npm server"] = [timed(partial(server.names, NPM_FORM))]
    print("     " + ", ".join(f"{name} {median_ms(samples):.2f} ms" for name, samples in took.items()))
    for index, form in enumerate(FORMS):
        each = slice(index * rounds, (index + 1) * rounds)
        row = ", ".join(f"{name} {median_ms(took[name][each]):.2f} ms" for name in asked)
        print(f"     {form or '(every file)':<14} {row}", flush=True)
    _bars({name: statistics.median(samples) for name, samples in took.items()}, report)


def _bars(median_s: dict[str, float], report: Report) -> None:
    report.measured(Bar.FILES_VERIFIED, median_s["verified"] * 1e3)
    report.measured(Bar.FILES_WATCHED, median_s["watched"] * 1e3)
    if "fd" in median_s:
        report.measured(Bar.FILES_FD, median_s["verified"] / median_s["fd"])
    if "watchman" in median_s:
        report.measured(Bar.FILES_WATCHMAN, median_s["watched"] / median_s["watchman"])
