"""Tests of redaction: two corpora of strings, windows, values, `masked_text`, and speed."""

import base64
import hashlib
import json
import random
import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.text.redact import (
    JSON,
    MARK,
    MARKERS,
    TRUNCATED,
    WINDOW_REACH_CHARS,
    holds_secret,
    loses_secret,
    redact,
    redact_values,
    redact_window,
    spans,
)

DATA = Path(__file__).parent.parent / "data" / "redact"
GHP = "ghp_" + "a1B2c3D4e5F6" * 3


def _lines(name: str) -> list[str]:
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [line.replace("·", "") for line in lines if not line.startswith("# ")]


MUST_GO = _lines("must_go.txt")
MUST_STAY = _lines("must_stay.txt")
AROUND = ['{"a": "%s", "b": 1}', "export X='%s'\n", "a:\n  - %s\n", "GET /?q=%s&r=2", "// %s", "é %s ü", "\t%s\r\n"]


def test_the_corpora_are_as_large_as_they_should_be() -> None:
    assert len(set(MUST_GO)) >= 60 and len(set(MUST_STAY)) >= 120


@pytest.mark.parametrize("line", MUST_GO)
def test_a_secret_goes_and_nothing_else(line: str) -> None:
    before, rest = line.split("⟦")
    secret, after = rest.split("⟧")
    for frame in ("%s", *AROUND):
        text = frame % (before + secret + after)
        assert redact(text) == frame % (before + MARK + after)
        assert holds_secret(text)


@pytest.mark.parametrize("line", MUST_STAY)
def test_an_ordinary_string_stays(line: str) -> None:
    for frame in ("%s", *AROUND):
        assert redact(frame % line) == frame % line
        assert not holds_secret(frame % line)


BASE64 = base64.b64encode(b"".join(hashlib.sha512(bytes([number])).digest() for number in range(40))).decode()


@pytest.mark.parametrize("width", [60, 64, 70, 72, 76])
@pytest.mark.parametrize("wrap", ["\n", "\r\n    ", "\\n", '"\n    "', "\n\t"])
def test_base64_wrapped_into_lines_stays(width: int, wrap: str) -> None:
    block = wrap.join(BASE64[index : index + width] for index in range(0, len(BASE64), width))
    for text in (f"-----BEGIN X-----{wrap}{block}{wrap}-----END X-----\n", f'k = "{block}"', block):
        assert redact(text) == text


def test_a_list_of_tokens_is_not_wrapped_base64() -> None:
    source = random.Random(3)
    tokens = ["".join(source.choices(string.ascii_letters + string.digits, k=40)) for _ in range(9)]
    assert redact("\n".join(tokens)) == "\n".join([MARK] * 9)


def test_a102_a_token_is_masked_and_hashes_and_uuids_stay_visible() -> None:
    text = f"token={GHP}\nport=1\nsha1=da39a3ee5e6b4b0d3255bfef95601890afd80709\n"
    text += "id=550e8400-e29b-41d4-a716-446655440000\n"
    assert redact(text) == text.replace(GHP, MARK)


def test_a102_a_change_that_puts_the_placeholder_over_a_token_is_noticed() -> None:
    before = f"token={GHP}\nport=1\n".encode()
    assert loses_secret(before, b"token=[FILTERED]\nport=1\n")
    assert not loses_secret(before, before.replace(b"port=1", b"port=2"))


@pytest.mark.parametrize("marker", MARKERS)
def test_every_marker_of_ours_counts(marker: str) -> None:
    assert loses_secret(f"a {GHP}\n".encode(), f"a {marker}\n".encode())


def test_a_token_is_lost_only_together_with_a_new_marker() -> None:
    before = f"a {GHP}\nb [FILTERED]\n".encode()
    assert not loses_secret(before, b"a\nb [FILTERED]\n")
    assert not loses_secret(before, before + b"[FILTERED]\n")
    assert not loses_secret(b"plain\n", b"[FILTERED]\n")
    assert not loses_secret(b"", TRUNCATED.encode())
    assert loses_secret(before, b"a [FILTERED]\nb [FILTERED]\n")


def test_one_of_two_equal_tokens_counts_as_lost() -> None:
    assert loses_secret(f"{GHP}\n{GHP}\n".encode(), f"{GHP}\n[FILTERED]\n".encode())


def test_bytes_that_are_not_utf8_are_compared_too() -> None:
    assert loses_secret(b"\xff\xe9 " + GHP.encode(), b"\xff\xe9 [FILTERED]")


def test_spans_are_sorted_and_disjoint() -> None:
    text = f"Authorization: Bearer {GHP} and {GHP}"
    assert spans(text) == [(22, 22 + len(GHP)), (27 + len(GHP), len(text))]


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_token_cut_by_a_window_edge_is_masked_on_both_sides(left: int, right: int) -> None:
    whole = f"port=1 {GHP} end=2 xyz"
    first, second = sorted((min(left, len(whole)), min(right, len(whole))))
    pages = [whole[:first], whole[first:second], whole[second:]]
    shown = redact_window(pages[0], pages[1], pages[2])
    assert not any(GHP[index : index + 3] in shown for index in range(len(GHP) - 3))
    start = whole.index(GHP)
    touches = first < start + len(GHP) and second > start and first < second  # an empty window shows nothing
    assert shown.count(MARK) == touches
    assert shown.replace(MARK, "") in whole.replace(GHP, "")


def test_a_window_without_surroundings_is_plain_redaction() -> None:
    assert redact_window("", f"a {GHP} b", "") == f"a {MARK} b" == redact(f"a {GHP} b")


def test_the_reach_around_a_window_is_enough_for_a_long_token() -> None:
    token = "sk-proj-" + GHP[4:] * 8
    whole = "x " * 400 + token + " y" * 400
    cut = whole.index(token) + 10
    assert redact_window(whole[max(0, cut - WINDOW_REACH_CHARS) : cut], whole[cut:], "") == MARK + " y" * 400


def test_values_are_redacted_below_every_key_but_the_kept_ones() -> None:
    value: JSON = {
        "path": GHP,
        "rows": [{"text": f"a {GHP}", "line": 3}],
        "ok": True,
        "none": None,
        "deep": {"path": [GHP]},
    }
    assert redact_values(value, frozenset({"path"})) == {
        "path": GHP,
        "rows": [{"text": f"a {MARK}", "line": 3}],
        "ok": True,
        "none": None,
        "deep": {"path": [GHP]},
    }


_PIECES = st.sampled_from([*MUST_GO, *MUST_STAY]).map(lambda line: line.replace("⟦", "").replace("⟧", ""))


@given(
    st.lists(_PIECES | st.text("\0\n a\"'=:/+Bearer") | st.sampled_from(["token=", "Authorization: Bearer", "A" * 64]))
)
def test_a_value_among_others_is_redacted_as_it_is_alone(texts: list[str]) -> None:
    assert redact_values([*texts]) == [redact(text) for text in texts]


@given(st.text() | st.text("abAB01-_+/=. \n%\\eyJsk"))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


HOSTILE = [
    "eyJ",
    "-eyJ",
    "sk-",
    "ghp_",
    "github_pat_",
    "AKIA",
    "ASIA",
    "xoxb-",
    "AIza",
    "Bearer ",
    "bearer+",
    "Bearer .....",
]
HOSTILE += ["a/1B", "A1b2", "token=", "%3D", "\\n", "eyJ" + "a" * 12 + ".", "/" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f"]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    started = time.process_time()
    spans(text)
    assert time.process_time() - started < 4.0  # measured: under 0.7 s; quadratic would be hours


def test_ordinary_source_code_costs_little() -> None:
    sources = sorted(Path(json.__file__).parent.parent.glob("*.py"))[:60]
    text = "".join(path.read_text("utf-8") for path in sources)
    assert (
        min(_seconds(text) for _ in range(5)) / len(text) * 2**20 < 0.15
    )  # measured: 0.010 s; to notice a lost fast path


def _seconds(text: str) -> float:
    started = time.process_time()
    spans(text)
    return time.process_time() - started


def test_most_random_strings_go() -> None:
    source = random.Random(7)
    letters = string.ascii_letters + string.digits
    missed = sum(not holds_secret("".join(source.choices(letters, k=40))) for _ in range(1000))
    assert missed <= 15
