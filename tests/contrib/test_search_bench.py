"""The search benchmark runs from end to end on a tiny tree; what it measures there means nothing."""

import os
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.index.rg import ripgrep

BENCH = Path(__file__).parents[2] / "contrib" / "bench" / "search"
BARS = {
    "names ready after a cold start",
    "trigram matrix ready after a cold start",
    "memory without text",
    "ten patterns / rg -c, geometric mean, watched",
    "worst literal / rg -c, watched",
    "worst regex / rg -c, watched",
    "rare literal / rg -c, watched",
    "ten patterns / rg -c, a small tree, verified",
    "ten patterns / rg -c, verified",
    "ten patterns / rg -c, text budget a fifth, watched",
    "rare literal / rg -c, text budget a fifth, watched",
    "first page (50) of a common pattern, watched",
    "target files, first page, verified",
    "target files, first page, verified / fd",
    "target files, first page, watched",
    "target files, first page, watched / watchman",
    "4 KiB read_file during 4 full scans, p99",
    "outside change visible to a watched search, p99",
    "random patterns whose (path, line) sets differ from rg's",
}
SVG_MAX_BYTES = 30_000
QUESTIONS = ("rare literal", "common word", "regex", "names")


@pytest.mark.slow
def test_a_quick_run_prints_every_bar_and_draws_eight_lines(tmp_path: Path) -> None:
    ripgrep()
    plot = tmp_path / "plot.svg"
    printed = _run(tmp_path, "--plot", str(plot))
    rows = re.findall(r"^(?:ok|MISS|not yet) +(.*?) +(?:-|\d+\.\d\d) (?:x|ms|s|MB)? *\(must <= ", printed, re.MULTILINE)
    assert sorted(rows) == sorted(BARS), printed
    assert "0.00     (must <= 0)" in printed, "an answer differs from rg's"
    _check_plot(plot.read_text())


def test_a_plot_holds_a_line_and_a_mark_for_each_cost() -> None:
    plot = runpy.run_path(str(BENCH / "plot.py"))
    points = ((1_000, 0.2), (10_000, 3.0), (80_000, 1500.0))
    lines = [
        plot["Line"](f"{question}, {who}", colour, who == "rg", points)
        for question, colour in zip(QUESTIONS, plot["COLOURS"], strict=True)
        for who in ("ours", "rg")
    ]
    _check_plot(plot["svg"]("a < b & c", lines))


def test_a_made_tree_is_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runpy.run_path(str(BENCH / "trees.py"))["made"]
    texts = []
    for name in ("one", "two"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        root = made(40).root
        texts.append({path.relative_to(root): path.read_bytes() for path in root.rglob("*.[ch]")})
    assert len(texts[0]) == 40
    assert texts[0] == texts[1]


def _run(tmp_path: Path, *options: str) -> str:
    """Run on a tree that it makes; what fails a bar on so few files is no error."""
    command = [sys.executable, str(BENCH), "--quick", *options]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == ""
    return done.stdout


def _check_plot(source: str) -> None:
    assert len(source.encode()) < SVG_MAX_BYTES
    tags = [element.tag.rpartition("}")[2] for element in ET.fromstring(source).iter()]
    assert set(tags) <= {"svg", "rect", "path", "text", "circle"}
    assert tags.count("circle") == 8 * 3
    labels = {"".join(element.itertext()) for element in ET.fromstring(source).iter()}
    assert {f"{question}, {who}" for question in QUESTIONS for who in ("ours", "rg")} <= labels
