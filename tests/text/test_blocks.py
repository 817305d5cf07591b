"""Blocks are grouped as ripgrep groups its rows."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.text.blocks import BLOCK_MAX_LINES, Block, blocks, merge
from tests.index.rg import ripgrep


@pytest.mark.parametrize(
    ("matches", "context", "line_count", "ranges"),
    [
        ([], 3, 10, []),
        ([5], 0, 10, [range(5, 6)]),
        ([1, 10], 2, 10, [range(1, 4), range(8, 11)]),
        ([3, 5], 0, 10, [range(3, 4), range(5, 6)]),
        ([3, 4], 0, 10, [range(3, 5)]),
        ([3, 8], 2, 10, [range(1, 11)]),  # they touch: 1-5 and 6-10
        ([3, 9], 2, 20, [range(1, 6), range(7, 12)]),
        ([3, 6], 2, None, [range(1, 9)]),
        ([5, 5], 1, 10, [range(4, 7)]),
    ],
)
def test_ranges_that_touch_or_overlap_are_merged(
    matches: list[int], context: int, line_count: int | None, ranges: list[range]
) -> None:
    assert merge(matches, context, line_count) == ranges


def test_a_block_says_which_lines_match() -> None:
    assert blocks([2, 9], 1, 9) == [
        Block(1, ((1, False), (2, True), (3, False))),
        Block(8, ((8, False), (9, True))),
    ]


def test_a_long_range_is_split_at_fifty_lines() -> None:
    assert merge(range(1, 121), 0, 120) == [range(1, 51), range(51, 101), range(101, 121)]


def test_fifty_lines_are_one_block() -> None:
    assert merge(range(11, 51), 10, 60)[0] == range(1, 51)


@given(st.sets(st.integers(1, 300)), st.integers(0, 20), st.integers(300, 330))
def test_blocks_hold_each_line_near_a_match_once_and_no_other(found: set[int], context: int, line_count: int) -> None:
    made = blocks(found, context, line_count)
    near = {n for match in found for n in range(match - context, match + context + 1) if 1 <= n <= line_count}
    lines = [line for block in made for line in block.lines]
    assert [number for number, _ in lines] == sorted(near)
    assert {number for number, is_match in lines if is_match} == found
    assert all(len(block.lines) <= BLOCK_MAX_LINES and block.start_line == block.lines[0][0] for block in made)


@pytest.mark.parametrize("context", [1, 2, 5])
def test_blocks_are_the_groups_of_ripgrep(tmp_path: Path, context: int) -> None:
    rg = ripgrep()
    numbers = [1, 2, 7, 13, 14, 24, 31, 36, 40]
    path = tmp_path / "a.txt"
    path.write_text("".join("hit\n" if n in numbers else "no\n" for n in range(1, 41)))
    command = [rg, "--no-config", "-n", "-C", str(context), "hit", str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    groups = [
        re.findall(r"^(\d+)([:-])", group, re.MULTILINE) for group in re.split(r"^--$", shown, flags=re.MULTILINE)
    ]
    wanted = [[(int(number), sign == ":") for number, sign in group] for group in groups]
    assert [list(block.lines) for block in blocks(numbers, context, 40)] == wanted
