"""Pages: no character torn, no byte lost, no line begun that does not fit."""

import io

from hypothesis import given
from hypothesis import strategies as st

from picoclawd.text.pages import EDGE_BYTES, BytePage, LinePage, byte_page, line_page


def page_of(data: bytes, offset: int, length: int) -> BytePage:
    start = max(0, offset - EDGE_BYTES)
    return byte_page(data[start : offset + length + EDGE_BYTES], start, len(data), offset, length)


def lines_of(data: bytes, start: int = 1, most: int = 2000, budget: int = 65536, chars: int = 2000) -> LinePage:
    page = line_page(io.BytesIO(data), start, most, budget, chars)
    assert page is not None
    return page


def test_a21_a_page_never_ends_inside_a_character() -> None:
    data = b"A" * 65535 + "é한".encode() + b"\n"
    first = page_of(data, 0, 65536)
    assert (len(first.data), first.lossy) == (65535, False)
    second = page_of(data, first.end, 65536)
    assert (first.data + second.data, second.eof) == (data, True)


def test_an_offset_inside_a_character_starts_at_its_first_byte() -> None:
    page = page_of("aé한b".encode(), 2, 10)
    assert (page.offset, page.data.decode()) == (1, "é한b")
    assert page_of("a한b".encode(), 3, 10).offset == 1
    assert page_of(b"a\xa9\xa9b", 2, 10).offset == 2


def test_a_page_shorter_than_its_one_character_takes_it_whole() -> None:
    assert page_of("한한".encode(), 0, 1).data.decode() == "한"


def test_a_page_past_the_end_is_empty_and_says_so() -> None:
    page = page_of(b"abc", 9, 5)
    assert (page.data, page.eof, page.offset) == (b"", True, 3)


def test_invalid_bytes_are_lossy() -> None:
    assert page_of(b"caf\xe9 ole", 0, 20).lossy


@given(st.binary(max_size=60) | st.text(max_size=30).map(str.encode), st.integers(1, 9))
def test_pages_joined_are_the_file(data: bytes, length: int) -> None:
    joined, offset = b"", 0
    for _ in range(len(data) + 1):
        page = page_of(data, offset, length)
        joined += page.data
        offset = page.end
        if page.eof:
            break
    assert joined == data


def test_the_budget_counts_prefixes_and_newlines() -> None:
    page = lines_of(b"1234567\nsecond\n", budget=10)
    assert [row.text for row in page.rows] == ["1234567"]
    assert (page.file_bytes, page.output_bytes, page.next_line, page.cut_line) == (8, 10, 2, None)


def test_the_first_line_is_cut_at_the_budget_and_the_next_page_starts_after_it() -> None:
    page = lines_of(b"abcdefghijkl\nx\n", budget=8)
    assert (page.rows[0].text, page.cut_line, page.next_line) == ("abcde", 1, 2)
    last = lines_of(b"abcdefghijkl\n", budget=8)
    assert (last.cut_line, last.next_line) == (1, None)


def test_a_long_line_is_cut_and_reading_goes_on() -> None:
    page = lines_of(b"y" * 5000 + b"\nx\n")
    assert (len(page.rows[0].text), page.rows[0].cut, page.rows[1].text) == (2000, True, "x")
    assert page.file_bytes == 5003


def test_a_line_longer_than_what_is_kept_counts_whole() -> None:
    data = b"z" * 300_000 + b"\r\nend"
    page = lines_of(data, budget=1000, chars=100)
    assert page.file_bytes == len(data)
    assert page.rows[1].text == "end"


def test_a22_a_start_past_the_last_line_is_no_page() -> None:
    assert line_page(io.BytesIO(b"l1\nl2\nl3\n"), 4, 10, 1000, 100) is None
    assert line_page(io.BytesIO(b"l1\nl2\nl3\n"), 9, 10, 1000, 100) is None
    assert lines_of(b"l1\n\n").end_line == 2


def test_an_empty_file_is_an_empty_page() -> None:
    page = lines_of(b"")
    assert (page.rows, page.next_line) == ((), None)


def test_a19_a20_a27_only_a_newline_ends_a_line() -> None:
    assert lines_of("one\n\x0ctwo\nthree\u2028x\nfour\n".encode(), start=3).rows[0].text == "three\u2028x"
    assert lines_of(b"alpha\nbeta\rcarriage\ngamma NEEDLE\n", start=3).rows[0].text == "gamma NEEDLE"
    assert len(lines_of(b"a\rb\rc").rows) == 1


def test_a_byte_order_mark_and_carriage_returns_are_not_shown() -> None:
    page = lines_of(b"\xef\xbb\xbfa\r\nb")
    assert [row.text for row in page.rows] == ["a", "b"]


@given(st.lists(st.text(alphabet="ab é\r", max_size=12), max_size=12), st.integers(1, 5), st.integers(8, 60))
def test_pages_of_lines_show_every_line_once(lines: list[str], most: int, budget: int) -> None:
    data = "\n".join(lines).encode()
    shown: list[int] = []
    start: int | None = 1
    while start is not None:
        page = line_page(io.BytesIO(data), start, most, budget, 2000)
        if page is None:
            break
        shown += [row.line_no for row in page.rows]
        start = page.next_line
    assert shown == list(range(1, len(shown) + 1))
    assert len(shown) == len(data.split(b"\n")) - (data.endswith(b"\n") or not data)
