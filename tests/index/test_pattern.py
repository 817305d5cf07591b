"""A pattern sees each line as if it stood alone, however it is found."""

import re

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.index.matcher import compile_search
from picoclawd.index.pattern import Encoding, encoding_of, required_literal


def matching(source: str, text: bytes, encoding: Encoding | None = None) -> list[bytes]:
    """The lines that match, whichever way they are asked for."""
    pattern = compile_search(source)
    spans = list(pattern.hits(text, len(text), encoding))
    assert pattern.count(text, len(text), encoding) == len(spans)
    return [text[text.rfind(b"\n", 0, start) + 1 :].split(b"\n")[0] for start, _ in spans]


@pytest.mark.parametrize(
    ("source", "text", "lines"),
    [
        ("b", b"abc\nx\nb\n", [b"abc", b"b"]),
        ("^b", b"abc\nbc\n", [b"bc"]),
        ("c$", b"abc\ncx\nc", [b"abc", b"c"]),
        ("^$", b"a\n\nb\n", [b""]),
        ("^$", b"", [b""]),
        ("$", b"a\nb", [b"a", b"b"]),
        ("", b"a\n\nb\n", [b"a", b"", b"b"]),
        ("x*", b"a\nb\n", [b"a", b"b"]),
        ("a.b", b"a\nb\naxb\n", [b"axb"]),
        ("(?s)a.b", b"a\nb\naxb\n", [b"axb"]),
        (r"a\nb", b"a\nb\n", []),
        (r"a\sb", b"a\nb\na b\n", [b"a b"]),
        ("a[^x]b", b"a\nb\na-b\n", [b"a-b"]),
        (r"a\Cb", b"a\nb\na-b\n", [b"a-b"]),
        (r"\Ab", b"a\nb\n", [b"b"]),
        (r"a\z", b"a\nb\n", [b"a"]),
        ("(?-m)^b$", b"a\nb\nc\n", [b"b"]),
        ("(?i-m:^B)", b"a\nb\nc\n", [b"b"]),
        (r"\\A", b"a\\A\nb\n", [b"a\\A"]),
        (r"b\b", b"ab\nbc\n", [b"ab"]),
        ("a{2}", b"aa\na{2}\n", [b"aa"]),
        ("a{", b"aa\na{2}\n", [b"a{2}"]),
        ("a|b", b"a\nc\nb\n", [b"a", b"b"]),
        ("(?i)É", "é\nE\n".encode(), ["é".encode()]),
        ("a\nb", b"a\nb\n", []),
    ],
)
def test_each_line_is_a_text_of_its_own(source: str, text: bytes, lines: list[bytes]) -> None:
    assert matching(source, text) == lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("caf", [b"caf\xe9 noir", "café".encode()]),
        ("caf. noir", [b"caf\xe9 noir"]),
        ("caf.$", ["café".encode()]),
        ("é", ["café".encode()]),
        (r"\xe9", ["café".encode()]),
        (r"\x{e9}", ["café".encode()]),
        (r"\351", ["café".encode()]),
        ("é|noir", [b"caf\xe9 noir", "café".encode()]),
        (r"\Acaf. n", [b"caf\xe9 noir"]),
        ("zzz", []),
    ],
)
def test_a_line_that_is_not_utf8_is_searched_but_no_stray_byte_is_a_letter(source: str, lines: list[bytes]) -> None:
    text = b"caf\xe9 noir\n" + "café\n".encode()
    assert matching(source, text) == lines
    assert matching(source, text, Encoding.OTHER) == lines


def test_a_cut_line_does_not_end_at_the_cut() -> None:
    for source in ("b$", r"b\z", r"b\b"):
        pattern = compile_search(source)
        assert pattern.count(b"abc", 2) == 0
        assert not list(pattern.hits(b"abc", 2))
        assert pattern.count(b"ab", 2) == 1


def test_spans_are_all_matches_of_the_whole_text() -> None:
    text = b"a\nb\nab\n"
    pattern = compile_search("a.b", multiline=True)
    assert list(pattern.spans(text, len(text))) == [(0, 3)]
    assert list(compile_search("^", multiline=True).spans(text, len(text))) == [(0, 0), (2, 2), (4, 4), (7, 7)]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [(b"", Encoding.ASCII), (b"a\x80", Encoding.OTHER), ("é".encode(), Encoding.UTF8), (b"a\n", Encoding.ASCII)],
)
def test_the_encoding_is_found_out(data: bytes, encoding: Encoding) -> None:
    assert encoding_of(data) is encoding


@pytest.mark.parametrize(
    ("source", "literal"),
    [
        ("usb_submit_urb", b"usb_submit_urb"),
        ("", b""),
        ("é", "é".encode()),
        (r"foo\(\)\.\\", b"foo().\\"),
        (r"a\tb\r", b"a\tb\r"),
        (r"a\-b\/\_", b"a-b/_"),
        ("]}", b"]}"),
        ("a.b", None),
        ("a{2}", None),
        (r"\bx", None),
        (r"\x41", None),
        (r"\Qa\E", None),
        (r"a\n", None),
        ("a\n", None),
        ("a\\", None),
        ("(?i)a", None),
        ("a|b", None),
    ],
)
def test_a_literal_is_recognised(source: str, literal: bytes | None) -> None:
    assert required_literal(source) == literal


def test_only_text_without_classes_and_case_has_a_literal() -> None:
    assert compile_search("abc").literal == b"abc"
    assert compile_search("abc", multiline=True).literal is None


ATOMS = st.sampled_from(
    [
        *("a", "b", "é", "ab", ".", "a*", "b+?", "[^a]", "x?", "^", "$", "(a|b)", "(?i:B)", "(?s:.)", "(?-m:^)", "|"),
        *(
            r"\s",
            r"\w",
            r"\W",
            r"\D",
            r"\b",
            r"[\s\S]",
            r"\PL",
            r"\A",
            r"\z",
            r"\n",
            r"\r",
            "[[:space:]]",
            r"\C",
            "a{2}",
        ),
    ]
)
SOURCES = st.lists(ATOMS, max_size=5).map("".join)
TEXTS = st.lists(
    st.sampled_from([b"a", b"b", "é".encode(), b"\xe9", b" ", b"\n", b"\r", b"x", b"B", b"\0"]), max_size=30
).map(b"".join)


def naive(source: str, line: bytes) -> tuple[int, int] | None:
    """The first match on a line, by RE2 on this line alone."""
    match = re2.compile(source).search(line)
    if (
        match is None
        and source.isascii()
        and not re.search(r"\\[x0-7]", source)
        and encoding_of(line) is Encoding.OTHER
    ):
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        match = re2.compile(source.encode(), options).search(line)
    return None if match is None else match.span()


@given(SOURCES, TEXTS)
def test_hits_are_those_of_each_line_searched_alone(source: str, text: bytes) -> None:
    wanted = []
    start = 0
    for line in text.removesuffix(b"\n").split(b"\n"):
        span = naive(source, line)
        if span is not None:
            wanted.append((start + span[0], start + span[1]))
        start += len(line) + 1
    pattern = compile_search(source)
    assert list(pattern.hits(text, len(text))) == wanted
    assert pattern.count(text, len(text)) == len(wanted)


@given(st.text("ab.*é(\\{t", max_size=6), TEXTS)
def test_a_literal_matches_as_its_pattern_does(source: str, text: bytes) -> None:
    literal = required_literal(source)
    try:
        regexp = re2.compile(source)
    except re2.error:
        return
    if literal is not None:
        assert (literal in text) == (regexp.search(text) is not None)
