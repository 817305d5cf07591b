"""Match bytes against a regular expression in linear time. The only user of re2.

RE2 knows no back references and no look-around, which is why no pattern can stall the daemon; it also releases the
GIL, which `re` does not. `compile_pattern` is for paths and other short texts, `compile_search` for files: there a
pattern is matched against each line as if it stood alone, whichever way the match is found.
"""

import re
from collections.abc import Sequence
from functools import lru_cache, partial

import re2

from picoclawd.errors import Fault, Slug
from picoclawd.index.pattern import Find, SearchPattern, Span, required_literal

PATTERN_MAX_BYTES = 4096  # more than anybody types; RE2's own bound is on the program, after the work is done
PROGRAM_MAX = 10_000  # RE2 instructions; a byte of hostile text costs some nanoseconds for each of them
CACHED_PATTERNS = 16  # each grows to 8 MiB, RE2's default for its automata

_TOO_LARGE = "pattern too large"  # RE2's word for a pattern whose program would pass its memory limit

# A character given by its number may be an accented letter: no stray byte must match it.
_NUMBERED_CHARACTER = re.compile(r"\\[x0-7]")


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


class PatternSet:
    """Several byte patterns, matched against a whole name at once; made by `compile_set`, shared between threads."""

    __slots__ = ("_parts", "left_out")

    def __init__(self, parts: "tuple[tuple[int, re2.Set], ...]", left_out: tuple[int, ...]) -> None:
        self._parts = parts  # the index of the part's first pattern, and the part; last part first
        self.left_out = left_out

    def last(self, data: bytes) -> int:
        """The highest index of a pattern that matches all of `data`; -1 for none."""
        for first, part in self._parts:
            found = part.Match(data)
            if found:
                return first + int(max(found))
        return -1


def compile_set(sources: Sequence[bytes]) -> PatternSet:
    """Compile RE2 sources over bytes: Latin-1, `.` matches every byte. They are ours, so a bad one is a bug.

    A set that needs more memory than RE2 allows is split; a pattern that does alone is left out, its index in
    `left_out`.
    """
    parts: list[tuple[int, re2.Set]] = []
    left_out: list[int] = []
    todo = [(0, len(sources))]
    while todo:
        first, end = todo.pop()
        if first == end:
            continue
        part = _compiled(sources[first:end])
        if part is not None:
            parts.append((first, part))
        elif end - first == 1:
            left_out.append(first)
        else:
            middle = (first + end) // 2
            todo += [(first, middle), (middle, end)]
    return PatternSet(tuple(parts), tuple(left_out))


def _compiled(sources: Sequence[bytes]) -> "re2.Set | None":
    """The set, or None where it is too large: RE2 tries its automaton once, so that no later match can run out."""
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    options.dot_nl = True
    made = re2.Set.FullMatchSet(options)
    for source in sources:
        made.Add(source)
    try:
        made.Compile()
    except re2.error:
        return None
    return made


class LinePattern:
    r"""A pattern for the lines of a text, `\n` between them; made by `compile_lines`, shared between threads."""

    __slots__ = ("_regexp",)

    def __init__(self, regexp: "re2._Regexp") -> None:
        self._regexp = regexp

    def lines(self, text: bytes, limit: int | None = None) -> list[tuple[int, int]]:
        r"""Start and end of each line with a match, in order, at most `limit`; empty lines count, `\n` is in none.

        Fastest for patterns that take the whole line, from `^` to `$`.
        """
        spans: list[tuple[int, int]] = []
        begin = 0
        while begin <= len(text) and (limit is None or len(spans) < limit):
            left = None if limit is None else limit - len(spans)
            begin = self._run(text, begin, left, spans)
        return spans

    def _run(self, text: bytes, begin: int, left: int | None, spans: list[tuple[int, int]]) -> int:
        """Add lines from `begin` on while each match ends its line; give where to go on, past the end if nowhere."""
        for found in self._regexp.finditer(text, begin):
            start, end = found.span()
            if start < begin:
                return begin
            line_end = text.find(b"\n", end)
            if line_end < 0:
                line_end = len(text)
            spans.append((text.rfind(b"\n", begin, start) + 1 or begin, line_end))
            begin = line_end + 1
            left = None if left is None else left - 1
            if end != line_end or left == 0:
                return begin
        return len(text) + 1


def compile_lines(source: str) -> LinePattern:
    r"""Compile RE2 syntax for `LinePattern`; no part of it matches a `\n`. Write `(?m)` for `^` and `$` at lines' ends.

    Raises: as `compile_pattern`.
    """
    compile_pattern(source)
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    return LinePattern(re2.compile(source, options))


class PatternCache:
    """The patterns compiled last, kept because the pages of one search come one after the other. Any thread."""

    def __init__(self) -> None:
        self._compiled = lru_cache(CACHED_PATTERNS, typed=True)(_compile_search)

    def compile(self, source: str, *, multiline: bool = False) -> SearchPattern:
        """Compile as `compile_search`, or give what that gave for the same pattern. Raises: as it does."""
        return self._compiled(source, multiline)


def compile_search(source: str, *, multiline: bool = False) -> SearchPattern:
    r"""Compile RE2 syntax for the lines of files.

    Without `multiline` each line is a text of its own: `^`, `$`, `\A` and `\z` are its ends, and nothing matches a
    newline. With it a file is one text: `.` and classes cross newlines, `^` and `$` are the ends of lines, `\A` and
    `\z` those of the file.

    Raises: invalid_params with RE2's reason; pattern_too_complex over 4 KiB or 10,000 instructions.
    """
    return _compile_search(source, multiline)


def compile_literal(text: bytes) -> SearchPattern:
    """Compile what finds a text, valid UTF-8 without a newline or not."""
    options = re2.Options()
    options.log_errors = False
    options.literal = True
    options.never_capture = True
    options.encoding = re2.Options.Encoding.LATIN1
    regexp = re2.compile(text, options)
    return SearchPattern("", _find_of(regexp), None, cost=regexp.programsize, multiline=False)


def _compile_search(source: str, multiline: bool) -> SearchPattern:
    if len(source.encode("utf-8", "surrogatepass")) > PATTERN_MAX_BYTES:
        raise Fault(Slug.PATTERN_TOO_COMPLEX, f"pattern is longer than {PATTERN_MAX_BYTES} bytes; shorten it")
    compile_pattern(source)  # refuses in words about the pattern as it was given
    regexp = _compile_for_lines(f"(?m){source}", re2.Options.Encoding.UTF8, multiline)
    if regexp.programsize > PROGRAM_MAX:
        message = f"pattern too complex: it compiles to {regexp.programsize} instructions, {PROGRAM_MAX} are allowed"
        raise Fault(Slug.PATTERN_TOO_COMPLEX, f"{message}. Use smaller repetition counts, or [a-z] instead of \\pL.")
    latin = None
    if source.isascii() and _NUMBERED_CHARACTER.search(source) is None and not required_literal(source):
        latin = _compile_for_lines(f"(?m){source}".encode(), re2.Options.Encoding.LATIN1, multiline)
    re2.purge()  # the library keeps 128 patterns of its own; ours are kept by PatternCache and by who uses them
    readings = _find_of(regexp), None if latin is None else _find_of(latin)
    return SearchPattern(source, *readings, cost=regexp.programsize, multiline=multiline)


def _compile_for_lines(source: str | bytes, encoding: "re2.Options.Encoding", multiline: bool) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    options.encoding = encoding
    options.never_capture = True  # nobody reads groups, and each costs a slower engine
    options.never_nl = not multiline
    options.dot_nl = multiline
    try:
        return re2.compile(source, options)
    except re2.error as exc:
        raise _refusal(exc) from None


def _find_of(regexp: "re2._Regexp") -> Find:
    """Give the search of the library's inner object, three times as fast a call as the public one, else that."""
    match = getattr(getattr(regexp, "_regexp", None), "Match", None)
    return partial(_find_publicly, regexp) if match is None else partial(match, re2._Anchor.UNANCHORED)


def _find_publicly(regexp: "re2._Regexp", text: bytes, start: int, end: int) -> list[Span]:
    match = regexp.search(text, start, end)
    return [(-1, -1) if match is None else match.span()]
