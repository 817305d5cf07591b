import os
import random
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from picoclawd import limits
from picoclawd.text import diff as diff_module
from picoclawd.text.diff import DiffLine, bounded, small_enough, unified, window
from picoclawd.text.lines import split_lines
from tests.conftest import needs

FILES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"--- x\n", "é".encode(), b"d"]), max_size=40).map(
    b"".join
)
RANGE = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def texts(diff: Sequence[DiffLine]) -> list[str]:
    return [line.text for line in diff]


def patched(before: bytes, diff: Sequence[DiffLine]) -> bytes:
    """Apply a diff as patch(1) would, believing its ranges, and check them on the way."""
    old = split_lines(before)
    out: list[bytes] = []
    done = 0
    added_last = False
    for line in diff[2:]:
        match = RANGE.match(line.text) if line.kind == "header" else None
        if match:
            start, size = int(match[1]), int(match[2] or 1)
            out += old[done : start - 1 if size else start]
            done = start - 1 if size else start
            assert len(out) + 1 == int(match[3]) + (0 if int(match[4] or 1) else 1)
        elif line.kind == "header":
            if added_last:
                out[-1] = out[-1].removesuffix(b"\n")
        else:
            body = line.text[1:].encode() + b"\n"
            added_last = line.kind != "removed"
            if line.kind != "added":
                assert old[done].removesuffix(b"\n") + b"\n" == body
                done += 1
            if added_last:
                out.append(body)
    return b"".join(out + old[done:])


def test_a_change_is_shown_with_three_lines_of_context() -> None:
    before = b"".join(b"%d\n" % number for number in range(1, 12))
    after = before.replace(b"6\n", b"six\n6b\n")
    assert texts(unified("dir/f.txt", before, after)) == [
        *("--- a/dir/f.txt", "+++ b/dir/f.txt", "@@ -3,7 +3,8 @@"),
        *(" 3", " 4", " 5", "-6", "+six", "+6b", " 7", " 8", " 9"),
    ]


def test_each_line_says_what_it_is() -> None:
    kinds = [line.kind for line in unified("f", b"a\nb", b"a\nc")]
    assert kinds == ["header", "header", "header", "context", "removed", "header", "added", "header"]


def test_equal_files_have_no_diff() -> None:
    assert unified("f", b"a\n", b"a\n") == ()


def test_a15_a_missing_newline_is_noted_on_both_sides() -> None:
    assert texts(unified("f", b"x\ny", b"X\ny"))[3:] == ["-x", "+X", " y", "\\ No newline at end of file"]
    assert texts(unified("f", b"y", b"z"))[2:] == [
        *("@@ -1 +1 @@", "-y", "\\ No newline at end of file", "+z", "\\ No newline at end of file")
    ]


def test_a_newline_that_is_added_at_the_end_is_a_change() -> None:
    assert texts(unified("f", b"y", b"y\n"))[3:] == ["-y", "\\ No newline at end of file", "+y"]


def test_a_new_and_an_emptied_file_have_the_range_zero() -> None:
    assert texts(unified("f", b"", b"a\n"))[2:] == ["@@ -0,0 +1 @@", "+a"]
    assert texts(unified("f", b"a\nb\n", b""))[2:] == ["@@ -1,2 +0,0 @@", "-a", "-b"]


def test_changes_whose_context_touches_share_a_hunk() -> None:
    before = b"".join(b"%d\n" % number for number in range(20))
    near = before.replace(b"5\n", b"x\n", 1).replace(b"\n12\n", b"\ny\n")
    far = before.replace(b"5\n", b"x\n", 1).replace(b"\n13\n", b"\ny\n")
    assert [text for text in texts(unified("f", before, near)) if text.startswith("@@")] == ["@@ -3,14 +3,14 @@"]
    assert len([text for text in texts(unified("f", before, far)) if text.startswith("@@")]) == 2


def test_the_width_of_the_context_can_be_chosen() -> None:
    assert texts(unified("f", b"a\nb\nc\n", b"a\nB\nc\n", context=0))[2:] == ["@@ -2 +2 @@", "-b", "+B"]


def test_a_carriage_return_stays_and_invalid_bytes_show_as_such() -> None:
    assert texts(unified("f", b"a\r\n", b"\xd6b\n"))[3:] == ["-a\r", "+\ufffdb"]


def test_a_name_that_would_break_the_header_is_quoted_as_git_does() -> None:
    diff = unified('a "b"\n\x01ü', b"", b"x\n")
    assert texts(diff)[:2] == ['--- "a/a \\"b\\"\\n\\001ü"', '+++ "b/a \\"b\\"\\n\\001ü"']
    assert texts(unified("a b/ü", b"", b"x\n"))[0] == "--- a/a b/ü"


def test_a_diff_is_the_shortest_possible() -> None:
    diff = unified("f", b"a\nb\nc\na\nb\nb\na\n", b"c\nb\na\nb\na\nc\n")
    assert sum(line.kind in ("added", "removed") for line in diff) == 5  # the example of Myers, "An O(ND) Algorithm"


@settings(deadline=None)
@given(FILES, FILES, st.integers(0, 4))
def test_a_diff_turns_the_old_version_into_the_new(before: bytes, after: bytes, context: int) -> None:
    diff = unified("f", before, after, context)
    assert (patched(before, diff) if diff else before) == after


@settings(deadline=None)
@given(FILES, FILES, FILES, FILES, st.integers(0, 4))
def test_what_both_have_around_a_change_only_moves_its_ranges(
    head: bytes, before: bytes, after: bytes, tail: bytes, context: int
) -> None:
    def split_whole(path: str, old: bytes, new: bytes, context: int) -> Sequence[DiffLine]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(diff_module, "_differing", lambda old, new, context: (0, len(old), len(new)))
            return unified(path, old, new, context)

    old, new = head + before + tail, head + after + tail
    assert unified("f", old, new, context) == split_whole("f", old, new, context)


@given(FILES, FILES)
def test_no_more_lines_are_shown_as_changed_than_there_are(before: bytes, after: bytes) -> None:
    kinds = [line.kind for line in unified("f", before, after)]
    assert kinds.count("removed") <= len(split_lines(before))
    assert kinds.count("removed") - kinds.count("added") == len(split_lines(before)) - len(split_lines(after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n"),
        (b"a\nb", b"a\nb\n"),
        (b"a\nb\n", b"a\nc"),
        (b"x\r\ny\r\n", b"x\r\nz\r\ny\r\n"),
        (b"".join(b"%d\n" % n for n in range(60)), b"".join(b"%d\n" % n for n in range(60) if n % 11)),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfA\nb\n"),
        (b"--- a\n+++ b\n@@ x\n", b"--- a\n+++ c\n@@ x\n"),
    ],
)
@pytest.mark.parametrize("name", ["f.txt", "a b.txt", 'qu"ote\n.txt', "ü.txt"])
def test_git_applies_a_diff(before: bytes, after: bytes, name: str, tmp_path: Path) -> None:
    git = needs("git")
    (tmp_path / name).write_bytes(before)
    diff = "".join(text + "\n" for text in texts(unified(name, before, after)))
    apply = [git, "-c", "core.autocrlf=false", "apply", "-p1", "--whitespace=nowarn", "-"]
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    subprocess.run(apply, input=diff.encode(), cwd=tmp_path, env=environment, check=True, timeout=20)
    assert (tmp_path / name).read_bytes() == after


def shuffled(count: int) -> bytes:
    rows = [b"%d\n" % number for number in range(count)]
    random.Random(1).shuffle(rows)
    return b"".join(rows)


def table_of_pairs(old: list[bytes], new: list[bytes]) -> int:
    """The length of a longest common subsequence, pair by pair."""
    row = [0] * (len(new) + 1)
    for line in old:
        above, row = row, [0]
        for column, other in enumerate(new):
            row.append(above[column] + 1 if line == other else max(above[column + 1], row[column]))
    return row[-1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            b"".join(b"%d\n" % n for n in range(2000)), b"".join(b"x%d\n" % n for n in range(2000)), id="other"
        ),
        pytest.param(b"a\n" * 2000, b"b\na\n" * 1000, id="repeated"),
        pytest.param(b"a\nb\nc\n" * 666, b"c\nb\na\n" * 666, id="turned"),
        pytest.param(shuffled(2000), b"".join(b"%d\n" % n for n in range(2000)), id="shuffled"),
    ],
)
def test_no_two_thousand_lines_are_slow(before: bytes, after: bytes) -> None:
    """As slow would be a table of all pairs of lines: a tenth of a second for 400 lines, 25 times that for 2,000."""
    began = time.thread_time()
    table_of_pairs(before.split(b"\n")[:400], after.split(b"\n")[:400])
    pairs_s = 25 * (time.thread_time() - began)
    began = time.thread_time()
    diff = unified("f", before, after)
    assert time.thread_time() - began < pairs_s
    assert patched(before, diff) == after


def test_what_is_too_large_to_align_is_replaced_whole() -> None:
    before, after = b"a\n" + b"x\ny\n" * 10_000 + b"z\n", b"a\n" + b"y\nx\n" * 10_000 + b"z\n"
    diff = unified("f", before, after)
    assert [line.kind for line in diff].count("removed") == 20_000
    assert patched(before, diff) == after


def test_a_file_is_small_enough_below_both_bounds() -> None:
    assert small_enough(b"")
    assert small_enough(b"a\n" * (limits.DIFF_FILE_MAX_LINES - 1))
    assert not small_enough(b"a\n" * limits.DIFF_FILE_MAX_LINES)
    assert not small_enough(b"a\n" * (limits.DIFF_FILE_MAX_LINES - 1) + b"a")
    assert small_enough(b"a" * (limits.DIFF_FILE_MAX_BYTES - 1))
    assert not small_enough(b"a" * limits.DIFF_FILE_MAX_BYTES)


def test_what_fits_is_left_alone() -> None:
    assert window(["ab", "cd"], 5) == ("ab\ncd", False)
    assert window([], 0) == ("", False)


def test_what_does_not_fit_keeps_head_and_tail_around_a_notice() -> None:
    text, truncated = window([f"line {number:03}" for number in range(100)], 120)
    assert truncated
    assert text.split("\n") == [
        *("line 000", "line 001", "line 002"),
        "[... 94 lines omitted ...; read_file shows the full file]",
        *("line 097", "line 098", "line 099"),
    ]


def test_a_single_line_over_the_budget_is_cut() -> None:
    text, truncated = window(["x" * 1000], 100)
    head, notice = text.split("\n")
    assert truncated
    assert re.fullmatch("x+…", head)
    assert notice == "[... 1 line omitted ...; read_file shows the full file]"
    assert len(text) <= 100


def test_a_budget_below_the_notice_gives_no_more_than_it_allows() -> None:
    assert window(["x" * 100], 20) == ("[... 1 line omitted ", True)
    assert window(["x"], 0) == ("", True)


def test_the_notice_in_a_bounded_diff_is_no_file_text() -> None:
    diff = unified("f", b"", b"some text\n" * 100)
    kept, truncated = bounded(diff, 200)
    assert truncated
    assert [line.text for line in kept if line.kind == "header"][:3] == texts(diff)[:3]
    assert [line.kind for line in kept if "omitted" in line.text] == ["header"]


@settings(deadline=None)
@given(st.lists(st.text("ab", max_size=30), max_size=40), st.integers(0, 300))
def test_a_window_stays_within_its_budget_and_counts_what_it_leaves_out(rows: list[str], max_chars: int) -> None:
    text, truncated = window(rows, max_chars)
    assert len(text) <= max_chars
    assert truncated == (len("\n".join(rows)) > max_chars)
    counted = re.search(r"^\[\.\.\. (\d+) lines? omitted \.\.\.; read_file shows the full file\]$", text, re.MULTILINE)
    if truncated and counted:
        shown = [row for row in text.split("\n") if not row.startswith("[") and not row.endswith("…")]
        assert len(shown) + int(counted[1]) == len(rows)
