"""Rows name their files, and are masked before they are cut."""

import msgspec
import pytest

from picoclawd.text import redact
from picoclawd.text.window import ROW_MAX_BYTES
from picoclawd.tools._render import Renderer, View
from picoclawd.tools._rows import row_of, shown_lines, shown_name
from picoclawd.workspace.scope import Place
from picoclawd.workspace.search import LineHit

PLACE = Place(b"/ws", b"", inside=True)
SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
AGENT, PERSON = Renderer(View.ACCIDENT), Renderer(View.VERBATIM)


def test_a_row_holds_what_it_is_about_and_nothing_else() -> None:
    assert msgspec.to_builtins(row_of(PLACE, b"a/b", line=3, text="x")) == {"path": "a/b", "line": 3, "text": "x"}
    block = [(7, "before", False), (8, "hit", True)]
    assert msgspec.to_builtins(row_of(PLACE, b"a", block=block)) == {
        "path": "a",
        "start_line": 7,
        "lines": [{"line": 7, "text": "before", "match": False}, {"line": 8, "text": "hit", "match": True}],
    }


def test_a_name_that_is_no_utf8_comes_as_bytes_too_and_one_outside_is_absolute() -> None:
    assert row_of(PLACE, b"caf\xe9").path_bytes == "caf%E9"
    assert row_of(Place(b"/out", b"", inside=False), b"a").path == "/out/a"


def test_a_shown_name_has_no_control_characters() -> None:
    assert shown_name(PLACE, b"a b") == "a b"
    assert "\n" not in shown_name(PLACE, b"a\nb")
    assert "\x1b" not in shown_name(PLACE, b"\x1b[31m")


def test_a_long_line_is_cut_around_its_match() -> None:
    text = b"x" * 1000 + "é needle é".encode() + b"y" * 1000
    start = text.index(b"needle")
    (shown,) = shown_lines([LineHit(1, text, (start, start + 6))], PERSON, ROW_MAX_BYTES)
    assert "needle" in shown
    assert len(shown.encode()) <= ROW_MAX_BYTES


@pytest.mark.parametrize("before", [0, 100, 215, 225, 235, 1000])
def test_no_cut_lets_a_part_of_a_secret_through(before: int) -> None:
    text = b"needle" + b"-" * before + b" " + SECRET.encode() + b" " + b"-" * 300
    (shown,) = shown_lines([LineHit(1, text, (0, 6))], AGENT, ROW_MAX_BYTES)
    assert shown.count("ghp_") == 0
    inside = text.index(SECRET.encode()) + 10
    (shown,) = shown_lines([LineHit(1, text, (inside, inside + 4))], AGENT, ROW_MAX_BYTES)
    assert SECRET[:8] not in shown and SECRET[-8:] not in shown
    if before in (0, 100):
        assert redact.MARK in shown


def test_a_secret_in_one_line_changes_no_other() -> None:
    texts = ["a é needle".encode(), f"needle {SECRET}".encode(), b"b needle"]
    hits = [LineHit(1, text, (text.index(b"needle"), text.index(b"needle") + 6)) for text in texts]
    assert shown_lines(hits, AGENT, ROW_MAX_BYTES) == ["a é needle", f"needle {redact.MARK}", "b needle"]
    assert shown_lines(hits, PERSON, ROW_MAX_BYTES)[1] == f"needle {SECRET}"
