import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from picoclawd.errors import Fault, Slug
from picoclawd.text.lines import BOM
from picoclawd.text.replace import replace_once

TEXTS = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r", "\ufeff", "é", "$1", " "]), max_size=12).map("".join)


def fault(original: bytes, old: str, new: str = "") -> Fault:
    with pytest.raises(Fault) as caught:
        replace_once(original, old, new)
    return caught.value


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        pytest.param(b"one two three", "two", "2", b"one 2 three", id="a word"),
        pytest.param(b"a\nb\n", "b\n", "", b"a\n", id="a31 deletion"),
        pytest.param(
            b"price: X\n", "X", "$$5 $& $1 $` \\1 \\g<0>", b"price: $$5 $& $1 $` \\1 \\g<0>\n", id="a30 literal"
        ),
        pytest.param(b"a &amp; b", "&amp;", "&lt;\\u003c", b"a &lt;\\u003c b", id="a40 entities"),
        pytest.param(b"a.b axb", "a.b", "c", b"c axb", id="old is no pattern"),
        pytest.param(b"same", "same", "same", b"same", id="equal old and new"),
        pytest.param(b"a\r\nb\nc\r\n", "c", "C", b"a\r\nb\nC\r\n", id="a13 mixed endings"),
        pytest.param(b"x\ny", "x", "X", b"X\ny", id="a15 no newline at the end"),
        pytest.param(BOM + b"{}\n", "{}", "{ }", BOM + b"{ }\n", id="a16 byte order mark"),
        pytest.param(b"const x\n# \xd6\xd0\n", "const x", "const y", b"const y\n# \xd6\xd0\n", id="a17 not utf-8"),
        pytest.param(b"all:\n\tcc a.c\n\tcc b.c\n", "cc a.c", "cc c.c", b"all:\n\tcc c.c\n\tcc b.c\n", id="a18 tabs"),
        pytest.param(b"one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2", b"1\r\n2\r\nthree\r\n", id="a23 lf matches crlf"),
        pytest.param(b"a\rb\rc", "b", "B", b"a\rB\rc", id="a27 lone carriage returns"),
        pytest.param(b"a\rb\rc\n", "b\r", "B\n", b"a\rB\nc\n", id="a carriage return in old keeps new"),
        pytest.param(b"x\r\na\r\nb\r\n", "\na\n", "\nA\nB\n", b"x\r\nA\r\nB\r\nb\r\n", id="lf at both ends"),
        pytest.param(b"x\r\na\r\n", "x\na\n", "y", b"y", id="whole file"),
        pytest.param(b"a\nb\r\na\r\nb", "a\r\nb", "c\nd", b"a\nb\r\nc\nd", id="crlf in old is meant, so is lf in new"),
        pytest.param(b"a\r\nb\r\na\nb\r\n", "a\nb", "c\nd", b"a\r\nb\r\nc\nd\r\n", id="an exact match decides"),
        pytest.param(b"a\r\nb\r\nc\nd", "a\nb\nc\nd", "1\n2", b"1\r\n2", id="mixed region follows most of its lines"),
        pytest.param(b"a\nb\r\nc\r\n", "a\nb\nc", "1\n2", b"1\n2\r\n", id="a tie follows the first"),
        pytest.param(b"a\r\nb\r\n", "a\nb", "1\r\n2\n3", b"1\r\n2\r\n3\r\n", id="crlf in new is not doubled"),
        pytest.param(b"a\r\nb\r\n", "a", "1\n2", b"1\r\n2\r\nb\r\n", id="within a crlf line"),
        pytest.param(b"a\r\nb", "b", "1\n2", b"a\r\n1\r\n2", id="within a last line without an ending"),
        pytest.param(b"a\nb\r\n", "a", "1\n2", b"1\n2\nb\r\n", id="within an lf line"),
        pytest.param(b"a", "a", "1\n2", b"1\n2", id="within the only line"),
        pytest.param(b"aXb", "X", "\n", b"a\nb", id="a new line in the only line"),
    ],
)
def test_one_occurrence_is_replaced_and_the_rest_keeps_its_bytes(
    before: bytes, old: str, new: str, after: bytes
) -> None:
    assert replace_once(before, old, new) == after


def test_a16_a_byte_order_mark_stays_alone_through_many_edits() -> None:
    data = BOM + b"{}\n"
    for _ in range(3):
        data = replace_once(replace_once(data, "{}", "{ }"), "{ }", "{}")
    assert data == BOM + b"{}\n"


def test_old_text_never_matches_across_the_byte_order_mark() -> None:
    error = fault(BOM + b"a\n", "\ufeffa")
    assert error.slug is Slug.NO_MATCH
    assert error.data["differs"] == ["invisible"]


@pytest.mark.parametrize("original", [b"abc", b""])
def test_a31_an_empty_old_text_is_refused(original: bytes) -> None:
    assert fault(original, "", "X").slug is Slug.INVALID_PARAMS


@pytest.mark.parametrize(("old", "new"), [("\ud800", "x"), ("x", "\ud800")])
def test_a_lone_surrogate_is_a_fault_of_the_caller(old: str, new: str) -> None:
    assert fault(b"x", old, new).slug is Slug.INVALID_PARAMS


def test_several_occurrences_are_counted_and_their_lines_named() -> None:
    error = fault(b"x\ny x\nx x\n", "x")
    assert error.slug is Slug.AMBIGUOUS_MATCH
    assert error.message.startswith("old_text appears 4 times. Please provide more context to make it unique")
    assert error.data == {"count": 4, "lines": [1, 2, 3, 3]}


def test_occurrences_are_counted_without_overlap() -> None:
    assert fault(b"aaaa", "aa").data["count"] == 2
    assert replace_once(b"aaa", "aa", "b") == b"ba"


def test_at_most_twenty_lines_are_named() -> None:
    error = fault(b"x\n" * 1000, "x")
    assert error.data == {"count": 1000, "lines": list(range(1, 21))}
    assert "20 and 980 more" in error.message


def test_occurrences_over_crlf_are_ambiguous_too() -> None:
    assert fault(b"a\r\nb\r\n-\r\na\r\nb\r\n", "a\nb\n").data == {"count": 2, "lines": [1, 4]}


def test_a_text_that_is_not_there_gets_the_wording_and_the_nearest_lines() -> None:
    error = fault(b"alpha\nvalue = compute(1)\nomega\n", "valu = compute(1)")
    assert error.slug is Slug.NO_MATCH
    assert error.message.startswith("old_text not found in file. Make sure it matches exactly")
    assert error.excerpt == "2|value = compute(1)"
    assert error.data == {"differs": [], "lines": []}
    assert "compute" not in error.message


def test_a_text_that_resembles_nothing_gets_no_lines() -> None:
    error = fault(b"alpha\n", "0123456789")
    assert error.message == "old_text not found in file. Make sure it matches exactly."
    assert error.excerpt == ""


@pytest.mark.parametrize(
    ("original", "old", "differs", "line_no"),
    [
        pytest.param(b"-\nfoo  bar\n", "foo bar", "whitespace", 2, id="a38 one space"),
        pytest.param("top–level\n".encode(), "top-level", "dashes", 1, id="a43 dash"),
        pytest.param("-\ncafe\u0301\n".encode(), "café", "unicode_form", 2, id="a44 unicode form"),
        pytest.param(b"a\nb\n", "a\r\nb", "line_endings", 1, id="crlf for lf"),
        pytest.param(b"a\r\nb\r\nc\r\n", "a\r\nb\nc", "line_endings", 1, id="crlf and lf in old_text"),
        pytest.param(b"a\r\nx b\r\nc\r\n", "x  b\nc", "whitespace", 2, id="whitespace in a crlf file"),
    ],
)
def test_a_small_difference_is_reported_and_never_bridged(
    original: bytes, old: str, differs: str, line_no: int
) -> None:
    error = fault(original, old, "X")
    assert error.slug is Slug.NO_MATCH
    assert error.data == {"differs": [differs], "lines": [line_no]}
    assert f"line {line_no}" in error.message
    assert error.excerpt.startswith(f"{line_no}|")


def test_a_crlf_file_without_the_text_is_a_plain_no_match() -> None:
    assert fault(b"a\r\nb\r\n", "zzzz\nqqqq").data["differs"] == []


def test_large_and_repetitive_files_do_not_make_it_slow() -> None:
    began = time.perf_counter()
    fault(b"x\r\n" * 2_000_000, "x\n" * 1000 + "y")
    fault(b"x\n" * 2_000_000, "x\n" * 1000 + "y")
    fault(b"ab" * 2_000_000, "ab" * 1000 + "c")
    assert time.perf_counter() - began < 10.0


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS)
@example("\ufeff\ufeff", "\ufeff", "a")
def test_the_rest_of_the_file_survives_any_edit(before: str, old: str, new: str) -> None:
    original = before.encode()
    try:
        result = replace_once(original, old, new)
    except Fault as error:
        assert error.slug in (Slug.INVALID_PARAMS, Slug.NO_MATCH, Slug.AMBIGUOUS_MATCH)
        return
    wanted = old.encode()
    bom = BOM if original.startswith(BOM) else b""  # neither matched nor lost
    assert result.startswith(bom)
    text, got = original[len(bom) :], result[len(bom) :]
    if wanted not in text:
        text, got, wanted = (data.replace(b"\r\n", b"\n") for data in (text, got, wanted))
    head, _, tail = text.partition(wanted)
    assert got.startswith(head)
    assert got.endswith(tail)


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_an_exact_and_only_match_is_replaced_as_bytes_are(head: str, old: str, tail: str, new: str) -> None:
    head, new = head.replace("\ufeff", ""), new.replace("\n", "")
    original = f"{head}<{old}>{tail}".encode()
    assert replace_once(original, f"<{old}>", new) == f"{head}{new}{tail}".encode()


LF_TEXTS = st.lists(st.sampled_from(["a", "b", "\n", "é", " "]), max_size=8).map("".join)


@settings(deadline=None)
@given(LF_TEXTS, LF_TEXTS, LF_TEXTS, LF_TEXTS)
def test_a23_reading_with_lf_and_editing_a_crlf_file_gives_a_crlf_file(
    head: str, old: str, tail: str, new: str
) -> None:
    old = f"<{old}>"
    before, after = f"{head}{old}{tail}\n", f"{head}{new}{tail}\n"
    crlf = before.replace("\n", "\r\n").encode()
    assert replace_once(crlf, old, new) == after.replace("\n", "\r\n").encode()
