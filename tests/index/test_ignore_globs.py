"""Globs become sources; what they match is held against git in `test_ignore_git`."""

import pytest

from picoclawd.index.ignore_globs import base_glob_of, literal_of, read_class, source_of


@pytest.mark.parametrize(
    ("glob", "literal"),
    [
        (b"foo", b"foo"),
        (b"a/b.c", b"a/b.c"),
        (b"\\#a\\ b", b"#a b"),
        (b"a\\\\b", b"a\\b"),
        (b"\\*", b"*"),
        (b"{a,b}", b"{a,b}"),
        (b"a]", b"a]"),
        (b"a\\", None),
        (b"a\\\\\\", None),
        (b"*", None),
        (b"a?", None),
        (b"[a", None),
        (b"\\a*", None),
    ],
)
def test_a_glob_without_wildcards_is_a_literal(glob: bytes, literal: bytes | None) -> None:
    assert literal_of(glob) == literal


@pytest.mark.parametrize(
    ("glob", "base"),
    [
        (b"**/a", b"a"),
        (b"**/***/*.o", b"*.o"),
        (b"**/**", b"**"),
        (b"**/", b""),
        (b"**/a/b", None),
        (b"a/**", None),
        (b"*/a", None),
        (b"**a/b", None),
    ],
)
def test_stars_before_one_name_look_at_the_base_name(glob: bytes, base: bytes | None) -> None:
    assert base_glob_of(glob) == base


@pytest.mark.parametrize(
    ("glob", "source"),
    [
        (b"a.c", b"a\\x2ec"),
        (b"*.o", b"[^/]*\\x2eo"),
        (b"a/**/b", b"a/(?:.*/)?b"),
        (b"a/**", b"a/.*"),
        (b"a**", b"a.*"),
        (b"?**", b"[^/][^/]*"),
        (b"a**b", b"a[^/]*b"),
        (b"*/**\\/b", b"[^/]*/.*/b"),
        (b"[ab]", b"[\\x61-\\x62]"),
        (b"[!/]", b"[\\x01-\\x2e\\x30-\\xff]"),
        (b"[/]", None),
        (b"[a", None),
        (b"a?\\", None),
        (b"\\*a", b"\\x2aa"),
        (b"\xe9?", b"\\xe9[^/]"),
    ],
)
def test_a_glob_has_one_source(glob: bytes, source: bytes | None) -> None:
    assert source_of(glob) == source


def test_a_glob_that_needs_more_bytes_than_a_path_has_matches_nothing() -> None:
    assert source_of(b"?" * 4095) is not None
    assert source_of(b"?" * 4096) is None
    assert source_of(b"x" * 4096 + b"*[!a]") is None


@pytest.mark.parametrize(
    ("members", "read"),
    [
        (b"ab]", (b"ab", 3)),
        (b"]a]", (b"]a", 3)),
        (b"a-c]x", (b"abc", 4)),
        (b"c-a]", (b"c", 4)),
        (b"a-]", (b"a-", 3)),
        (b"\\]]", (b"]", 3)),
        (b"a-\\c]", (b"abc", 5)),
        (b"[:digit:]]", (b"0123456789", 10)),
        (b"[:x]", (b"[:x", 4)),
        (b"[:]", (b"[:", 3)),
    ],
)
def test_a_class_holds_bytes(members: bytes, read: tuple[bytes, int]) -> None:
    assert read_class(members, 0) == (frozenset(read[0]), read[1])


@pytest.mark.parametrize("broken", [b"", b"a", b"!", b"!]", b"\\", b"a-\\", b"[:nope:]]", b"[:alpha:", b"[::]]"])
def test_a_broken_class_is_none(broken: bytes) -> None:
    assert read_class(broken, 0) is None
