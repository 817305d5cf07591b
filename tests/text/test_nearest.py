import time

from hypothesis import given, settings
from hypothesis import strategies as st

from picoclawd.text.nearest import Near, excerpt, nearest, rows_from

ROWS = st.lists(
    st.sampled_from([b"", b"alpha", b"  alpha", b"alphb", b"beta()", b"\xff\xfe", b"alpha\r\n"]), max_size=8
)


def line_nos(nears: tuple[Near, ...]) -> list[int]:
    return [near.line_no for near in nears]


def test_the_line_that_differs_within_a_known_place_comes_first() -> None:
    lines = [b"x = 1", b"def f():", b"    total = 1", b"    return total", b"def g():", b"    totl()"]
    found = nearest(lines, [b"def f():", b"    totl = 1", b"    return total"], 1)
    assert [(near.line_no, near.text) for near in found] == [(3, b"    total = 1")]


def test_the_place_with_most_of_the_wanted_lines_decides() -> None:
    lines = [b"begin", b"other", b"", b"begin", b"middle", b"ending"]
    assert line_nos(nearest(lines, [b"begin", b"midle", b"ending"])) == [4, 5, 6]


def test_one_line_with_a_slip_finds_its_like() -> None:
    lines = [b"import os", b"value = compute(alpha, beta)", b"print(value)"]
    (found,) = nearest(lines, [b"value = comptue(alpha, beta)"])
    assert found.line_no == 2
    assert 0.9 < found.score < 1.0


def test_the_best_are_kept_and_given_in_file_order() -> None:
    lines = [b"apple tart 1", b"nothing", b"apple tart 22", b"apple tart 333", b"apple tart"]
    assert line_nos(nearest(lines, [b"apple tarts"], 2)) == [1, 5]


def test_what_resembles_nothing_gets_no_lines() -> None:
    assert nearest([b"abc", b"def"], [b"0123456789"]) == ()


def test_blank_lines_resemble_nothing() -> None:
    assert nearest([b"a", b"", b"b"], [b"", b"  "]) == ()
    assert nearest([b"a"], []) == ()


def test_no_lines_are_found_when_none_are_asked_for() -> None:
    assert nearest([b"a"], [b"a"], 0) == ()


def test_a_place_that_begins_before_the_file_is_shown_as_far_as_it_goes() -> None:
    assert line_nos(nearest([b"second", b"third"], [b"first", b"second", b"thirt"])) == [1, 2]


def test_rows_are_numbered_cut_and_decoded_leniently() -> None:
    shown = excerpt([Near(7, b"a\xffb", 1.0), Near(12, "é".encode() * 300, 0.5)])
    assert shown.split("\n") == ["7|a\ufffdb", "12|" + "é" * 199 + "…"]


def test_rows_from_takes_lines_as_they_are() -> None:
    assert rows_from([b"a\n", b"b\r\n", b"c"], 2, 5) == (Near(2, b"b", 1.0), Near(3, b"c", 1.0))


def test_a_huge_file_of_long_lines_is_searched_in_bounded_time() -> None:
    lines = [b"%d %s" % (number, b"lorem ipsum " * 40) for number in range(20_000)] * 20
    began = time.perf_counter()
    nearest(lines, [b"dolor sit amet " * 1000] * 1000)
    assert time.perf_counter() - began < 5.0


@settings(deadline=None)
@given(ROWS, ROWS, st.integers(0, 4))
def test_what_is_found_are_lines_of_the_file(lines: list[bytes], wanted: list[bytes], count: int) -> None:
    found = nearest(lines, wanted, count)
    assert len(found) <= count
    assert line_nos(found) == sorted(set(line_nos(found)))
    assert all(near.text == lines[near.line_no - 1].rstrip(b"\r\n") for near in found)
    assert all(0 <= near.score <= 1 for near in found)
