"""Points in time as people and models write them, and as results give them."""

from datetime import UTC, datetime, timedelta

from picoclawd.errors import Fault, Slug

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_time(name: str, text: str) -> int:
    """Nanoseconds since 1970 of a date, a date and time, or ISO 8601; without an offset in the daemon's local time.

    Raises: invalid_params, for the parameter of this name.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1) * 1000
    except (ValueError, OverflowError, OSError) as error:
        raise Fault(
            Slug.INVALID_PARAMS,
            f"`{name}` takes a date (2026-03-31), a date and time (2026-03-31 14:05) or ISO 8601 "
            "(2026-03-31T14:05:00+02:00); without an offset it is local time.",
            path=f"$.{name}",
        ) from error


def local_time(at_ns: int) -> str:
    """ISO 8601 in local time with its offset, to the millisecond; `parse_time` takes it back."""
    moment = datetime.fromtimestamp(at_ns // 1_000_000 / 1000).astimezone()
    return moment.isoformat(timespec="milliseconds")
