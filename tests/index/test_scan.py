"""A scan finds the lines that match, as ripgrep does, and stops soon when it is told to."""

import random
import string
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.index import scan
from picoclawd.index.matcher import compile_search
from picoclawd.index.pattern import Encoding
from picoclawd.index.scan import COUNT, EXISTS, End, FileHits, Row, Want, scan_file, scan_stream
from tests.index.test_pattern import SOURCES, naive
from tests.index.test_pieces import stream
from tests.stretches import PIECES_MAX, slowest_piece_s

MIB = 1024 * 1024


def line_numbers(source: str, data: bytes, *, multiline: bool = False) -> list[int]:
    hits = scan_file(compile_search(source, multiline=multiline), data)
    assert hits.count == len(hits.rows)
    assert hits.end is End.COMPLETE
    return [row.line_no for row in hits.rows]


# --- the cases ---


def test_a09_a_pattern_that_looks_like_an_option_is_a_pattern() -> None:
    data = b"use --help or -needle\n"
    assert [line_numbers(source, data) for source in ("--help", "-needle", "--pre=/tmp/p.sh")] == [[1], [1], []]


def test_a19_other_separators_end_no_line() -> None:
    data = b"one\n\x0ctwo\nthree\xe2\x80\xa8x\nfour\n"
    assert line_numbers("four", data) == [4]
    assert line_numbers("^two", data) == []
    assert line_numbers("three.x$", data) == [3]


def test_a20_a_lone_carriage_return_ends_no_line() -> None:
    data = b"alpha\nbeta\rcarriage\ngamma NEEDLE\n"
    assert line_numbers("NEEDLE", data) == [3]
    assert line_numbers("beta.carriage", data) == [2]
    assert line_numbers("beta$", data) == []


def test_a24_a_byte_order_mark_belongs_to_no_line() -> None:
    hits = scan_file(compile_search("^test"), b"\xef\xbb\xbftest\ntest\n")
    assert hits.rows == (Row(1, 3, 7, 3, 7), Row(2, 8, 12, 8, 12))


def test_a25_a_final_carriage_return_is_no_part_of_the_line() -> None:
    hits = scan_file(compile_search("needle$"), b"needle\r\nneedle\nneedle\r")
    assert hits.rows == (Row(1, 0, 6, 0, 6), Row(2, 8, 14, 8, 14), Row(3, 15, 21, 15, 21))


def test_a26_a_late_nul_is_text_and_an_early_one_is_binary() -> None:
    late = b"a" * 9_000 + b"\0\nneedle\n"
    assert line_numbers("needle", late) == [2]
    early = b"a" * 100 + b"\0\nneedle\n"
    assert scan_file(compile_search("needle"), early) == FileHits(0, (), End.BINARY)
    assert scan_stream(compile_search("needle"), stream(early, [50])) == FileHits(0, (), End.BINARY)
    assert scan_stream(compile_search("needle"), stream(late, [50])).count == 1


def test_a29_utf16_is_binary() -> None:
    assert scan_file(compile_search("test"), b"\xff\xfet\x00e\x00s\x00t\x00\n\x00").end is End.BINARY


def test_a75_a_match_beyond_the_kept_part_of_a_line_is_reported_as_truncated() -> None:
    line = b"x" * 3_000_000 + b"needle" + b"x" * 2_000_000
    data = b"needle\n" + line + b"\nneedle\n"
    for hits in (scan_file(compile_search("needle"), data), scan_stream(compile_search("needle"), stream(data, [MIB]))):
        assert [row.line_no for row in hits.rows] == [1, 3]
        assert hits.rows[1].start == len(data) - 7
        assert hits.truncated_lines == 1
        assert hits.end is End.COMPLETE


def test_a76_nested_repeats_take_no_longer_than_others() -> None:
    started = time.monotonic()
    assert line_numbers("(a+)+$", b"a" * 40 + b"!\n") == []
    assert line_numbers("(a+)+$", (b"a" * 1000 + b"!\n") * 1000) == []
    assert time.monotonic() - started < 5


def test_a86_raw_separators_of_unicode_end_no_line() -> None:
    data = "a\u2028b\u2029c\x85d\ne\n".encode()
    assert line_numbers("[de]$", data) == [1, 2]


# --- what is found ---


def reference(source: str, data: bytes) -> list[Row]:
    """The rows by their definition: each line alone."""
    rows = []
    start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    for line_no, line in enumerate(data[start:].removesuffix(b"\n").split(b"\n") if data[start:] else [], 1):
        body = line.removesuffix(b"\r")
        span = naive(source, body)
        if span is not None:
            rows.append(Row(line_no, start, start + len(body), start + span[0], start + span[1]))
        start += len(line) + 1
    return rows


DATA = st.builds(
    lambda bom, parts: bom + b"".join(parts),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.sampled_from([b"a", b"b", "é".encode(), b"\xe9", b" ", b"\n", b"\r\n", b"\r", b"xab"]), max_size=40),
)


@contextmanager
def pieces_of(size: int) -> Iterator[None]:
    """Search so many bytes at once: with few of them everything is cut everywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "piece_bytes", lambda cost: size)
        yield


PIECE_SIZES = st.sampled_from([1, 7, 1 << 18])


@given(SOURCES, DATA, PIECE_SIZES)
def test_rows_are_those_of_each_line_searched_alone(source: str, data: bytes, size: int) -> None:
    pattern = compile_search(source)
    wanted = reference(source, data)
    with pieces_of(size):
        assert scan_file(pattern, data) == FileHits(len(wanted), tuple(wanted), End.COMPLETE)
        assert scan_file(pattern, data, COUNT).count == len(wanted)


@given(SOURCES, DATA, PIECE_SIZES, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_a_stream_has_the_rows_of_the_file(source: str, data: bytes, size: int, reads: list[int]) -> None:
    pattern = compile_search(source)
    with pieces_of(size):
        assert scan_stream(pattern, stream(data, reads)) == scan_file(pattern, data)


@given(SOURCES, DATA, st.integers(0, 5), st.integers(1, 5))
def test_no_more_rows_and_lines_than_wanted(source: str, data: bytes, rows: int, lines: int) -> None:
    pattern = compile_search(source)
    every = scan_file(pattern, data)
    kept = scan_file(pattern, data, Want(rows=rows))
    assert (kept.count, kept.rows, kept.end) == (every.count, every.rows[:rows], End.COMPLETE)
    first = scan_file(pattern, data, Want(lines=lines))
    assert first.rows == every.rows[:lines]
    assert first.end is (End.ENOUGH if every.count >= lines else End.COMPLETE)
    assert scan_file(pattern, data, EXISTS).count == min(1, every.count)


def test_a_known_encoding_changes_nothing() -> None:
    for data, encoding in (
        (b"caf\xe9 a\n", Encoding.OTHER),
        ("café a\n".encode(), Encoding.UTF8),
        (b"x a\n", Encoding.ASCII),
    ):
        for source in ("caf. a", " a$", "é"):
            pattern = compile_search(source)
            assert scan_file(pattern, data, encoding=encoding) == scan_file(pattern, data)


def test_lines_are_numbered_across_many_pieces() -> None:
    data = b"".join(b"line %d%s\n" % (number, b"\r" * (number % 2)) for number in range(1, 60_001))
    hits = scan_file(compile_search(r"line \d*77$"), data)
    assert [row.line_no for row in hits.rows] == [number for number in range(1, 60_001) if number % 100 == 77]
    assert all(data[row.start : row.end] == b"line %d" % row.line_no for row in hits.rows)


def test_an_empty_file_has_no_line() -> None:
    for data in (b"", b"\xef\xbb\xbf"):
        for source in ("", "^$", r"\A"):
            assert line_numbers(source, data) == []
            assert line_numbers(source, data, multiline=True) == []
        assert scan_stream(compile_search(""), stream(data, [1])).count == 0


# --- long lines ---


@pytest.mark.parametrize("length", [MIB - 1, MIB, MIB + 1, MIB + 2, 2 * MIB])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""])
def test_a_line_is_searched_up_to_one_mebibyte(length: int, ending: bytes) -> None:
    data = b"x" * (length - 1) + b"y" + ending
    is_whole = length <= MIB
    for source in ("y", "y$", r"y\z", "[y]"):
        pattern = compile_search(source)
        for hits in (scan_file(pattern, data), scan_stream(pattern, stream(data, [MIB, 100_000, 1]))):
            assert (hits.count, hits.truncated_lines) == ((1, 0) if is_whole else (0, 1))
    hits = scan_file(compile_search("x$"), data)
    assert hits.count == 0


def test_a_long_line_is_cut_on_a_character() -> None:
    data = b"x" + "é".encode() * MIB + b"\n"
    hits = scan_file(compile_search("^x[é]*"), data)
    assert hits.rows[0].end == MIB - 1
    assert hits.rows[0].match_end == MIB - 1


# --- multiline ---


@pytest.mark.parametrize(
    ("source", "data", "lines"),
    [
        ("alpha.*omega", b"alpha\nmid\nomega\n", [1, 2, 3]),
        ("a\nb", b"x\na\r\nb\r\n", [2, 3]),
        ("b\n", b"a\nb\nc\n", [2]),
        ("\n", b"a\n\nb", [1, 2]),
        ("^", b"a\nb\n", [1, 2]),
        ("$", b"a\nb", [1, 2]),
        ("^$", b"a\n\nb\n", [2]),
        ("", b"a\n", [1]),
        (r"\Aa|b\z", b"a\na\nb\nb", [1, 4]),
        ("a|b\nc", b"a b\nc\n", [1, 2]),
        ("a(?-s:.)b", b"a\nb\n", []),
        ("caf..x", b"caf\xe9\nx\n", [1, 2]),
        ("é", b"caf\xe9\nx\n", []),
        ("^test", b"\xef\xbb\xbftest\n", [1]),
    ],
)
def test_a_multiline_match_gives_every_line_it_spans(source: str, data: bytes, lines: list[int]) -> None:
    assert line_numbers(source, data, multiline=True) == lines
    assert scan_file(compile_search(source, multiline=True), data, COUNT).count == len(lines)


def test_a_multiline_match_is_cut_to_each_of_its_lines() -> None:
    hits = scan_file(compile_search("b.*c", multiline=True), b"ab\r\n\r\ncd\r\n")
    assert hits.rows == (Row(1, 0, 2, 1, 2), Row(2, 4, 4, 4, 4), Row(3, 6, 8, 6, 7))


def test_a_multiline_scan_ends_with_enough_lines() -> None:
    hits = scan_file(compile_search("(?s).*", multiline=True), b"a\nb\nc\n", Want(lines=2))
    assert (hits.end, [row.line_no for row in hits.rows]) == (End.ENOUGH, [1, 2])


def test_many_matches_on_one_line_take_linear_time() -> None:
    started = time.monotonic()
    assert line_numbers("x", b"x" * 300_000, multiline=True) == [1]
    assert time.monotonic() - started < 10


def test_a_stream_refuses_a_multiline_pattern() -> None:
    with pytest.raises(ValueError, match="whole file"):
        scan_stream(compile_search("a", multiline=True), stream(b"", [1]))


# --- stopping ---


def after(calls: int) -> Callable[[], bool]:
    """A `stop` that says so from one call on."""
    left = calls

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    return stop


def test_a_scan_that_is_stopped_at_once_finds_nothing() -> None:
    for multiline in (False, True):
        assert scan_file(compile_search("a", multiline=multiline), b"a\n", stop=after(0)).end is End.STOPPED
    assert scan_stream(compile_search("a"), stream(b"a\n", [9]), stop=after(0)).end is End.STOPPED


def test_a_stopped_scan_keeps_what_it_found() -> None:
    data = b"a line of text\n" * 100_000
    hits = scan_file(compile_search("line"), data, COUNT, stop=after(2))
    assert hits.end is End.STOPPED
    assert 0 < hits.count < 100_000


def test_what_was_searched_to_its_end_was_not_stopped() -> None:
    assert scan_file(compile_search("a"), b"a\n", stop=after(1)).end is End.COMPLETE


def test_a_line_without_end_can_be_stopped() -> None:
    hits = scan_stream(compile_search("a"), lambda most: b"x" * most, stop=after(20))
    assert hits.end is End.STOPPED


_DICE = random.Random(1)
WORDS = ["".join(_DICE.choices(string.ascii_lowercase, k=_DICE.randint(3, 8))) for _ in range(500)]
HOSTILE = {
    "nested repeats": r"(x+x+)+y",
    "empty repeats": r"(?:a?){900}c",
    "dots": r".*.*.*=.*",
    "states for ever": r"[ab]*a[ab]{400}c",
    "few instructions": r"[ab]*a[ab]{30}c|x.{20}z",
    "many instructions": r"(a|b)*a(a|b){500}c|[^c]{800}d",
    "counted class": r"\w{1000}$",
    "huge classes": r"[^\x00-\x60\x{100}-\x{ffff}]{200}q",
    "500 words": "|".join(WORDS),
    "words, folded": "(?i)(?:" + "|".join(WORDS[:250]) + ")$",
    "a match at once": r"zz|[ab]*a[ab]{400}c",
    "a match at once, slowest": r"zz|(a|b)*a(a|b){500}c|[^c]{800}d",
}


def wide_letters(count: int) -> bytes:
    """Letters of one to three bytes."""
    codes = [*range(0x61, 0x7A), *range(0xC0, 0x2FF), *range(0x4E00, 0x9FFF)]
    return "".join(map(chr, _DICE.choices(codes, k=count))).encode()


TEXTS_FOR_HOSTILE = {
    "random": bytes(_DICE.choices(b"ab", k=2_000_000)),
    "regular": bytes(b"ab"[byte & 1] for byte in bytes(range(251)) * 8000),
    "wide": wide_letters(800_000),
    "fair, then random": b"x" * 300_000 + bytes(_DICE.choices(b"ab", k=1_000_000)),
    "matches, then random": b"zz " * 1000 + bytes(_DICE.choices(b"ab", k=1_000_000)),
}


class Polls:
    """A `stop` that says so after a time, and measures the longest that a scan went without asking it.

    In time of this thread's processor: the machine may be busy with other tests.
    """

    def __init__(self, deadline_s: float) -> None:
        self._started = self._last = time.thread_time()
        self._deadline_s = deadline_s
        self.longest_s = 0.0

    def __call__(self) -> bool:
        now = time.thread_time()
        self.longest_s = max(self.longest_s, now - self._last)
        self._last = now
        return now - self._started > self._deadline_s


@pytest.mark.parametrize("multiline", [False, True])
@pytest.mark.parametrize("width", [60, 2_000_000])
@pytest.mark.parametrize("text", TEXTS_FOR_HOSTILE)
def test_whatever_the_pattern_a_scan_asks_whether_to_stop(text: str, width: int, multiline: bool) -> None:
    """So often that no deadline is passed by 250 ms, on a machine that needs some 40 ms for the slowest piece."""
    letters = TEXTS_FOR_HOSTILE[text]
    data = b"\n".join(letters[index : index + width] for index in range(0, len(letters), width))
    longest_s: dict[str, float] = {}
    for name, source in HOSTILE.items():
        polls = Polls(0.4)
        scan_file(compile_search(source, multiline=multiline), data, stop=polls)
        polls()
        longest_s[name] = polls.longest_s
    assert max(longest_s.values()) < PIECES_MAX * slowest_piece_s(), longest_s


def test_a_scan_that_was_stopped_while_it_tried_a_text_out_finds_nothing_more() -> None:
    """Not even lines that it did not get to: they were not passed over for the pattern's sake."""
    data = TEXTS_FOR_HOSTILE["fair, then random"]
    for calls in range(1, 12):
        hits = scan_file(compile_search(HOSTILE["many instructions"], multiline=True), data, stop=after(calls))
        if hits.end is not End.STOPPED:
            break
        assert (hits.count, hits.truncated_lines) == (0, 0)
    assert calls > 3


@pytest.mark.parametrize(
    "source", [r"\pL{3}zzq", r"\pL+\pN+\pP", r"(?i)\w+ing\b", r"\S+@\S+\.com", r".{0,50}foo", r"\w{30,50}x"]
)
def test_a_fair_pattern_searches_the_whole_of_a_long_line(source: str) -> None:
    letters = [
        chr(code) for first, last in ((0x4E00, 0x9FFF), (0x61, 0x7A), (0xA0, 0x2FF)) for code in range(first, last)
    ]
    line = "".join(random.Random(2).choices(letters, k=300_000)).encode()
    for multiline in (False, True):
        assert scan_file(compile_search(source, multiline=multiline), line).truncated_lines == 0
