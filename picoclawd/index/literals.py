r"""Read a search pattern for what each of its matches must contain, so that a text without it need not be searched.

A pattern is read once, from left to right, with the strings in hand that a match can hold at that place
(`pattern_parts`). Nothing is said of newlines: `\r\n` in a file is `\n` to a pattern. What is not understood filters
nothing, so a pattern that RE2 refuses may come out as anything.
"""

import re
from dataclasses import dataclass, field

from picoclawd.index.pattern_parts import EMPTY, GAP, Part, alternation, concatenation, exact_of, repetition, total
from picoclawd.index.requirements import ANYTHING, Literal, Requirement

_CLASS_MAX = 4  # characters of a class that are told apart; of `[0-9]` every digit is somewhere
_DEPTH_MAX = 50  # of groups: what walks a requirement recurses

# RE2's (?i) follows Unicode's simple folding, by which two ASCII letters have a partner outside of ASCII.
_PARTNERS = {"k": "\u212a", "s": "\u017f"}


def requirement(source: str, *, multiline: bool = False) -> Requirement:
    r"""Tell what a file must contain if a pattern matches anywhere in it. Raises nothing.

    Takes RE2 syntax, and `multiline`, as `matcher.compile_search` does; holds for a file's bytes as they are on disk.
    A line break may be part of a match only with `multiline`.
    """
    try:
        whole = _Parser(source, multiline).parse()
    except _NotUnderstood:
        return ANYTHING
    return total(whole)


class _NotUnderstood(Exception):
    """The pattern holds what this module does not know, or RE2 would refuse."""


_NUMBER = r"\\x[0-9A-Fa-f]{2}|\\x\{[0-9A-Fa-f]+\}|\\0[0-7]{0,2}|\\[1-7][0-7]{1,2}"
_CHARACTER = rf"(?P<number>{_NUMBER})|(?P<control>\\[afnrtv])|(?P<escaped>\\[\x00-/:-@\[-`\{{-\x7f])"
_WIDE = r"\\[dDsSwW]|\\[pP](?:\{[^}]*\}|[^{])"

# The syntax that RE2 reads with its default options; a name is the token's kind.
_TOKEN = re.compile(
    rf"""
    \\Q(?P<quoted>.*?)(?:\\E|\Z) | {_CHARACTER}
    | (?P<empty>\\[bBAz] | [\^$])
    | (?P<gap>\. | \\C | {_WIDE})
    | (?P<flags>\(\?[imsU-]*\))
    | \((?P<open>(?!\?) | \?P?<[^>]*> | \?[imsU-]*:)
    | (?P<close>\)) | (?P<bar>\|) | (?P<bracket>\[)
    | (?: (?P<simple>[*+?]) | \{{(?P<least>0|[1-9][0-9]*)(?P<comma>,(?P<most>0|[1-9][0-9]*)?)?\}} ) (?P<repeat>\??)
    | (?P<plain>[^\\(])
    """,
    re.DOTALL | re.VERBOSE,
)
_SIMPLE_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROLS = dict(zip("afnrtv", "\a\f\n\r\t\v", strict=True))

_MEMBER = re.compile(rf"(?P<wide>\[:.*?:\]|{_WIDE})|{_CHARACTER}|(?P<plain>[^\\])", re.DOTALL)


@dataclass(slots=True)
class _Group:
    """A group that is open: the parts of its last alternative, the alternatives before, whether (?i) is on."""

    folded: bool
    parts: list[Part] = field(default_factory=list)
    alternatives: list[Part] = field(default_factory=list)

    def end_alternative(self) -> None:
        self.alternatives.append(concatenation(self.parts))
        self.parts = []


class _Parser:
    """One reading of a pattern."""

    def __init__(self, source: str, multiline: bool) -> None:
        self._source = source
        self._multiline = multiline
        self._pos = 0
        self._groups = [_Group(folded=False)]

    def parse(self) -> Part:
        while self._pos < len(self._source):
            token = self._next(_TOKEN)
            self._take(token, token.lastgroup or "")
        if len(self._groups) != 1:
            raise _NotUnderstood
        return self._close()

    def _next(self, kinds: re.Pattern[str]) -> re.Match[str]:
        token = kinds.match(self._source, self._pos)
        if token is None:
            raise _NotUnderstood
        self._pos = token.end()
        return token

    def _take(self, token: re.Match[str], kind: str) -> None:
        group = self._groups[-1]
        match kind:
            case "quoted":
                group.parts += [_character(char, group.folded) for char in token["quoted"]]
            case "empty":
                group.parts.append(EMPTY)
            case "gap":
                group.parts.append(GAP)
            case "bracket":
                group.parts.append(self._class())
            case "repeat":
                self._repeat(token)
            case "flags":
                group.folded = _is_folded(token["flags"], group.folded)
            case "open":
                self._open(token["open"])
            case "close":
                self._leave()
            case "bar":
                group.end_alternative()
            case _:
                group.parts.append(_character(_char_of(token), group.folded))

    def _repeat(self, token: re.Match[str]) -> None:
        parts = self._groups[-1].parts
        if not parts:
            raise _NotUnderstood
        if token["simple"]:
            least, most = _SIMPLE_REPEATS[token["simple"]]
        else:
            least = _times(token["least"])
            most = least if not token["comma"] else _times(token["most"]) if token["most"] else None
        parts[-1] = repetition(parts[-1], least, most)

    def _open(self, how: str) -> None:
        if len(self._groups) > _DEPTH_MAX:
            raise _NotUnderstood
        flags = how if how.endswith(":") else ""
        self._groups.append(_Group(_is_folded(flags, self._groups[-1].folded)))

    def _leave(self) -> None:
        if len(self._groups) == 1:
            raise _NotUnderstood
        part = self._close()
        self._groups[-1].parts.append(part)

    def _close(self) -> Part:
        group = self._groups.pop()
        group.end_alternative()
        return alternation(group.alternatives)

    def _class(self) -> Part:
        """Read a class; one of few characters is these, any other a gap."""
        is_wide = self._skip("^")
        codes: set[int] = set()
        is_first = True
        while is_first or not self._skip("]"):
            is_first = False
            low, high = self._range()
            is_wide = is_wide or high - low >= _CLASS_MAX
            codes.update(() if is_wide else range(low, high + 1))
        chars = {chr(code) for code in codes} - (set() if self._multiline else {"\n"})
        if is_wide or not 0 < len(chars) <= _CLASS_MAX:
            return GAP
        folded = self._groups[-1].folded
        return alternation([_character(char, folded) for char in sorted(chars)])

    def _skip(self, char: str) -> bool:
        found = self._source.startswith(char, self._pos)
        self._pos += found
        return found

    def _range(self) -> tuple[int, int]:
        """Read one member of a class, as first and last character; named sets are all characters."""
        member = self._next(_MEMBER)
        if member["wide"]:
            return 0, 0x10FFFF
        low = high = ord(_char_of(member))
        if self._source.startswith("-", self._pos) and not self._source.startswith("-]", self._pos):
            self._pos += 1
            member = self._next(_MEMBER)
            high = -1 if member["wide"] else ord(_char_of(member))
        if high < low:
            raise _NotUnderstood
        return low, high


def _times(digits: str) -> int:
    """RE2 refuses more than 1000, and takes what has very many digits for text."""
    if len(digits) > 3 and digits != "1000":
        raise _NotUnderstood
    return int(digits)


def _is_folded(flags: str, before: bool) -> bool:
    on, _, off = flags.partition("-")
    return (before or "i" in on) and "i" not in off


def _char_of(token: re.Match[str]) -> str:
    """The one character that a token stands for."""
    text = token[0]
    if token["control"]:
        return _CONTROLS[text[1]]
    if token["number"]:
        code = int(text[2:].strip("{}"), 16) if text[1] == "x" else int(text[1:], 8)
        if code > 0x10FFFF:
            raise _NotUnderstood
        return chr(code)
    return text[1] if token["escaped"] else text


def _character(char: str, folded: bool) -> Part:
    """One character; a gap where its case has partners that are not worth following."""
    if char == "\n" or "\ud800" <= char <= "\udfff" or (folded and not char.isascii()):
        return GAP
    if not folded or not char.isalpha():
        return exact_of((Literal(char.encode()),))
    lower = char.lower()
    partners = tuple(Literal(partner.encode()) for partner in _PARTNERS.get(lower, ""))
    return exact_of((Literal(lower.encode(), True), *partners))
