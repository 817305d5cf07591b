"""Patterns match bytes in linear time and are refused with RE2's reason."""

import threading
import time

import pytest
import re2

from picoclawd.errors import Fault, Slug
from picoclawd.index.matcher import (
    CACHED_PATTERNS,
    PatternCache,
    _find_publicly,
    compile_pattern,
    compile_search,
    compile_set,
)


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


def test_a_set_finds_the_last_of_its_patterns_that_matches_a_whole_name() -> None:
    patterns = compile_set([rb"a[^/]*", rb"[^/]*b", rb"ab", rb".\xe9"])
    assert [patterns.last(name) for name in (b"ab", b"ax", b"xb", b"xab", b"c", b"")] == [2, 0, 1, 1, -1, -1]
    assert patterns.last(b"\n\xe9") == 3


def test_an_empty_set_finds_nothing() -> None:
    assert compile_set([]).last(b"") == -1


def test_a_set_too_large_for_one_program_finds_as_many_small_ones_do() -> None:
    sources = [b"[^/]*a%d[^/]*b[^/]*c[^/]*" % number for number in range(10_000)]
    patterns = compile_set(sources)
    assert patterns.left_out == ()
    for name in (b"xa12_b_c", b"a9999bc", b"a0_a77_a5000b.c", b"a5b"):
        alone = [number for number, source in enumerate(sources) if b"a%d" % number in name]
        single = [number for number in alone if compile_set([sources[number]]).last(name) == 0]
        assert patterns.last(name) == max(single, default=-1)


def test_a_pattern_too_large_alone_is_left_out_of_the_set() -> None:
    every_other = b"".join(b"\\x%02x" % byte for byte in range(1, 256, 2))
    patterns = compile_set([b"a", b"[%b]" % every_other * 4000, b"b"])
    assert patterns.left_out == (1,)
    assert [patterns.last(name) for name in (b"a", b"b")] == [0, 2]


@pytest.mark.parametrize(
    ("source", "slug", "words"),
    [
        ("(foo", Slug.INVALID_PARAMS, "missing ): (foo"),
        ("\ud800", Slug.INVALID_PARAMS, "surrogate"),
        ("a" * 4097, Slug.PATTERN_TOO_COMPLEX, "4096 bytes"),
        ("é" * 2049, Slug.PATTERN_TOO_COMPLEX, "4096 bytes"),
        (r"\pL{60}", Slug.PATTERN_TOO_COMPLEX, "10000"),
        (r"(\pL{500}){2}", Slug.PATTERN_TOO_COMPLEX, "too large"),
    ],
)
def test_a_search_refuses_what_is_wrong_or_too_costly(source: str, slug: Slug, words: str) -> None:
    for multiline in (False, True):
        with pytest.raises(Fault) as fault:
            compile_search(source, multiline=multiline)
        assert fault.value.slug is slug
        assert words in fault.value.message


def test_a_search_takes_a_pattern_of_the_full_length() -> None:
    text = b"a" * 4096
    assert compile_search("a" * 4096).count(text, len(text)) == 1


def test_a_cache_gives_the_same_pattern_until_sixteen_others_came() -> None:
    cache = PatternCache()
    first = cache.compile("a")
    assert cache.compile("a") is first
    assert cache.compile("a", multiline=True) is not first
    for number in range(CACHED_PATTERNS):
        cache.compile(f"a{number}")
    assert cache.compile("a") is not first


def test_the_public_search_of_the_library_finds_what_its_inner_one_does() -> None:
    regexp = re2.compile("(?m)b+$")
    inner = regexp._regexp.Match  # where an upgrade takes this away, every search becomes three times slower
    text = b"abb\nbc\nb"
    for start in range(len(text) + 1):
        for end in range(start, len(text) + 1):
            assert _find_publicly(regexp, text, start, end) == inner(re2._Anchor.UNANCHORED, text, start, end)


def test_a_search_leaves_the_interpreter_to_others() -> None:
    """RE2 releases the GIL: another thread goes on while one search runs."""
    pattern = compile_search("[a-z]{3,}zzz[0-9]")
    text = b"abcdefgh " * 4_000_000
    worker = threading.Thread(target=pattern.count, args=(text, len(text)))
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
    worker.join(30)
    assert turns > 1000
