"""Numbered rows: every line once, within the budget, counted to the end."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.text.rows import Row, RowPage, around, fit, page, shares, windows


def chunked(data: bytes, size: int = 7) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def page_of(data: bytes, offset: int = 1, limit: int = 2048, room: int = 10_000) -> RowPage:
    return page(chunked(data), offset, limit, room)


NUMBERED = "".join(f"l{number}\n" for number in range(1, 101)).encode()


def test_a_row_is_its_number_a_tab_and_the_line() -> None:
    shown = page_of(b"a\n\tb\n")
    assert shown.text() == "1\ta\n2\t\tb"
    assert (shown.total, shown.end, shown.eof, shown.next_offset, shown.cut_row) == (2, 2, True, None, None)


def test_offset_and_limit_cut_a_page_that_says_where_it_goes_on() -> None:
    shown = page_of(NUMBERED, 10, 3)
    assert shown.text() == "10\tl10\n11\tl11\n12\tl12"
    assert (shown.total, shown.next_offset, shown.eof, shown.is_short) == (100, 13, False, False)
    assert page_of(NUMBERED, 98, 3).next_offset is None


def test_a_row_that_does_not_fit_is_not_begun() -> None:
    shown = page_of(b"1234567\nsecond\n", room=12)
    assert (shown.text(), shown.next_offset, shown.total) == ("1\t1234567", 2, 2)


def test_a_row_that_alone_does_not_fit_is_cut_and_the_next_page_starts_after_it() -> None:
    shown = page_of(b"abcdefghijklmnopqrstuvwxyz\nx\n", room=25)
    assert shown.text() == "1\tabcdefgh … [truncated]"
    assert shown.cost == 25
    assert (shown.cut_row, shown.next_offset, shown.rows[0].rest) == (1, 2, "ijklmnopqrstuvwxyz")
    last = page_of(b"abcdefghijklmnopqrstuvwxyz\n", room=25)
    assert (last.cut_row, last.next_offset, last.total) == (1, None, 1)


def test_a22_a_start_past_the_last_line_is_an_empty_page_that_knows_the_total() -> None:
    shown = page_of(b"l1\nl2\nl3\n", offset=4)
    assert (shown.rows, shown.total, shown.start, shown.end, shown.eof) == ((), 3, 4, 3, True)
    assert page_of(b"l1\nl2\nl3\n", offset=9**30).rows == ()
    assert page_of(b"l1\n\n").total == 2


@pytest.mark.parametrize(("data", "total"), [(b"", 0), (b"a", 1), (b"\n", 1), (b"a\nb", 2), (b"\n\n", 2)])
def test_lines_are_counted_by_their_newlines(data: bytes, total: int) -> None:
    assert page_of(data).total == page_of(data, offset=2).total == total
    assert len(page_of(data).rows) == total


def test_a19_a20_a27_only_a_newline_ends_a_line() -> None:
    assert page_of("one\n\x0ctwo\nthree\u2028x\nfour\n".encode(), 3).rows[0].text == "three\u2028x"
    assert page_of(b"alpha\nbeta\rcarriage\ngamma NEEDLE\n", 3).rows[0].text == "gamma NEEDLE"
    assert page_of(b"a\rb\rc").text() == "1\ta\rb\rc"


def test_a_final_carriage_return_is_not_shown() -> None:
    assert page_of(b"a\r\nb\r\n").text() == "1\ta\n2\tb"


def test_around_merges_windows_and_marks_what_is_skipped() -> None:
    shown = around(chunked(NUMBERED), [15, 10, 50, 10], 2, 10_000)
    expected = "".join(f"{n}\tl{n}\n" for n in range(8, 18)) + "...\n" + "".join(f"{n}\tl{n}\n" for n in range(48, 53))
    assert shown.text() + "\n" == expected
    assert shown.cost == len(expected)
    assert (shown.total, shown.next_offset, shown.unshown) == (100, None, ())


def test_around_without_context_is_those_rows_alone() -> None:
    assert around(chunked(NUMBERED), [3, 4, 7], 0, 10_000).text() == "3\tl3\n4\tl4\n...\n7\tl7"


def test_around_at_the_edges_of_the_text() -> None:
    shown = around(chunked(NUMBERED), [1, 100, 300], 1, 10_000)
    assert shown.text() == "1\tl1\n2\tl2\n...\n99\tl99\n100\tl100"
    assert shown.eof
    assert around(chunked(NUMBERED), [300], 1, 10_000).rows == ()


def test_around_that_does_not_fit_names_the_rows_that_are_missing() -> None:
    shown = around(chunked(NUMBERED), [10, 50, 90, 300], 1, 32)
    assert shown.rows[-1].line_no == 49
    assert (shown.unshown, shown.next_offset, shown.is_short) == ((50, 90), 50, True)


def test_windows_that_touch_are_one() -> None:
    assert windows([3, 6, 8], 1) == [range(2, 10)]
    assert windows([3, 7], 1) == [range(2, 5), range(6, 9)]


def test_a_page_is_made_smaller() -> None:
    large = page_of(NUMBERED)
    small = fit(large, 20)
    assert small.text() == "1\tl1\n2\tl2\n3\tl3\n4\tl4"
    assert (small.next_offset, small.total, small.is_short) == (5, 100, True)
    assert fit(large, large.cost) == large
    cut = fit(RowPage((Row(1, "abcdefghijklmnopqrst", rest="uv", cut=True),), 1, 1), 20)
    assert (cut.rows[0].text, cut.rows[0].rest, cut.rows[0].cut) == ("abc", "defghijklmnopqrstuv", True)


@pytest.mark.parametrize(
    ("needs", "room", "given_out"),
    [
        ([], 10, []),
        ([5, 5], 100, [5, 5]),
        ([100, 100], 10, [5, 5]),
        ([2, 100, 100], 12, [2, 5, 5]),
        ([100, 1, 4], 12, [7, 1, 4]),
        ([5], -3, [0]),
    ],
)
def test_room_is_shared_fairly(needs: list[int], room: int, given_out: list[int]) -> None:
    assert shares(needs, room) == given_out


@given(st.lists(st.integers(0, 100), max_size=8), st.integers(0, 300))
def test_shares_never_exceed_need_or_room_and_leave_nothing_over(needs: list[int], room: int) -> None:
    given_out = shares(needs, room)
    assert all(share <= need for share, need in zip(given_out, needs, strict=True))
    assert sum(given_out) <= room
    unmet = [share for share, need in zip(given_out, needs, strict=True) if share < need]
    assert not unmet or room - sum(given_out) < len(needs)
    assert all(max(given_out) - share <= 1 for share in unmet)


LINES = st.lists(st.text(alphabet="ab é", max_size=40), max_size=12)


@given(LINES, st.booleans(), st.integers(1, 5), st.integers(25, 90), st.integers(1, 9))
def test_pages_show_every_line_once_and_stay_within_the_room(
    lines: list[str], ends: bool, limit: int, room: int, size: int
) -> None:
    data = ("\n".join(lines) + "\n" * ends).encode()
    expected = data.decode().removesuffix("\n").split("\n") if data else []
    shown: list[Row] = []
    offset: int | None = 1
    while offset is not None:
        part = page(chunked(data, size), offset, limit, room)
        assert part.total == len(expected)
        assert part.cost == len(part.text()) + bool(part.rows) <= room
        shown += part.rows
        offset = part.next_offset
    assert [row.line_no for row in shown] == list(range(1, len(expected) + 1))
    assert all(row.cut or row.text == line for row, line in zip(shown, expected, strict=True))
    assert all(line.startswith(row.text) for row, line in zip(shown, expected, strict=True))


@given(LINES, st.lists(st.integers(1, 20), min_size=1, max_size=4), st.integers(0, 3), st.integers(1, 9))
def test_around_shows_what_lies_near_and_nothing_else(
    lines: list[str], anchors: list[int], context: int, size: int
) -> None:
    data = "".join(line + "\n" for line in lines).encode()
    near = [n for n in range(1, len(lines) + 1) if any(abs(n - anchor) <= context for anchor in anchors)]
    shown = around(chunked(data, size), anchors, context, 10_000)
    assert [row.line_no for row in shown.rows] == near
    assert [row.text for row in shown.rows] == [lines[n - 1] for n in near]


def test_a_huge_line_is_not_kept_whole() -> None:
    chunks = (b"x" * 1_000_000 for _ in range(200))
    began = time.perf_counter()
    shown = page(chunks, 1, 10, 100)
    assert (shown.total, shown.cut_row) == (1, 1)
    assert len(shown.rows[0].text) + len(shown.rows[0].rest) < 5000
    assert time.perf_counter() - began < 5.0


def test_a_heading_stands_above_a_row_in_place_of_its_number_and_counts() -> None:
    rows = tuple(Row(number, "one\ntwo", heading=f"[page {number}]") for number in (1, 2))
    both = RowPage(rows, start=1, total=2)
    assert both.text() == "[page 1]\none\ntwo\n[page 2]\none\ntwo"
    assert both.cost == len(both.text()) + 1
    assert [row.line_no for row in fit(both, both.cost - 1).rows] == [1]
    (long,) = fit(RowPage((Row(7, "x" * 100, heading="[page 7]"),), start=7, total=9), 50).rows
    assert long.shown.startswith("[page 7]\nxxx")
    assert (long.cut, len(long.shown) < 50) == (True, True)
