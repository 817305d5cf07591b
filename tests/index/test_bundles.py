"""Bundles: searching joined texts gives what searching each file alone gives."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from picoclawd.errors import Fault
from picoclawd.index import bundles
from picoclawd.index.anchors import anchor_sets, choose, is_dense, tail_of
from picoclawd.index.bundles import Bundle, Joinable, joinable, joinables, pack
from picoclawd.index.dense import tally_dense
from picoclawd.index.literals import requirement
from picoclawd.index.matcher import compile_search
from picoclawd.index.pattern import Encoding, SearchPattern, encoding_of
from picoclawd.index.pieces import LINE_MAX_BYTES
from picoclawd.index.scan import COUNT, is_binary, never, scan_file

FACTS = (0, 0, 0, 0, 0, 0, 0)

TEXTS = st.lists(
    st.text(alphabet="abfoO_ é\n\r\t\u212a(x=1)", max_size=40).map(str.encode)
    | st.sampled_from([b"\xef\xbb\xbffoo\r\nbar", b"\n\n\r", b"\r", b"\xef\xbb\xbf"]),
    max_size=12,
)
PATTERNS = st.sampled_from(
    [
        "foo", "o", "", "^foo", "o$", "^$", "fo|ba", "(?i)FOO", r"\bfoo\b", "a.b", "foo|_x=", "x=1", r"foo.*\(x",
        "[ab]+o", "é", r"\w+\s*=", "^a|b$", "(foo|bar)x?", r"f\(x|=1\)", "k", r"(?i)k", "o{2,3}", r"\r", "foo( |_)o",
    ]
)  # fmt: skip


def bundle_of(texts: list[bytes]) -> Bundle:
    files = []
    for number, data in enumerate(texts):
        text = joinable(data, encoding_of(data))
        assert text is not None
        files.append(Joinable(b"%d" % number, text, FACTS))
    return Bundle(files)


def tally(bundle: Bundle, pattern: SearchPattern, anchors: Sequence[SearchPattern] = ()) -> list[tuple[int, int]]:
    return bundle.tally(lambda text, starts: pattern.tally(text, starts, anchors), never)


def dense(bundle: Bundle, literal: bytes) -> list[tuple[int, int]]:
    return bundle.tally(lambda text, starts: tally_dense(text, starts, literal), never)


def alone(source: str, texts: list[bytes]) -> list[tuple[int, int]]:
    pattern = compile_search(source)
    counts = [(number, scan_file(pattern, data, COUNT).count) for number, data in enumerate(texts)]
    return [(number, count) for number, count in counts if count]


@given(PATTERNS, TEXTS)
def test_a_bundle_counts_what_its_files_do_alone(source: str, texts: list[bytes]) -> None:
    assert tally(bundle_of(texts), compile_search(source)) == alone(source, texts)


@given(PATTERNS, TEXTS)
def test_the_files_that_match_are_those_with_a_count(source: str, texts: list[bytes]) -> None:
    bundle = bundle_of(texts)
    assert compile_search(source).matching(bundle.text, bundle.starts) == [index for index, _ in alone(source, texts)]


@given(PATTERNS, TEXTS)
def test_anchors_drop_no_line(source: str, texts: list[bytes]) -> None:
    pattern = compile_search(source)
    for anchors in anchor_sets(requirement(source)):
        found = tally(bundle_of(texts), pattern, choose(pattern, [b"q" * 100_000]))
        assert found == alone(source, texts), anchors


@given(st.text(alphabet="abfo|()?*+.[]^$\\ \tx=1", max_size=12), TEXTS)
def test_anchors_of_any_pattern_drop_no_line(source: str, texts: list[bytes]) -> None:
    try:
        pattern = compile_search(source)
    except Fault:
        return
    if pattern.suits_bundles:
        assert tally(bundle_of(texts), pattern, choose(pattern, [b"q" * 100_000])) == alone(source, texts)


def test_what_is_in_every_line_is_no_anchor() -> None:
    pattern = compile_search(r"static int .*probe\(")
    samples = [b"static int foo(void)\n" * 100 + b"x = probe(y)\n"]
    assert [anchor.literal for anchor in choose(pattern, samples)] != []
    assert choose(pattern, [b"static int probe(\n" * 100]) == ()


@pytest.mark.parametrize(
    ("source", "tail"),
    [
        ("[a-z]+_[0-9]{4}x", "_[0-9]{4}x"),
        (r"^\s*\w+=b", "=b"),
        ("[a-z]=b|", None),
        ("[a-z]=(b|c)", None),
        (r"\bx+y", "x+y"),
        (r"[^\w.-]+?,", ","),
        (r".*?a[b]", "a[b]"),
        ("plain", None),
        ("[a-z]{3}x", None),
        ("[a-z]x?y", None),
        ("[a-z]x*y", None),
        ("[a-z]x{0}y", None),
        ("[]a]x", None),
        ("[^]a]x", None),
        ("[[:alpha:]]x", None),
        (r"[\x41]x", None),
        ("(a)x", None),
        ("(?i)[a]x", None),
        (r"\wé", None),
        ("[a]|x", None),
    ],
)
def test_a_tail_begins_with_the_first_plain_character(source: str, tail: str | None) -> None:
    compile_search(source)
    assert tail_of(source) == tail


@given(
    st.lists(
        st.sampled_from(["[ab]+", "[^o]", r"\w*", ".", "^", r"\b", r"\s?", "[a-f]*?", "_", "o", "=1", "|", "x", "o$"]),
        max_size=6,
    ),
    TEXTS,
)
@example(["[ab]+", "=1", "|"], [b"a\nb\n"])
@example(["[ab]+", "=1", "|", r"\b"], [b"a\nb\n"])
def test_tails_drop_no_line(parts: list[str], texts: list[bytes]) -> None:
    pattern = compile_search("".join(parts))
    chosen = choose(pattern, [b"q" * 100_000])
    assert tally(bundle_of(texts), pattern, chosen) == alone(pattern.source, texts)


@pytest.mark.parametrize("anchor", ["o|", r"o|\b", "$", "^"])
def test_an_anchor_that_matches_nothing_ends_too(anchor: str) -> None:
    texts = [b"foo\n\nbar\n", b"x\nfoo", b"foo\n\n"]
    assert tally(bundle_of(texts), compile_search("fo+"), [compile_search(anchor)]) == alone("fo+", texts)


def test_a_pattern_without_a_text_is_found_by_its_tail() -> None:
    assert [tail.source for tail in choose(compile_search("[a-z]+_[0-9]{4}x"), [b"a_b\n" * 1000])] == ["_[0-9]{4}x"]
    assert choose(compile_search("[a-z]+_[a-z]"), [b"a_b\n" * 1000]) == ()


@given(st.text(alphabet="abfo_ é", min_size=1, max_size=14), TEXTS)
@example("o", [b"oo\no\n", b"", b"o"])
@example("abfoabfoabfo", [b"abfoabfoabfo\nabfoabfoabff\n", b"abfoabfoabfoabfoabfoabfo"])
def test_dense_literals_are_counted_as_others_are(literal: str, texts: list[bytes]) -> None:
    pattern = compile_search(literal)
    assert pattern.literal == literal.encode()
    assert dense(bundle_of(texts), pattern.literal) == alone(literal, texts)


@given(st.data(), TEXTS)
def test_dense_literals_that_are_there_are_counted_too(data: st.DataObject, texts: list[bytes]) -> None:
    lines = [line for text in texts for line in text.decode().replace("\r", "\n").split("\n") if line.strip("\ufeff")]
    if lines:
        line = data.draw(st.sampled_from(lines)).strip("\ufeff")
        start = data.draw(st.integers(0, len(line) - 1))
        literal = line[start : data.draw(st.integers(start + 1, len(line)))]
        assert dense(bundle_of(texts), literal.encode()) == alone(re.escape(literal), texts)


def test_what_is_dense() -> None:
    samples = [b"return x;\n" + b"y = f(x);\n" * 100]
    assert is_dense(compile_search("return"), samples)
    assert not is_dense(compile_search("nowhere"), samples)
    assert not is_dense(compile_search("x"), samples)
    assert not is_dense(compile_search("retur[n]"), samples)
    assert not is_dense(compile_search(""), samples)


def test_files_die_once() -> None:
    bundle = bundle_of([b"foo\n", b"foo\nfoo\n", b"foo\n"])
    bundle.kill(1)
    bundle.kill(1)
    assert (bundle.dead, bundle.files) == (1, 3)
    assert list(bundle.living()) == [0, 2]


@given(PATTERNS, TEXTS)
def test_a_large_bundle_counts_what_its_files_do_alone(source: str, texts: list[bytes]) -> None:
    pattern = compile_search(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundles, "ONE_CALL_BYTES", 50)  # than which no line of TEXTS is longer
        assert tally(bundle_of(texts), pattern) == alone(source, texts)
        assert tally(bundle_of(texts), pattern, choose(pattern, [b"q" * 100_000])) == alone(source, texts)


def test_a_large_bundle_is_searched_until_it_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "ONE_CALL_BYTES", 8)
    pattern, bundle = compile_search("foo"), bundle_of([b"foo\n" * 100])
    answers = iter([False, False, True])
    assert bundle.tally(pattern.tally, lambda: next(answers)) == [(0, 4)]


@pytest.mark.parametrize(
    "data", [b"a\xffb\n", b"x" * (LINE_MAX_BYTES + 2), b"a\n" + b"x" * (LINE_MAX_BYTES + 2) + b"\nb"]
)
def test_what_must_be_searched_alone_is_not_joined(data: bytes) -> None:
    assert joinable(data, encoding_of(data)) is None


@given(st.lists(st.sampled_from([b"", b"a", b"a\n", b"a\r", b"a\0", b"\xff\n", "é".encode(), b"\xef\xbb\xbfa"])))
def test_many_files_are_joined_as_each_is(datas: list[bytes]) -> None:
    joined, alone = joinables([Joinable(b"%d" % number, data, FACTS) for number, data in enumerate(datas)])
    texts = [None if is_binary(data) else joinable(data, encoding_of(data)) for data in datas]
    assert [(each.path, each.text) for each in joined] == [
        (b"%d" % number, text) for number, text in enumerate(texts) if text is not None
    ]
    assert alone == [b"%d" % number for number, text in enumerate(texts) if text is None]


def test_long_lines_that_are_kept_whole_are_joined() -> None:
    data = (b"x" * LINE_MAX_BYTES + b"\n") * 3
    assert joinable(data, Encoding.ASCII) == data


def test_texts_are_packed_in_order_and_by_size() -> None:
    texts = [Joinable(b"%02d" % number, b"x" * 30 + b"\n", FACTS) for number in range(10)]
    packed = list(pack(texts, bundle_bytes=100))
    assert [bundle.files for bundle in packed] == [3, 3, 3, 1]
    assert [path for bundle in packed for path in bundle.paths] == [each.path for each in texts]
    assert packed[1].text_of(0) == texts[3].text
    assert list(pack([])) == []
