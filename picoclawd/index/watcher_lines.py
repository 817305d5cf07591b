"""The lines that the watcher and its child exchange: orders to the child, reports from it. Pure.

A line is a word, a blank, its argument, and `\\n`. Paths are percent-encoded byte for byte: a name may hold any byte,
a line only printable ASCII. Both ends are ours and of one version, so a line that makes no sense is a bug.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

# Three times the longest path (each byte may become %XX), and room for a word and a reason.
LINE_MAX_BYTES = 16 * 1024

# The child looks often while one cookie follows another within so many seconds.
EAGER_FOR_S = 10.0

END_OF_BATCH = b"end-of-batch\n"

_UNSAFE = re.compile(rb"[^!-$&-~]")


@dataclass(frozen=True, slots=True)
class Cookies:
    """Order: watch this directory for cookie files, beside every other. It comes first, or never."""

    path: bytes


@dataclass(frozen=True, slots=True)
class Watch:
    """Order: watch this directory, or watch it anew if it is watched."""

    path: bytes


@dataclass(frozen=True, slots=True)
class Forget:
    """Order: report nothing about this directory any more."""

    path: bytes


@dataclass(frozen=True, slots=True)
class EndOfBatch:
    """Order: act on the orders since the last of these."""


@dataclass(frozen=True, slots=True)
class Dirty:
    """Report: something happened in this directory, or to it; rescan it."""

    path: bytes


@dataclass(frozen=True, slots=True)
class Touched:
    """Report: something happened to this path; its directory is reported dirty, too."""

    path: bytes


@dataclass(frozen=True, slots=True)
class Unwatched:
    """Report: this directory cannot be watched until it is told again; `reason` says why."""

    path: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class CookieSeen:
    """Report: all that happened in watched directories before this cookie was made has been reported."""

    number: int


@dataclass(frozen=True, slots=True)
class Ready:
    """Report: this many batches have been told, and every directory of theirs is watched."""

    batches: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Report: events may have been lost, once; a sweep is due."""

    reason: str


@dataclass(frozen=True, slots=True)
class Degraded:
    """Report: until the next `ready`, told directories are not watched."""

    reason: str


Order: TypeAlias = Cookies | Watch | Forget | EndOfBatch
Report: TypeAlias = Dirty | Touched | Unwatched | CookieSeen | Ready | Lost | Degraded


def quote(path: bytes) -> bytes:
    """Percent-encode a path: blanks, controls, `%` and all that is not ASCII."""
    return _UNSAFE.sub(_percent, path)


def _percent(match: re.Match[bytes]) -> bytes:
    return b"%%%02X" % match[0][0]


def cookies_line(path: bytes) -> bytes:
    """Write the order that names the cookie directory."""
    return b"cookies %s\n" % quote(path)


def watch_lines(paths: Iterable[bytes]) -> bytes:
    """Write orders to watch. Within a batch all that is to be forgotten is, before anything is watched."""
    return b"".join([b"watch %s\n" % quote(path) for path in paths])


def forget_lines(paths: Iterable[bytes]) -> bytes:
    """Write orders to forget."""
    return b"".join([b"forget %s\n" % quote(path) for path in paths])


def hint_lines(dirty: Iterable[bytes], touched: Iterable[bytes] = ()) -> bytes:
    """Write the reports of what happened where."""
    lines = [b"dirty %s\n" % quote(path) for path in dirty]
    lines += [b"touched %s\n" % quote(path) for path in touched]
    return b"".join(lines)


def unwatched_line(path: bytes, reason: str) -> bytes:
    """Write the report that a directory cannot be watched."""
    return b"unwatched %s %s\n" % (quote(path), _reason(reason))


def cookie_line(number: int) -> bytes:
    """Write the report that a cookie has been seen."""
    return b"cookie %d\n" % number


def ready_line(batches: int) -> bytes:
    """Write the report that all that was told is watched."""
    return b"ready %d\n" % batches


def lost_line(reason: str) -> bytes:
    """Write the report that events may have been lost."""
    return b"lost %s\n" % _reason(reason)


def degraded_line(reason: str) -> bytes:
    """Write the report that watching fails."""
    return b"degraded %s\n" % _reason(reason)


def parse_order(line: bytes) -> Order:
    """Read an order, given without its `\\n`. Raises: ValueError, where there is no such order."""
    match line.split(b" "):
        case [b"cookies", path]:
            return Cookies(unquote_to_bytes(path))
        case [b"watch", path]:
            return Watch(unquote_to_bytes(path))
        case [b"forget", path]:
            return Forget(unquote_to_bytes(path))
        case [b"end-of-batch"]:
            return EndOfBatch()
    raise ValueError(f"no order: {line[:80]!r}")


def parse_report(line: bytes) -> Report:
    """Read a report, given without its `\\n`. Raises: ValueError, where there is no such report."""
    word, _, rest = line.partition(b" ")
    match word:
        case b"dirty":
            return Dirty(unquote_to_bytes(rest))
        case b"touched":
            return Touched(unquote_to_bytes(rest))
        case b"unwatched":
            path, _, reason = rest.partition(b" ")
            return Unwatched(unquote_to_bytes(path), reason.decode())
        case b"cookie":
            return CookieSeen(int(rest))
        case b"ready":
            return Ready(int(rest))
        case b"lost":
            return Lost(rest.decode())
        case b"degraded":
            return Degraded(rest.decode())
    raise ValueError(f"no report: {line[:80]!r}")


def _reason(text: str) -> bytes:
    """Fold a reason into one short printable line, whatever a library put into it."""
    return " ".join(text.split()).encode("ascii", "backslashreplace")[:500]
