import time
from datetime import datetime, timedelta

import pytest

from picoclawd.client import times
from picoclawd.client.failures import UsageFault


def test_a_time_is_shown_as_local() -> None:
    noon = datetime(2026, 5, 1, 12, 30, 5).astimezone()
    for value in (noon.timestamp(), noon.isoformat(), (noon.astimezone(tz=None) + timedelta(0)).isoformat()):
        assert times.shown(value) == "2026-05-01 12:30:05"


def test_what_is_no_time_is_shown_as_it_is() -> None:
    assert times.shown("yesterday") == "yesterday"
    assert times.shown(1e30) == "1e+30"


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (119, "119s"), (120, "2m"), (7200, "2h"), (172_800, "2d")])
def test_an_age_has_its_largest_unit(seconds: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    assert times.age(1_000_000.0 - seconds) == text


def test_an_age_of_nothing_is_a_question() -> None:
    assert times.age(None) == "?"


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("10m", 600), ("2h", 7200), ("1d", 86400), ("1w", 604800)])
def test_a_duration_is_counted_back_from_now(text: str, seconds: int) -> None:
    passed = time.time() - datetime.fromisoformat(times.before_now(text)).timestamp()
    assert seconds - 1 < passed < seconds + 60


@pytest.mark.parametrize("text", ["", "10", "m", "-5m", "10 m", "1y", "1.5h", "999999999w"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageFault):
        times.before_now(text)


def test_a_time_goes_back_as_iso() -> None:
    assert datetime.fromisoformat(times.iso(1_700_000_000.25)).timestamp() == 1_700_000_000.25
    assert times.iso("2026-05-01T12:00:00+02:00") == "2026-05-01T12:00:00+02:00"
