"""Show points in time and ages, and read durations."""

import re
import time
from datetime import UTC, datetime, timedelta

from picoclawd.client.failures import UsageFault

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any

_DURATION = re.compile(r"([0-9]{1,9})(s|m|h|d|w)", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def shown(value: "Any") -> str:
    """A time of the daemon's, ISO 8601 or seconds since 1970, as the local date and time; anything else as it is."""
    try:
        when = datetime.fromtimestamp(value) if isinstance(value, int | float) else datetime.fromisoformat(str(value))
        return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(value)


def iso(value: "Any") -> str:
    """A time of the daemon's as its methods take it: ISO 8601."""
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC).isoformat()
    return str(value)


def clock() -> str:
    """Now, as a line of a feed begins."""
    return time.strftime("%H:%M:%S")


def age(since: "Any") -> str:
    """How long ago a number of seconds since 1970 was, in its largest unit."""
    if not isinstance(since, int | float):
        return "?"
    passed = max(0, int(time.time() - since))
    for unit, seconds in (("d", 86400), ("h", 3600), ("m", 60)):
        if passed >= 2 * seconds:
            return f"{passed // seconds}{unit}"
    return f"{passed}s"


def before_now(duration: str) -> str:
    """The time that was `10m` (or 30s, 2h, 1d, 1w) ago, in ISO 8601 with its offset.

    Raises:
        UsageFault: it is no duration.
    """
    match = _DURATION.fullmatch(duration)
    if match is None:
        raise UsageFault(f"{duration!r} is no duration: write 30s, 10m, 2h, 1d or 1w")
    try:
        return (datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})).isoformat()
    except OverflowError:
        raise UsageFault(f"{duration} ago nobody kept time") from None
