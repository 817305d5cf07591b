"""Match bytes against a regular expression in linear time. The only user of re2.

RE2 knows no back references and no look-around, which is why no pattern can stall the daemon; it also releases the
GIL, which `re` does not.
"""

import re2

from picoclawd.errors import Fault, Slug

_TOO_LARGE = "pattern too large"  # RE2's word for a pattern whose program would pass its memory limit


class Pattern:
    """A compiled pattern; made by `compile_pattern`, safe to share between threads."""

    __slots__ = ("_regexp", "source")

    def __init__(self, source: str, regexp: "re2._Regexp") -> None:
        self.source = source
        self._regexp = regexp

    def search(self, data: bytes) -> bool:
        """Tell whether the pattern matches anywhere in `data` (UTF-8; a stray byte matches no literal letter)."""
        return self._regexp.search(data) is not None


def compile_pattern(source: str) -> Pattern:
    """Compile RE2 syntax; it is unanchored, `.` stops at a newline, `^` and `$` are the ends of the whole text.

    Raises: invalid_params with RE2's reason; pattern_too_complex where its program would be too large.
    """
    options = re2.Options()
    options.log_errors = False  # it would write to stderr, past our log
    try:
        return Pattern(source, re2.compile(source, options))
    except UnicodeEncodeError:
        raise Fault(Slug.INVALID_PARAMS, "bad pattern: it holds a lone surrogate, which is no character") from None
    except re2.error as exc:
        raise _refusal(exc) from None


def _refusal(exc: "re2.error") -> Fault:
    raw = exc.args[0]
    reason = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    if _TOO_LARGE in reason:
        return Fault(Slug.PATTERN_TOO_COMPLEX, f"pattern too complex: {reason}. Use smaller repetition counts.")
    return Fault(Slug.INVALID_PARAMS, f"bad pattern: {reason}. The syntax is RE2's (no look-around, no \\1).")
