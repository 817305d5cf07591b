r"""What every match of a search pattern must contain, so that a text without it need not be searched.

A pattern is read once, from left to right, with the strings in hand that a match can hold at that place: after
Russ Cox, "Regular Expression Matching with a Trigram Index". Nothing is said of newlines: `\r\n` in a file is `\n` to
a pattern. What is not understood filters nothing, so a pattern that RE2 refuses may come out as anything.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

ALTERNATIVES_MAX = 16  # each costs a look-up, and together they soon let everything through
_STRING_MAX_BYTES = 32  # where there are alternatives: longer ones find no less
_CLASS_MAX = 4  # characters of a class that are told apart; of `[0-9]` every digit is somewhere
_COPIES_MAX = 4  # of what is repeated
_DEPTH_MAX = 50  # of groups: what walks a requirement recurses
_TRIGRAM_BYTES = 3

# RE2's (?i) follows Unicode's simple folding, by which two ASCII letters have a partner outside of ASCII.
_PARTNERS = {"k": "\u212a", "s": "\u017f"}


@dataclass(frozen=True, slots=True)
class Literal:
    """The text holds `data`; where `folded`, `data` has no A to Z, and is held after A to Z were made a to z."""

    data: bytes
    folded: bool = False


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of the parts holds; there are two at least."""

    parts: tuple["Requirement", ...]


@dataclass(frozen=True, slots=True)
class All:
    """All parts hold; without any every text does."""

    parts: tuple["Requirement", ...]


Requirement = Literal | AnyOf | All
ANYTHING = All(())


@dataclass(frozen=True, slots=True)
class Query:
    """All of the hashes, and of each of the choices at least one query: with neither, every text."""

    hashes: tuple[int, ...] = ()
    choices: tuple[tuple["Query", ...], ...] = ()


EVERYTHING = Query()

# By these multipliers the trigrams of 256 KiB of C, some 11,000, meet the least among 50 choices: 5.5 % share a hash,
# where chance would have 8 %.
TRIGRAM_MULTIPLIERS = (30095, 23227, 23695)


def requirement(source: str, *, multiline: bool = False) -> Requirement:
    r"""Tell what a file must contain if a pattern matches anywhere in it. Raises nothing.

    Takes RE2 syntax, and `multiline`, as `matcher.compile_search` does; holds for a file's bytes as they are on disk.
    A line break may be part of a match only with `multiline`.
    """
    try:
        whole = _Parser(source, multiline).parse()
    except _NotUnderstood:
        return ANYTHING
    return _total(whole)


def trigram_query(needed: Requirement) -> Query:
    """Turn a requirement into hashes of trigrams, A to Z as a to z; a literal of less than 3 bytes asks for nothing."""
    match needed:
        case Literal():
            return Query(tuple(sorted(set(_hashes(needed.data.lower())))))
        case AnyOf():
            return _either(tuple(dict.fromkeys(trigram_query(part) for part in needed.parts)))
        case All():
            queries = tuple(trigram_query(part) for part in needed.parts)
            hashes = {number for query in queries for number in query.hashes}
            choices = dict.fromkeys(choice for query in queries for choice in query.choices)
            return Query(tuple(sorted(hashes)), tuple(choices))


def _either(queries: tuple[Query, ...]) -> Query:
    """One of the queries, with what they all ask for asked once."""
    common = frozenset(queries[0].hashes).intersection(*(query.hashes for query in queries))
    rest = tuple(
        Query(tuple(number for number in query.hashes if number not in common), query.choices) for query in queries
    )
    return Query(tuple(sorted(common)), () if EVERYTHING in rest else (rest,))


def _hashes(data: bytes) -> Iterable[int]:
    first, second, third = TRIGRAM_MULTIPLIERS
    return ((first * a + second * b + third * c) & 0xFFFF for a, b, c in zip(data, data[1:], data[2:], strict=False))


_Strings = tuple[Literal, ...]
_NOTHING: _Strings = (Literal(b""),)


@dataclass(frozen=True, slots=True)
class _Part:
    """What is known of a part of a pattern: it matches only what begins with one of `starts` and ends with one of
    `ends`, and contains what it `needs`; where `exact`, only one of `starts`, which `ends` are too."""

    starts: _Strings = _NOTHING
    ends: _Strings = _NOTHING
    needs: Requirement = ANYTHING
    exact: bool = False


_GAP = _Part()
_EMPTY = _Part(exact=True)


def _exact(strings: _Strings) -> _Part:
    return _Part(strings, strings, exact=True)


def _total(part: _Part) -> Requirement:
    return _all_of([_any_of(part.starts), part.needs, _any_of(part.ends)])


def _all_of(parts: Iterable[Requirement]) -> Requirement:
    flat: dict[Requirement, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, All) else (part,)))
    return next(iter(flat)) if len(flat) == 1 else All(tuple(flat))


def _any_of(parts: Iterable[Requirement]) -> Requirement:
    """At least one of them, without those that another one is within."""
    unique = tuple(dict.fromkeys(parts))
    if ANYTHING in unique or len(unique) > ALTERNATIVES_MAX:
        return ANYTHING
    least = [part for part in unique if not any(_is_within(other, part) for other in unique if other != part)]
    if any(isinstance(part, Literal) and not part.data for part in least):
        return ANYTHING
    return least[0] if len(least) == 1 else AnyOf(tuple(least))


def _is_within(small: Requirement, large: Requirement) -> bool:
    """Whether what holds the one literal always holds the other."""
    if not isinstance(small, Literal) or not isinstance(large, Literal):
        return False
    if small.folded:
        return small.data in large.data.lower()
    return not large.folded and small.data in large.data


def _join(left: Literal, right: Literal) -> Literal:
    """One literal after the other; where one is folded the whole is, which asks for less."""
    data = left.data + right.data
    return Literal(data.lower(), True) if left.folded or right.folded else Literal(data)


def _cross(lefts: _Strings, rights: _Strings) -> _Strings | None:
    """Each with each; None where that would be too much."""
    if len(lefts) * len(rights) > ALTERNATIVES_MAX:
        return None
    joined = tuple(dict.fromkeys(_join(left, right) for left, right in product(lefts, rights)))
    if len(joined) > 1 and any(len(literal.data) > _STRING_MAX_BYTES for literal in joined):
        return None
    return joined


def _last_bytes(strings: _Strings) -> _Strings:
    """The ends of strings that were noted already: enough for the trigrams that cross into what follows."""
    kept = _TRIGRAM_BYTES - 1
    return tuple(dict.fromkeys(Literal(literal.data[-kept:], literal.folded) for literal in strings))


def _concatenation(parts: Sequence[_Part]) -> _Part:
    """One part after the other."""
    noted: list[_Strings] = []
    needs: list[Requirement] = []
    tail = _NOTHING  # what a match may hold up to here, since what was noted last
    for part in parts:
        joined = _cross(tail, part.starts)
        if joined is not None and part.exact:
            tail = joined
        elif joined is not None:
            noted.append(joined)
            needs.append(part.needs)
            tail = part.ends
        else:
            noted.append(tail)
            needs += [_any_of(part.starts), part.needs]
            tail = (_cross(_last_bytes(tail), part.starts) or part.starts) if part.exact else part.ends
    if not noted:
        return _exact(tail)
    return _Part(noted[0], tail, _all_of([*map(_any_of, noted[1:]), *needs]))


def _alternation(parts: Sequence[_Part]) -> _Part:
    """Any one of the parts."""
    if len(parts) == 1:
        return parts[0]
    starts = _union(part.starts for part in parts)
    ends = _union(part.ends for part in parts)
    if starts is not None and all(part.exact for part in parts):
        return _exact(starts)
    return _Part(starts or _NOTHING, ends or _NOTHING, _any_of(_total(part) for part in parts))


def _union(sets: Iterable[_Strings]) -> _Strings | None:
    """All of the strings; None where they are too many."""
    union = tuple(dict.fromkeys(literal for strings in sets for literal in strings))
    return union if len(union) <= ALTERNATIVES_MAX else None


def _repetition(part: _Part, least: int, most: int | None) -> _Part:
    """The part so many times; `most` is None where there is no end."""
    if most == 0:
        return _EMPTY
    if least == 0:
        return _alternation((part, _EMPTY)) if most == 1 else _GAP
    copies = min(least, _COPIES_MAX)
    repeated = _concatenation((part,) * copies)
    if copies == most:
        return repeated
    return _Part(repeated.starts, repeated.ends, repeated.needs)


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
    parts: list[_Part] = field(default_factory=list)
    alternatives: list[_Part] = field(default_factory=list)

    def end_alternative(self) -> None:
        self.alternatives.append(_concatenation(self.parts))
        self.parts = []


class _Parser:
    """One reading of a pattern."""

    def __init__(self, source: str, multiline: bool) -> None:
        self._source = source
        self._multiline = multiline
        self._pos = 0
        self._groups = [_Group(folded=False)]

    def parse(self) -> _Part:
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
                group.parts.append(_EMPTY)
            case "gap":
                group.parts.append(_GAP)
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
        parts[-1] = _repetition(parts[-1], least, most)

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

    def _close(self) -> _Part:
        group = self._groups.pop()
        group.end_alternative()
        return _alternation(group.alternatives)

    def _class(self) -> _Part:
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
            return _GAP
        folded = self._groups[-1].folded
        return _alternation([_character(char, folded) for char in sorted(chars)])

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


def _character(char: str, folded: bool) -> _Part:
    """One character; a gap where its case has partners that are not worth following."""
    if char == "\n" or "\ud800" <= char <= "\udfff" or (folded and not char.isascii()):
        return _GAP
    if not folded or not char.isalpha():
        return _exact((Literal(char.encode()),))
    lower = char.lower()
    partners = tuple(Literal(partner.encode()) for partner in _PARTNERS.get(lower, ""))
    return _exact((Literal(lower.encode(), True), *partners))
