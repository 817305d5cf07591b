"""Keep searching from being a way to guess secrets: under strict redaction a line that holds one matches only if
what is shown of it does."""

from collections.abc import Sequence
from typing import Any

from picoclawd.index.pattern import SearchPattern
from picoclawd.index.scan import Row, scan_file
from picoclawd.text import redact
from picoclawd.tools._spec import Call
from picoclawd.workspace.excerpt import Lines
from picoclawd.workspace.opened import MakeSieve, Patterns
from picoclawd.workspace.search import Stop

_ROWS_BETWEEN_LOOKS = 64  # at the clock: some milliseconds of masking


def sieve_maker(call: Call[Any]) -> MakeSieve | None:
    """What makes this call's sieves; None where its reader may know of every line."""
    if call.actor.is_operator or call.workspace.options.redaction != "strict":
        return None
    return lambda patterns: _Sieve(patterns)


class _Sieve:
    """Drops the rows that match only in what is masked."""

    def __init__(self, patterns: Patterns) -> None:
        self._patterns = patterns
        self._multiline = any(pattern.multiline for pattern in patterns)

    def __call__(self, rows: Sequence[Row], lines: Lines, stop: Stop) -> tuple[Row, ...]:
        if self._multiline:
            return self._by_file(rows, lines, stop) if rows else ()
        kept: list[Row] = []
        for index, row in enumerate(rows):
            if index % _ROWS_BETWEEN_LOOKS == 0 and stop():
                break
            if self._accepts(lines.whole(row.start, row.end)):
                kept.append(row)
        return tuple(kept)

    def _accepts(self, line: bytes) -> bool:
        text = line.decode("utf-8", "replace")
        masked = redact.redact(text)
        return masked == text or any(_matches(pattern, masked.encode()) for pattern in self._patterns)

    def _by_file(self, rows: Sequence[Row], lines: Lines, stop: Stop) -> tuple[Row, ...]:
        """Of matches that span lines only the whole can tell: the same lines must match where all is masked."""
        text = lines.whole(0, lines.size).decode("utf-8", "replace")
        masked = redact.redact(text)
        if masked == text:
            return tuple(rows)
        found = {row.line_no for each in self._patterns for row in scan_file(each, masked.encode(), stop=stop).rows}
        return tuple(row for row in rows if row.line_no in found)


def _matches(pattern: SearchPattern, line: bytes) -> bool:
    return next(pattern.hits(line, len(line)), None) is not None
