"""A row shows the match, on one row, within its bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.text.window import MARK, MATCH_ROW_MAX_BYTES, ROW_MAX_BYTES, window


def test_a_line_that_fits_is_whole() -> None:
    assert window(b"a" * 240, 100, 103) == "a" * 240
    assert window("é" * 120, 0, 1) == "é" * 120


def test_a_match_near_the_start_leaves_the_window_there() -> None:
    assert window(b"needle" + b"x" * 300, 0, 6) == "needle" + "x" * 231 + MARK


def test_a_match_that_ends_at_the_last_byte_before_the_mark_leaves_the_window_at_the_start() -> None:
    assert window(b"x" * 231 + b"needle" + b"x" * 9, 231, 237) == "x" * 231 + "needle" + MARK


def test_a_match_beyond_the_cut_moves_the_window() -> None:
    row = window(b"a" * 5000 + b"NEEDLE" + b"b" * 5000, 5000, 5006)
    assert row == MARK + "a" * 114 + "NEEDLE" + "b" * 114 + MARK
    assert len(row.encode()) == ROW_MAX_BYTES


def test_a_match_near_the_end_shows_the_end() -> None:
    assert window(b"a" * 500 + b"needle!", 500, 506) == MARK + "a" * 230 + "needle!"


def test_a_match_longer_than_the_window_is_shown_from_its_start() -> None:
    row = window(b"a" * 500 + b"n" * 500, 500, 1000)
    assert row == MARK + "a" * 58 + "n" * 176 + MARK


def test_the_other_bound_is_a_parameter() -> None:
    row = window(b"a" * 5000 + b"NEEDLE" + b"b" * 5000, 5000, 5006, MATCH_ROW_MAX_BYTES)
    assert len(row.encode()) == MATCH_ROW_MAX_BYTES
    assert "NEEDLE" in row


def test_places_in_a_str_are_characters() -> None:
    assert "NEEDLE" in window("é" * 300 + "NEEDLE" + "é" * 300, 300, 306)


def test_bytes_that_are_not_utf8_are_shown_as_replacement_characters() -> None:
    assert window(b"caf\xe9!", 0, 3) == "caf�!"
    row = window(b"\xe9" * 500 + b"needle", 500, 506)
    assert row.startswith(MARK + "�")
    assert row.endswith("�needle")


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r", b""])
def test_a25_the_ending_is_not_shown(ending: bytes) -> None:
    assert window(b"needle" + ending, 0, 6) == "needle"


def test_a20_controls_inside_a_line_do_not_break_its_row() -> None:
    assert window(b"beta\rcarriage\x0c\x00\x1b\tend\n", 0, 4) == "beta\\rcarriage\\x0c\\x00\\x1b\tend"
    assert window("a\nb", 0, 1) == "a\\nb"


def test_a86_other_separators_stay() -> None:
    assert window("three\u2028x\x85y", 0, 5) == "three\u2028x\x85y"


def test_a_lone_surrogate_is_made_fit_to_send() -> None:
    assert window("a\ud800b", 0, 1) == "a?b"


def test_a75_a_match_far_inside_a_huge_line_is_shown() -> None:
    row = window(b"x" * 1_000_000 + b"needle" + b"y" * 1_000_000, 1_000_000, 1_000_006)
    assert "needle" in row
    assert len(row.encode()) <= 240


PIECES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=400)


@given(PIECES, st.text("nedl", min_size=1, max_size=20), PIECES, st.integers(40, 300))
def test_a_row_never_exceeds_its_bytes_and_holds_its_match(left: str, match: str, right: str, most: int) -> None:
    line = left + match + right
    row = window(line, len(left), len(left) + len(match), most)
    assert len(row.encode()) <= most
    assert match in row
    assert "\n" not in row


@given(PIECES, st.text("nedl", max_size=20), PIECES)
def test_bytes_give_the_row_that_their_text_gives(left: str, match: str, right: str) -> None:
    line = left + match + right
    start, end = len(left.encode()), len((left + match).encode())
    assert window(line.encode(), start, end) == window(line, len(left), len(left + match))


@given(st.binary(max_size=900), st.integers(0, 900), st.integers(0, 900))
def test_any_bytes_and_places_give_a_row(line: bytes, start: int, end: int) -> None:
    assert len(window(line, start, end).encode()) <= ROW_MAX_BYTES
