"""Tests of stripping: invisible characters, data: URLs, long base64."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd.limits import BASE64_RUN_MIN_CHARS
from picoclawd.text.strip import INVISIBLE_NOTICE, NOTICES, strip

GONE = INVISIBLE_NOTICE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200bb", f"a{GONE}b"),
        ("a\u200b\u2060\ufeffb\u200bc", f"a{GONE}b{GONE}c"),
        ("\ufeffstart", f"{GONE}start"),
        ("x = \u202e'evil'\u2069", f"x = {GONE}'evil'{GONE}"),
        ("tag\U000e0041\U000e0042\U000e007f.", f"tag{GONE}."),
        ("\U0001f3f4\U000e0067\U000e0062\U000e007f", f"\U0001f3f4{GONE}"),
        ("a\ufe00\ufe01b", f"a{GONE}b"),
        ("\U0001f600\U000e0101\U000e0120\U000e0130", f"\U0001f600{GONE}"),
        ("pass\u200dword \u200dx", f"pass{GONE}word {GONE}x"),
        ("a\u3164b\u115fc\u180ed", f"a{GONE}b{GONE}c{GONE}d"),
        ("\ufe0fa", f"{GONE}a"),
        (" \ufe0fa", f" {GONE}a"),
        ("\U0001f468\u200d", f"\U0001f468{GONE}"),
        ("\U0001f468\u200d\u200d\U0001f469", f"\U0001f468{GONE}\U0001f469"),
    ],
)
def test_invisible_runs_become_one_notice(text: str, shown: str) -> None:
    assert strip(text, omit_base64=False) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain ASCII\ttext\r\n",
        "Grüße, 漢字, emoji \U0001f600",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u2764\ufe0f\u200d\U0001f525 1\ufe0f\u20e3",
        "\U0001f9d1\U0001f3fd\u200d\U0001f4bb",
        "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\u845b\U000e0100",
        "soft\u00adhyphen, line\u2028separator",
    ],
)
def test_what_shapes_visible_text_stays(text: str) -> None:
    assert strip(text, omit_base64=True) == text


@pytest.mark.parametrize(
    "url",
    [
        "data:image/png;base64,iVBORw0KGgo=",
        "data:text/plain,hello%20world",
        "data:text/plain;charset=utf-8;base64,aGk=",
        "data:;base64,aGVsbG8=",
        "DATA:Image/SVG+XML;utf8,%3Csvg%3E",
        "data:application/x-font-woff;charset=utf-8;base64," + "d09G" * 5000,
    ],
)
def test_a_data_url_becomes_a_notice_that_tells_its_length(url: str) -> None:
    for frame in ('<img src="%s">', "url(%s)", "(%s)", "a %s b", "'%s'\n"):
        assert strip(frame % url, omit_base64=False) == frame % f"[data URL omitted: {len(url)} chars]"


@pytest.mark.parametrize(
    "text",
    [
        "data: {x}",
        "a[data:,1]",
        "{data:width/height,x:1}",
        "metadata:text/plain,x",
        "data:image/png;base64,${b64}",
        "data:image/png;base64,",
        "the data:\n  image/png",
        "x.data:1,2",
    ],
)
def test_what_only_resembles_a_data_url_stays(text: str) -> None:
    assert strip(text, omit_base64=False) == text


@pytest.mark.parametrize("length", [BASE64_RUN_MIN_CHARS, BASE64_RUN_MIN_CHARS + 1, 3 * BASE64_RUN_MIN_CHARS, 100_000])
@pytest.mark.parametrize("lead", [0, 1, 500, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("tail", ["", "=", "==", " end", "==="])
def test_a_long_base64_run_becomes_a_notice_where_asked(length: int, lead: int, tail: str) -> None:
    run = ("aB3/" * (length // 4 + 1))[:length]
    before = "é " * (lead // 2) + " " * (lead % 2)
    text = before + run + tail
    padding = min(2, tail.count("="))
    assert strip(text, omit_base64=True) == f"{before}[base64 omitted: {length + padding} chars]{tail[padding:]}"
    assert strip(text, omit_base64=False) == text


def test_two_long_runs_are_two_notices() -> None:
    run = "aB3-" * 400
    assert strip(f"{run} {run}", omit_base64=True) == "[base64 omitted: 1600 chars] [base64 omitted: 1600 chars]"


@pytest.mark.parametrize(
    "text", ["aB3/" * 255 + "aB3", "-" * 5000, "a b " * 5000, "=" * 3000, ("a" * 1023 + " ") * 9, ""]
)
def test_shorter_runs_and_rulers_stay(text: str) -> None:
    assert strip(text, omit_base64=True) == text


@given(st.text() | st.text("a\u200b\u200d\ufe0f\U000e0041\U0001f468 data:image/png;base64,"))
def test_every_change_leaves_a_notice_and_a_second_pass_changes_nothing(text: str) -> None:
    once = strip(text, omit_base64=True)
    assert once == text or any(notice in once for notice in NOTICES)
    assert strip(once, omit_base64=True) == once


@pytest.mark.parametrize(
    "unit", ["-", "a", "data:", "data:image/png", ";a=b", "\u200b", "a\u200b", "data:image/png;a=b"]
)
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    strip("é" + unit * (1_000_000 // len(unit)), omit_base64=True)
    assert time.process_time() - started < 4.0  # measured: under 0.6 s
