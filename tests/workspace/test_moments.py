"""Times as people write them."""

from datetime import UTC, datetime

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.workspace.moments import moment_ns


@pytest.mark.parametrize("text", ["2026-05-01", "2026-05-01 14:30", " 2026-05-01T14:30:05.25 "])
def test_local_times_are_those_of_this_machine(text: str) -> None:
    assert moment_ns(text, "from") == pytest.approx(datetime.fromisoformat(text.strip()).timestamp() * 1e9, abs=1000)


def test_an_offset_counts() -> None:
    expected = datetime(2026, 5, 1, 12, 30, tzinfo=UTC).timestamp()
    assert moment_ns("2026-05-01T14:30:00+02:00", "to") == int(expected) * 1_000_000_000
    assert moment_ns("1969-12-31T23:59:59.5+00:00", "to") == -500_000_000


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "99999-01-01"])
def test_what_is_no_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(Fault) as caught:
        moment_ns(text, "from")
    assert caught.value.slug is Slug.INVALID_PARAMS
    assert "`from`" in caught.value.message
