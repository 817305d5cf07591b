r"""Many paths in one text are searched like each alone, and come out as the bytes that they are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.index.matcher import compile_lines, compile_pattern
from picoclawd.index.pathblob import EMPTY, BlobBuilder, PathBlob, order_key, shown
from picoclawd.text import glob

_NAMES = st.lists(st.binary(min_size=1, max_size=6).filter(lambda name: not set(name) & set(b"/\0")), max_size=8)
_FORMS = ["*", "a*", "*.c", "?", "[!a]*", "b", "d/*", "**/a", ""]


def blob_of(names: list[bytes], directory: bytes = b"d") -> PathBlob:
    builder = BlobBuilder(directory)
    for name in names:
        builder.add([name])
    return builder.done()


@given(_NAMES, _NAMES, st.sampled_from([b"", b"d", b"caf\xe9", b"a\nb"]))
def test_paths_come_out_as_they_went_in(names: list[bytes], more: list[bytes], directory: bytes) -> None:
    builder = BlobBuilder(directory)
    if names:
        builder.add(names)
    builder.join(blob_of(more, b"z\xff"))
    blob = builder.done()
    prefix = directory + b"/" if directory else b""
    assert blob.lines() == [prefix + name for name in names] + [b"z\xff/" + name for name in more]
    assert blob.count == len(names) + len(more)
    assert blob.text.decode() == "\n".join(shown(path).decode() for path in blob.lines())


@given(_NAMES, st.sampled_from(_FORMS), st.sampled_from([None, 1, 2]))
def test_select_finds_what_each_line_alone_would(names: list[bytes], form: str, limit: int | None) -> None:
    blob = blob_of(names)
    one = compile_pattern(glob.to_re2(form))
    expected = [path for path in blob.lines() if one.search(shown(path))]
    assert blob.select(compile_lines(glob.to_re2_lines(form)), limit) == expected[:limit]


@given(_NAMES, st.binary(min_size=1, max_size=2).filter(lambda part: b"\n" not in part))
def test_find_finds_what_each_line_alone_would(names: list[bytes], literal: bytes) -> None:
    blob = blob_of(names)
    expected = [path for path in blob.lines() if literal in shown(path)]
    assert blob.find(literal) == expected
    assert blob.find(literal, 1) == expected[:1]


@pytest.mark.parametrize(
    "source", ["a", "a*", "(?m)^", "(?m)$", "(?m)^a", "b(?m)$", "[^x]+", r"\s", "(?m)^$", "a|b", "."]
)
@pytest.mark.parametrize("text", [b"", b"a", b"a\nb", b"aa\n\nba\n", b"\n\n", b"ab\nb a\nx"])
def test_lines_are_found_once_and_no_match_crosses_them(source: str, text: bytes) -> None:
    expected = []
    start = 0
    for line in text.split(b"\n"):
        if re.search(source.replace("(?m)", ""), line.decode()):
            expected.append((start, start + len(line)))
        start += len(line) + 1
    pattern = compile_lines(source)
    assert pattern.lines(text) == expected
    for limit in (1, 2):
        assert pattern.lines(text, limit) == expected[:limit]


def test_a_blob_can_be_read_from_a_directory_of_it() -> None:
    blob = blob_of([b"d/x", b"caf\xe9", b"y"], b"d")
    assert blob.relative(b"d").lines() == [b"d/x", b"caf\xe9", b"y"]
    assert blob.relative(b"") is blob
    assert blob_of([b"x"], b"\xff\n").relative(b"\xff\n").lines() == [b"x"]
    assert EMPTY.relative(b"d").lines() == []


def test_only_an_odd_path_has_other_bytes() -> None:
    blob = blob_of([b"x", b"a\nb", b"y"])
    assert [blob.real(index) for index in range(3)] == [None, b"d/a\nb", None]
    assert EMPTY.lines() == []


@given(st.lists(st.lists(st.sampled_from([b"a", b"a-", b"a0", b"b", b"\x01"]), min_size=1, max_size=4), max_size=6))
def test_the_order_key_sorts_depth_first(paths: list[list[bytes]]) -> None:
    joined = [b"/".join(path) for path in paths]
    assert sorted(joined, key=order_key) == [b"/".join(path) for path in sorted(paths)]
