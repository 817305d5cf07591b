"""Patterns match bytes in linear time and are refused with RE2's reason."""

import time

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.index.matcher import compile_pattern


@pytest.mark.parametrize(
    ("source", "data", "matches"),
    [
        ("b", b"abc", True),
        ("^b", b"abc", False),
        ("", b"", True),
        ("c$", b"abc", True),
        ("b$", b"ab\n", False),
        ("a.c", b"a\nc", False),
        ("é", "café".encode(), True),
        ("é", b"caf\xe9", False),
        ("f", b"caf\xe9", True),
        (r"\d+", b"x12", True),
        ("(?i)ABC", b"abc", True),
    ],
)
def test_search_is_unanchored_and_on_utf8(source: str, data: bytes, matches: bool) -> None:
    assert compile_pattern(source).search(data) is matches


@pytest.mark.parametrize(
    ("source", "slug", "words"),
    [
        ("(", Slug.INVALID_PARAMS, "missing )"),
        ("[z-a]", Slug.INVALID_PARAMS, "range"),
        (r"(a)\1", Slug.INVALID_PARAMS, "escape"),
        ("(?=a)", Slug.INVALID_PARAMS, "RE2"),
        ("\ud800", Slug.INVALID_PARAMS, "surrogate"),
        (r"(\pL{500}){2}", Slug.PATTERN_TOO_COMPLEX, "too large"),
    ],
)
def test_a_bad_pattern_is_refused_with_the_reason(source: str, slug: Slug, words: str) -> None:
    with pytest.raises(Fault) as fault:
        compile_pattern(source)
    assert fault.value.slug is slug
    assert words in fault.value.message
    fault.value.message.encode()  # it must be fit to send


def test_a_bad_pattern_says_nothing_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Fault):
        compile_pattern("(")
    assert capfd.readouterr() == ("", "")


def test_no_pattern_takes_more_than_linear_time() -> None:
    started = time.monotonic()
    assert not compile_pattern("(a+)+$").search(b"a" * 100_000 + b"b")
    assert time.monotonic() - started < 5
