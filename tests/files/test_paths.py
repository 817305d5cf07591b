"""Parsing is pure text: what is inside, what is outside, and what is no path."""

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from picoclawd.errors import Fault, Slug
from picoclawd.files import paths
from picoclawd.files.paths import WsPath

ROOTS = (b"/t/ws", b"/home/me/ws")


@pytest.mark.parametrize(
    ("given", "absolute", "relative", "wants_directory"),
    [
        ("a", b"/t/ws/a", b"a", False),
        ("a/b", b"/t/ws/a/b", b"a/b", False),
        ("./a//b/.", b"/t/ws/a/b", b"a/b", True),
        ("a/", b"/t/ws/a", b"a", True),
        ("a/..", b"/t/ws", b"", True),
        (".", b"/t/ws", b"", True),
        ("link/../x", b"/t/ws/x", b"x", False),
        ("/t/ws", b"/t/ws", b"", False),
        ("/t/ws/", b"/t/ws", b"", True),
        ("/t/ws/a", b"/t/ws/a", b"a", False),
        ("//t///ws//a", b"/t/ws/a", b"a", False),
        ("/home/me/ws/a", b"/t/ws/a", b"a", False),
        ("/home/me/ws", b"/t/ws", b"", False),
        ("/home/me/other/../ws/a", b"/t/ws/a", b"a", False),
        ("../ws/a", b"/t/ws/a", b"a", False),
        ("../ws-evil/x", b"/t/ws-evil/x", None, False),
        ("/t/ws-evil/x", b"/t/ws-evil/x", None, False),
        ("/home/me/ws2", b"/home/me/ws2", None, False),
        ("/t/w", b"/t/w", None, False),
        ("..", b"/t", None, True),
        ("../../../..", b"/", None, True),
        ("/", b"/", None, True),
        ("~/a", b"/t/ws/~/a", b"~/a", False),
        ("a b", b"/t/ws/a b", b"a b", False),
        (" a", b"/t/ws/ a", b" a", False),
        ("é", b"/t/ws/\xc3\xa9", b"\xc3\xa9", False),
        ("...", b"/t/ws/...", b"...", False),
    ],
)
def test_a02_a_path_is_normalised_as_text_and_compared_by_components(
    given: str, absolute: bytes, relative: bytes | None, wants_directory: bool
) -> None:
    assert paths.parse(given, ROOTS) == WsPath(given, absolute, relative, wants_directory)


def test_bytes_are_taken_as_they_are_and_shown_escaped() -> None:
    parsed = paths.parse(b"caf\xe9", ROOTS)
    assert (parsed.relative, parsed.given) == (b"caf\xe9", r"caf\xe9")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "blank"),
        (" \t\n", "blank"),
        (b"", "blank"),
        (b"  ", "blank"),
        ("a\0b", "NUL"),
        (b"a\0b", "NUL"),
        ("\udce9", "path_bytes"),
        ("x" * 256, "256 bytes"),
        ("é" * 128, "256 bytes"),
        ("a/" * 2048, "bytes long, at most 4095"),
        ("a/" * 257, "deep"),
        ("/b" + "/a" * 256, "deep"),
    ],
)
def test_what_is_no_path_is_refused_with_its_reason(given: str | bytes, words: str) -> None:
    with pytest.raises(Fault, match=words) as fault:
        paths.parse(given, ROOTS)
    assert fault.value.slug is Slug.INVALID_PATH
    fault.value.message.encode()  # it must be fit to send
    assert paths.lane_key(given, ROOTS) is None


def test_the_longest_path_and_name_are_taken() -> None:
    assert paths.parse("x" * 255, ROOTS).relative == b"x" * 255
    assert paths.parse("/b" + "/a" * 255, ROOTS).absolute.count(b"/") == 256
    longest = "/" + "/".join(["y" * 255] * 15) + "/" + "y" * 254
    assert len(paths.parse(longest, ROOTS).absolute) == 4095
    with pytest.raises(Fault, match="4096"):
        paths.parse(longest + "y", ROOTS)


def test_a_workspace_at_the_top_holds_everything() -> None:
    assert paths.parse("etc/x", (b"/",)) == WsPath("etc/x", b"/etc/x", b"etc/x", False)
    assert paths.parse("/", (b"/",)).relative == b""


def test_all_spellings_share_one_lane() -> None:
    spellings = ["a/b", "./a//b", "a/c/../b", "/t/ws/a/b", "/home/me/ws/a/b/", b"a/b"]
    assert {paths.lane_key(spelling, ROOTS) for spelling in spellings} == {b"/t/ws/a/b"}


def test_a_lane_key_never_raises() -> None:
    for odd in (None, 3, ["a"], {"path": "a"}, True):
        assert paths.lane_key(odd, ROOTS) is None


@pytest.mark.parametrize(
    ("path", "parts"),
    [(b"/a/b", (b"/a", b"b")), (b"/a", (b"/", b"a")), (b"/", (b"/", b"")), (b"a/b", (b"a", b"b")), (b"a", (b"", b"a"))],
)
def test_split_parts_directory_and_name(path: bytes, parts: tuple[bytes, bytes]) -> None:
    assert paths.split(path) == parts


def test_join_and_below_undo_each_other() -> None:
    for root in (b"/", b"/t/ws"):
        for relative in (b"", b"a", b"a/b"):
            assert paths.below(paths.join(root, relative), root) == relative


@for_all(st.lists(st.sampled_from(["a", "b", "..", ".", "", "ws", "t"]), min_size=1, max_size=12), st.booleans())
def test_a_normalised_path_holds_no_dots_and_stays_when_parsed_again(parts: list[str], absolute: bool) -> None:
    given = ("/" if absolute else "") + "/".join(parts)
    if not given.strip():
        return
    parsed = paths.parse(given, ROOTS)
    assert not {b".", b".."} & set(parsed.absolute.split(b"/"))
    assert b"//" not in parsed.absolute
    assert paths.parse(parsed.absolute, ROOTS).absolute == parsed.absolute
    assert (parsed.relative is None) == (paths.below(parsed.absolute, ROOTS[0]) is None)
