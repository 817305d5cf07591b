"""A file is cut into whole lines, and every place in a piece is found again in the file."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.index.pieces import (
    BLOCK_BYTES,
    LINE_MAX_BYTES,
    Piece,
    Run,
    affordable,
    kept_bytes,
    piece_bytes,
    runs,
)
from picoclawd.limits import KIB

TEXTS = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r"]), max_size=20).map(b"".join)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\nb\n", b"a\nb\n"),
        (b"a\r\nb\n", b"a\nb\n"),
        (b"a\r\r\nb", b"a\r\nb"),
        (b"a\rb\n", b"a\rb\n"),
        (b"a\r", b"a"),
        (b"\r\n", b"\n"),
    ],
)
def test_the_carriage_return_of_an_ending_is_taken_away(raw: bytes, text: bytes) -> None:
    piece = Piece(b"before\n" + raw, 7, 7 + len(raw))
    assert (piece.text, piece.end) == (text, len(text))


@given(TEXTS, st.integers(0, 3))
def test_the_shift_of_a_line_leads_back_to_the_run(raw: bytes, base: int) -> None:
    run = b"x" * base + raw
    piece = Piece(run, base, len(run))
    start = 0
    for line in piece.text.splitlines(keepends=False) if b"\r" not in piece.text else piece.text.split(b"\n"):
        assert run[start + piece.shift(start) :].startswith(line)
        start += len(line) + 1


def test_a_cut_piece_shows_one_byte_more() -> None:
    piece = Piece(b"abcdef\n", 0, 7)
    piece.cut(3)
    assert (piece.text, piece.end, piece.line_end(0)) == (b"abcd", 3, 3)


@pytest.mark.parametrize(
    ("line", "most", "kept"),
    [(b"abc", 3, 3), (b"abcd", 3, 3), ("aéb".encode(), 2, 1), ("aé".encode(), 3, 3), ("a😀b".encode(), 4, 1)],
)
def test_a_line_is_cut_on_a_character(line: bytes, most: int, kept: int) -> None:
    assert kept_bytes(line, len(line), most) == kept


def test_bytes_that_are_no_utf8_are_cut_all_the_same() -> None:
    assert kept_bytes(b"\x80" * 100, 100, 50) == 47


def test_a_piece_is_smaller_for_a_costlier_pattern() -> None:
    assert [piece_bytes(cost) for cost in (0, 10, 64, 10_000)] == [256 * KIB, 256 * KIB, 64 * KIB, 2 * KIB]


def at_speed(bytes_per_s: float) -> Callable[[int, int], float]:
    return lambda pos, end: (end - pos) / bytes_per_s


def test_a_fast_pattern_affords_all() -> None:
    assert affordable(1 << 20, 4096, at_speed(100e6)) == 1 << 20
    assert affordable(1 << 30, 1 << 18, at_speed(100e6)) == 1 << 30


def test_a_slow_pattern_affords_what_shows_that_it_is_slow() -> None:
    assert affordable(1 << 20, 4096, at_speed(1e6)) == 8192
    assert affordable(1 << 20, 4096, at_speed(0.02e6)) == 4096


def test_a_pattern_that_is_slow_at_first_only_affords_all() -> None:
    assert affordable(1 << 20, 4096, lambda pos, end: 0.03 if end == 4096 else (end - pos) / 100e6) == 1 << 20


@pytest.mark.parametrize("turn", [5_000, 100_000, 900_000])
def test_a_text_that_turns_hostile_is_never_searched_in_one_with_what_is_fair(turn: int) -> None:
    """Where it does, what is searched at once takes no longer than its fair part and some first pieces."""
    asked: list[tuple[int, int]] = []

    def seconds_for(pos: int, end: int) -> float:
        asked.append((pos, end))
        return 1e-8 * (min(end, turn) - pos) + 4e-5 * max(0, end - max(pos, turn))

    assert affordable(1 << 20, 4096, seconds_for) <= turn
    assert all(end - max(pos, turn) <= 4096 for pos, end in asked)
    assert sum(max(0, end - max(pos, turn)) for pos, end in asked) <= 2 * 4096


def test_a_part_that_is_slow_alone_is_forgiven() -> None:
    """As where other letters begin, for which the automaton must be built, too."""

    def seconds_for(pos: int, end: int) -> float:
        return 0.03 * (pos < 100_000 < end and end - pos == 4096) + (end - pos) / 100e6

    assert affordable(1 << 20, 4096, seconds_for) == 1 << 20


def stream(data: bytes, sizes: list[int]) -> Callable[[int], bytes]:
    """A `read` that gives so many bytes at a time, over and over."""
    place = 0
    turn = 0

    def read(most: int) -> bytes:
        nonlocal place, turn
        size = min(most, sizes[turn % len(sizes)])
        turn += 1
        place += size
        return data[place - size : place]

    return read


@given(TEXTS, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_runs_are_the_stream_again_in_whole_lines(data: bytes, sizes: list[int]) -> None:
    found = list(runs(b"", stream(data, sizes)))
    assert b"".join(run.text for run in found) == data
    assert all(run.text.endswith(b"\n") for run in found[:-1])
    assert all(data[run.offset :].startswith(run.text) for run in found)


@pytest.mark.parametrize("last", [b"", b"tail", b"tail\n"])
def test_the_rest_of_a_line_too_long_to_keep_is_passed_over(last: bytes) -> None:
    data = b"a\n" + b"x" * (5 * LINE_MAX_BYTES) + b"\n" + last
    found = list(runs(b"", stream(data, [BLOCK_BYTES])))
    texts = [run.text for run in found if run.text]
    assert texts[0] == b"a\n"
    assert LINE_MAX_BYTES + 2 <= len(texts[1]) <= LINE_MAX_BYTES + 2 * BLOCK_BYTES
    assert texts[2:] == ([last] if last else [])
    assert [run.is_line_end for run in found if not run.text][-1]
    assert not last or found[-1] == Run(last, len(data) - len(last))


def test_a_line_of_just_the_kept_length_is_whole() -> None:
    data = b"x" * LINE_MAX_BYTES + b"\r\nb\n"
    assert b"".join(run.text for run in runs(b"", stream(data, [BLOCK_BYTES + 1, 1, 1]))) == data


def test_a_long_line_without_an_end_ends_with_the_stream() -> None:
    data = b"x" * (4 * LINE_MAX_BYTES)
    found = list(runs(b"", stream(data, [BLOCK_BYTES])))
    assert not any(run.is_line_end for run in found)
    assert found[0].text
    assert not any(run.text for run in found[1:])
