"""Points in time as people and models write them: local dates and times, and ISO 8601 with an offset."""

from datetime import datetime

from picoclawd.errors import Fault, Slug


def moment_ns(text: str, name: str) -> int:
    """Nanoseconds since 1970 of a local date (its midnight), date and time, or ISO 8601 time with an offset.

    Raises: invalid_params, naming the parameter.
    """
    try:
        when = datetime.fromisoformat(text.strip())
        return int(when.replace(microsecond=0).timestamp()) * 1_000_000_000 + when.microsecond * 1000
    except (ValueError, OverflowError, OSError) as exc:
        raise Fault(
            Slug.INVALID_PARAMS,
            f"`{name}` is no time that can be read: give a local date (2026-05-01), a date and a time "
            "(2026-05-01 14:30), or ISO 8601 (2026-05-01T14:30:00+02:00).",
            path=f"$.{name}",
        ) from exc
