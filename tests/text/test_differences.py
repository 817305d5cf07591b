import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from picoclawd.text.differences import WORDS, Difference, differences, line_differences, sentences

FILE = "one\n“two” — three\n\tcafe\u0301 four\nzero\u200bwidth\nplain 'x' - y\n"


@pytest.mark.parametrize(
    ("wanted", "what", "line_no"),
    [
        ("one\r\n“two”", "line_endings", 1),
        ("    cafe\u0301", "whitespace", 3),
        ("cafe\u0301four", "whitespace", 3),
        ("plain 'x' - y\n\n", "whitespace", 5),
        ('"two" — three', "quote_style", 2),
        ("plain ‘x’ - y", "quote_style", 5),
        ("” - three", "dashes", 2),
        ("plain 'x' – y", "dashes", 5),
        ("café four", "unicode_form", 3),
        ("zerowidth", "invisible", 4),
        ("\ufeffone", "invisible", 1),
        ("1|one", "row_prefix", 1),
        ("  5\tplain 'x' - y\n", "row_prefix", 5),
        ("1|one\n2|“two” — three\n", "row_prefix", 1),
        ("[FILTERED] — three\n", "marker", 2),
        ("plain [invisible characters removed] 'x'", "marker", 5),
        ("plain 'x' … [truncated]", "marker", 5),
        ("see [data URL omitted: image/png, 12 bytes]cafe\u0301 four", "marker", 3),
        ('"two" - three', "several", 2),
    ],
)
def test_what_keeps_a_text_from_matching_is_named_with_its_line(wanted: str, what: str, line_no: int) -> None:
    assert [(each.what, each.line_no) for each in differences(FILE.encode(), wanted.encode())] == [(what, line_no)]


@pytest.mark.parametrize("wanted", ["none of it", "1|none", "[FILTERED]", "\u200c", " \t"])
def test_a_text_that_is_not_there_at_all_differs_in_nothing_small(wanted: str) -> None:
    assert differences(FILE.encode(), wanted.encode()) == ()


def test_a_notice_that_the_file_itself_holds_is_no_reason() -> None:
    assert differences(b"key=[FILTERED]\n", b"kex=[FILTERED]") == ()


def test_carriage_returns_alone_count_as_line_endings() -> None:
    assert differences(b"a\rb\rc", b"b\nc") == (Difference("line_endings", 1),)


def test_whole_lines_are_found_only_whole() -> None:
    rows = [b"x alpha", b"\talpha", b"beta"]
    assert line_differences(rows, [b"alpha", b"beta"]) == (Difference("whitespace", 2),)
    assert line_differences(rows, [b"alph"]) == ()


def test_bytes_that_are_no_utf_8_do_not_disturb() -> None:
    assert differences(b"\xff\xfe\n  \xd6\xd0 x\n", b"\xd6\xd0  x") == (Difference("whitespace", 2),)


def test_each_difference_becomes_a_sentence_that_holds_no_file_text() -> None:
    said = sentences([Difference("dashes", 3), Difference("whitespace", 9)])
    assert said == f" It would match at line 3 {WORDS['dashes']}. It would match at line 9 {WORDS['whitespace']}."


def test_only_the_first_mebibyte_is_looked_at() -> None:
    began = time.perf_counter()
    assert differences(b"x y\n" * 1_000_000 + b"a  b\n", b"a b") == ()
    assert time.perf_counter() - began < 5.0


@settings(deadline=None)
@given(st.text(), st.text())
def test_a_reported_line_is_a_line_of_the_file(text: str, wanted: str) -> None:
    data = text.encode()
    for each in differences(data, wanted.encode()):
        assert 1 <= each.line_no <= data.count(b"\n") + 1
