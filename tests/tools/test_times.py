"""Points in time: what is read, what is written, and that these agree."""

import time
from collections.abc import Iterator

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.tools._times import local_time, parse_time

NOON_NS = 1_774_958_400 * 1_000_000_000  # 2026-03-31T12:00:00Z


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "after_noon_s"),
    [
        ("2026-03-31", -14 * 3600),
        ("2026-03-31 14:00", 0),
        (" 2026-03-31 14:00:05 ", 5),
        ("2026-03-31T14:00:00", 0),
        ("2026-03-31T12:00:00Z", 0),
        ("2026-03-31T07:00:00-05:00", 0),
        ("2026-01-01", -(89 * 24 + 13) * 3600),
    ],
)
def test_without_an_offset_a_time_is_local(text: str, after_noon_s: int) -> None:
    assert parse_time("from", text) == NOON_NS + after_noon_s * 1_000_000_000


@pytest.mark.parametrize("text", ["", "now", "31.3.2026", "2026-13-01", "2026-03-31 25:00", "1774958400.5", "\ud800"])
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(Fault) as caught:
        parse_time("to", text)
    assert caught.value.slug is Slug.INVALID_PARAMS
    assert caught.value.data["path"] == "$.to"
    assert "2026-03-31 14:05" in caught.value.message


def test_a_time_that_was_given_can_be_asked_for() -> None:
    assert local_time(NOON_NS + 123_456_789) == "2026-03-31T14:00:00.123+02:00"
    assert parse_time("from", local_time(NOON_NS + 123_456_789)) == NOON_NS + 123_000_000
