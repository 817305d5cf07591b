"""Tests of escaping for terminals, logs, names and path_bytes."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.errors import Fault, Slug
from picoclawd.text.display import data_name, from_path_bytes, log_line, name, terminal, to_path_bytes

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("a\rb\x08\x00", "a\\rb\\x08\\x00"),
        ("\x7f\x9b31m\x85", "\\x7f\\u009b31m\\u0085"),
        ("\u202eevil\u2066\u061c", "\\u202eevil\\u2066\\u061c"),
        ("\ud83d\udcff", "\\ud83d\\udcff"),
        ("C:\\dir é 漢 😀 👩‍👩‍👧", "C:\\dir é 漢 😀 👩‍👩‍👧"),
    ],
)
def test_a_terminal_gets_no_control_but_tab_and_newline(raw: str, shown: str) -> None:
    assert terminal(raw) == shown


def test_a_log_line_is_one_line() -> None:
    assert log_line("a\nERROR fake\r\n\tb\u2028c\x1b") == "a\\nERROR fake\\r\\n\\tb\\u2028c\\x1b"


@given(ANY_TEXT)
def test_what_is_left_is_encodable_and_holds_no_control(text: str) -> None:
    for shown, allowed in ((terminal(text), "\t\n"), (log_line(text), "")):
        shown.encode()
        assert [char for char in shown if unicodedata.category(char) == "Cc" and char not in allowed] == []
        assert len(log_line(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"a.txt", "a.txt"),
        ("größe 漢 😀.txt".encode(), "größe 漢 😀.txt"),
        (b"back\\slash.txt", "back\\slash.txt"),
        (b"a\nb.txt", "a\\nb.txt"),
        (b"caf\xe9.txt", "caf\\xe9.txt"),
        (b"c\xe9\\x", "c\\xe9\\\\x"),
        (b"\x1b[2J", "\\x1b[2J"),
        ("\x9bx".encode(), "\\u009bx"),
        (b"\x9bx", "\\x9bx"),
        ("exe\u202egpj".encode(), "exe\\u202egpj"),
        ("zero\u200bwidth\ufeff".encode(), "zero\\u200bwidth\\ufeff"),
        ("tag\U000e0041".encode(), "tag\\U000e0041"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
    ],
)
def test_a_name_is_shown_on_one_row(raw: bytes, shown: str) -> None:
    assert name(raw) == shown


def test_a_name_with_an_escape_differs_from_one_that_spells_it() -> None:
    assert name(b"a\\nb\x01") != name(b"a\nb\x01")
    assert name(b"a\\xe9\n") != name(b"a\xe9\n")


@given(
    st.sets(st.lists(st.sampled_from([b"a", b"\\", b"n", b"\n", b"\xe9", b"x", b"e", b"9", b"\xc2\x85"])).map(b"".join))
)
def test_names_that_need_escapes_stay_distinct(raws: set[bytes]) -> None:
    escaped = [raw for raw in raws if name(raw).encode() != raw]
    assert len({name(raw) for raw in escaped}) == len(escaped)


def test_data_names_carry_path_bytes_only_for_bad_bytes() -> None:
    assert data_name("é\n.txt".encode()) == ("é\n.txt", None)
    assert data_name(b"d/caf\xe9 %.txt") == ("d/caf\ufffd %.txt", "d/caf%E9%20%25.txt")


@given(st.binary())
def test_path_bytes_round_trip(raw: bytes) -> None:
    assert from_path_bytes(to_path_bytes(raw)) == raw


@pytest.mark.parametrize(
    ("encoded", "raw"), [("", b""), ("a b", b"a b"), ("%c3%A9/x", b"\xc3\xa9/x"), ("%2541", b"%41"), ("%00", b"\0")]
)
def test_path_bytes_may_leave_ascii_unescaped(encoded: str, raw: bytes) -> None:
    assert from_path_bytes(encoded) == raw


@pytest.mark.parametrize("encoded", ["%", "a%4", "%zz", "%%20", "é", "100%", "% 1", "%+1", "\ud800"])
def test_malformed_path_bytes_are_an_invalid_path(encoded: str) -> None:
    with pytest.raises(Fault) as caught:
        from_path_bytes(encoded)
    assert caught.value.slug is Slug.INVALID_PATH
