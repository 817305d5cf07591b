r"""Check that brackets pair and that strings and comments end, in C and its family, Go, Python and TOML.

This is a scanner, not a compiler, and a false alarm is worse than a miss: what it cannot be sure of is `Skipped`. It
reads the text once, with one pattern a dialect: up to the next character that can begin something, then that thing.
Its repetitions are possessive (`*+`), so they never go back, and time is linear.
"""

import re
from dataclasses import dataclass
from enum import Enum

from picoclawd.limits import BRACKET_STACK_MAX


class Dialect(Enum):
    """Whose strings and comments to expect."""

    C = "c"  # C and C++
    GO = "go"
    PYTHON = "python"
    TOML = "toml"


@dataclass(frozen=True, slots=True)
class Problem:
    """The first fault found. `message` names the line too and holds no file text but brackets; `line_no` is 1-based."""

    message: str
    line_no: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """The check gave up; the text may be right or wrong."""

    reason: str


def check_brackets(text: str, dialect: Dialect) -> Problem | Skipped | None:
    """Find the first bracket, string or comment that does not end as it should; None if all do."""
    scan = _Scan(text)
    result = scan.run(_PATTERNS[dialect])
    if isinstance(result, Problem) and (scan.unsure or (dialect is Dialect.C and _is_conditional(text))):
        return Skipped("conditional compilation, uneven macros or nested f-strings")
    return result


class _Scan:
    """One pass over a text: the open brackets, and whether something was seen that this scanner may misread."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.open: list[int] = []
        self.unsure = False

    def run(self, pattern: re.Pattern[str]) -> Problem | Skipped | None:
        for match in pattern.finditer(self.text):
            kind = match.lastgroup
            found: Problem | Skipped | None = None
            if kind == "open":
                found = self._push(match.start(kind))
            elif kind == "close":
                found = self._pop(match.start(kind))
            elif kind is not None and kind.startswith("unclosed_"):
                self.unsure |= kind == "unclosed_format"
                found = self._problem(match.start(kind), f"{kind.removeprefix('unclosed_')} is not closed")
            elif kind in ("format", "macro"):
                self.unsure |= not _is_even(match[kind])
            if found is not None:
                return found
        return self._left_open()

    def _push(self, place: int) -> Skipped | None:
        if len(self.open) == BRACKET_STACK_MAX:
            return Skipped(f"brackets nest deeper than {BRACKET_STACK_MAX}")
        self.open.append(place)
        return None

    def _pop(self, place: int) -> Problem | None:
        closing = self.text[place]
        if not self.open:
            return self._problem(place, f"'{closing}' closes nothing")
        opening = self.open.pop()
        if _CLOSES[self.text[opening]] == closing:
            return None
        where = f"'{self.text[opening]}' of line {self._line_no(opening)}"
        return self._problem(place, f"'{closing}' stands where the {where} should be closed")

    def _left_open(self) -> Problem | None:
        if not self.open:
            return None
        return self._problem(self.open[-1], f"'{self.text[self.open[-1]]}' is never closed")

    def _problem(self, place: int, what: str) -> Problem:
        line_no = self._line_no(place)
        return Problem(f"line {line_no}: {what}", line_no)

    def _line_no(self, place: int) -> int:
        return self.text.count("\n", 0, place) + 1


_CLOSES = {"(": ")", "[": "]", "{": "}"}


def _is_even(body: str) -> bool:
    """Tell whether a macro's or f-string's body closes what it opens, by counting."""
    return all(body.count(opening) == body.count(closing) for opening, closing in _CLOSES.items())


_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else)\b(?![ \t]+__cplusplus\b)", re.MULTILINE)
_GUARD = re.compile(r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n\s*#[ \t]*define[ \t]+\1\b", re.MULTILINE)


def _is_conditional(text: str) -> bool:
    """Tell whether the preprocessor chooses what is compiled, an include guard and `__cplusplus` apart."""
    guards = 1 if _GUARD.search(text) else 0
    return len(_CONDITION.findall(text)) > guards


# --- what each dialect is made of; group names: open, close, macro, format, unclosed_* ---

_DOUBLE = r'"(?:[^"\\\n]++|\\(?:\r\n|.))*+"'
_SINGLE = r"'(?:[^'\\\n]++|\\(?:\r\n|.))*+'"
_TRIPLE_DOUBLE = r'"""(?:[^"\\]++|\\.|"(?!""))*+"""'
_TRIPLE_SINGLE = r"'''(?:[^'\\]++|\\.|'(?!''))*+'''"
_BLOCK_COMMENT = r"/\*(?:[^*]++|\*(?!/))*+\*/"
_LINE_COMMENT = r"//(?:[^\\\n]++|\\(?:\r\n|.)?)*+"  # a backslash at its end goes on with the next line
_OPEN_COMMENT = r"(?P<unclosed_comment>/\*)"
_OPEN_STRING = r"(?P<unclosed_string>[\"'])"
_BRACKETS = r"(?P<open>[(\[{])|(?P<close>[)\]}])"

# Directives whose rest of line is no code: macros may hold half a block, and `#error` may hold an apostrophe.
_DIRECTIVE = (
    r"(?P<macro>\#[ \t]*(?:define|error|warning|pragma|include|include_next|import|line|ident)\b"
    rf"(?:[^\\\n/\"']++|\\(?:\r\n|.)|{_BLOCK_COMMENT}|/(?![*/])|{_DOUBLE}|{_SINGLE}|[\"'])*+)"
)
_RAW = r'(?<![A-Za-z0-9_])(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\('
_NUMBER = r"(?<![A-Za-z0-9_])[0-9](?:'?[A-Za-z0-9_.])*+"  # with the digit separators of C++14: 1'000

_STRING_HEAD = r"(?<![A-Za-z0-9_])(?:[rR]?[fFtT]|[fFtT][rR])"
_PYTHON_FORMAT = (
    rf"{_STRING_HEAD}(?P<format>{_TRIPLE_DOUBLE}|{_TRIPLE_SINGLE}|(?!\"\"\"|'''){_DOUBLE}|(?!''')(?!\"){_SINGLE})"
)


def _pattern(interesting: str, *branches: str) -> re.Pattern[str]:
    """Skip what cannot begin anything, then take the first branch that fits, or one character that began nothing."""
    return re.compile(rf"[^{interesting}]*+(?:{'|'.join(branches)}|.|\Z)", re.DOTALL | re.ASCII)


_PATTERNS = {
    Dialect.C: _pattern(
        r"\"'/()\[\]{}\#0-9uULR",
        _BRACKETS,
        rf"{_LINE_COMMENT}|{_BLOCK_COMMENT}|{_DIRECTIVE}|{_NUMBER}|{_DOUBLE}|{_SINGLE}",
        rf"{_RAW}(?:[^)]++|\)(?!(?P=mark)\"))*+\)(?P=mark)\"",
        _OPEN_COMMENT,
        _OPEN_STRING,
    ),
    Dialect.GO: _pattern(
        r"\"'`/()\[\]{}",
        _BRACKETS,
        rf"//[^\n]*+|{_BLOCK_COMMENT}|{_DOUBLE}|{_SINGLE}|`[^`]*+`",
        _OPEN_COMMENT,
        r"(?P<unclosed_string>[\"'`])",
    ),
    Dialect.PYTHON: _pattern(
        r"\"'\#()\[\]{}fFtTrR",
        _BRACKETS,
        _PYTHON_FORMAT,
        rf"{_STRING_HEAD}(?P<unclosed_format>[\"'])",
        rf"\#[^\n]*+|{_TRIPLE_DOUBLE}|{_TRIPLE_SINGLE}|(?!\"\"\"){_DOUBLE}|(?!'''){_SINGLE}",
        _OPEN_STRING,
    ),
    Dialect.TOML: _pattern(
        r"\"'\#\[\]{}",
        r"(?P<open>[\[{])|(?P<close>[\]}])",
        rf"\#[^\n]*+|{_TRIPLE_DOUBLE}\"{{0,2}}|'''(?:[^']++|'(?!''))*+'''(?:'{{0,2}})",
        r"(?!\"\"\")\"(?:[^\"\\\n]++|\\[^\n])*+\"|(?!''')'[^'\n]*+'",
        _OPEN_STRING,
    ),
}
