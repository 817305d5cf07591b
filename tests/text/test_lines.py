from hypothesis import given, settings
from hypothesis import strategies as st

from picoclawd.text.lines import BOM, body, ending, split_bom, split_lines

TEXTS = st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", BOM, b"\x0c", b"\x85"])).map(b"".join)


def test_a_line_ends_at_newline_and_nowhere_else() -> None:
    assert split_lines(b"a\rb\x0cc\x1c\r\nd\n\ne") == [b"a\rb\x0cc\x1c\r\n", b"d\n", b"\n", b"e"]


def test_a22_a_final_newline_begins_no_line() -> None:
    assert split_lines(b"l1\nl2\nl3\n") == [b"l1\n", b"l2\n", b"l3\n"]
    assert split_lines(b"l1\n\n") == [b"l1\n", b"\n"]


def test_an_empty_file_has_no_line() -> None:
    assert split_lines(b"") == []


def test_a27_lone_carriage_returns_make_one_line() -> None:
    assert split_lines(b"a\rb\rc") == [b"a\rb\rc"]


def test_the_mark_is_parted_only_at_the_start() -> None:
    assert split_bom(BOM + b"a" + BOM) == (BOM, b"a" + BOM)
    assert split_bom(b"a" + BOM) == (b"", b"a" + BOM)


def test_only_one_mark_is_parted() -> None:
    assert split_bom(BOM + BOM) == (BOM, BOM)


def test_a_carriage_return_belongs_to_the_ending_only_before_a_newline() -> None:
    assert [ending(line) for line in (b"a\r\n", b"a\n", b"a\r", b"", b"\r\r\n")] == [b"\r\n", b"\n", b"", b"", b"\r\n"]


@settings(deadline=None)
@given(TEXTS)
def test_lines_are_bodies_and_endings_and_lose_nothing(data: bytes) -> None:
    lines = split_lines(data)
    assert b"".join(body(line) + ending(line) for line in lines) == data
    assert not any(b"\n" in body(line) for line in lines)
    assert all(ending(line) for line in lines[:-1])
