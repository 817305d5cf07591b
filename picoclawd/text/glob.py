"""The file name forms of `search_files`, `find_files` and `confirm_write_globs`, each turned into one RE2 source.

| form | matches |
|---|---|
| empty | every path |
| none of `* ? [ {` | a substring of the relative path |
| a glob with `/` | the whole relative path |
| a glob without `/` | the base name |

`*` and `?` stay within one component. `**/` at the start of a component is any number of directories, also none; a
final `/**` is everything below. `{a,b}` alternates and may nest; `[a-z]`, `[!a-z]` and `[^a-z]` never match `/`; in a
glob a backslash takes the next character literally. A brace or bracket that is never closed is an ordinary character.
Letter case counts.
"""

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import assert_never

from picoclawd.errors import Fault, Slug

FORM_MAX_CHARS = 4096  # as long as the longest path: a longer form matches nothing that exists
ALTERNATIVES_MAX = 256  # `{a,b}` eight times over; each becomes a branch of the regex
NESTING_MAX = 32  # braces within braces; deeper ones are written by fuzzers
_GLOB_CHARS = frozenset("*?[{")
_NEVER = r"[^\x{0}-\x{10FFFF}]"  # RE2's way to say: no character


class Kind(Enum):
    """What of a path a form is compared with."""

    ALL = "all"
    SUBSTRING = "substring"
    NAME = "name"
    PATH = "path"


class _Wild(Enum):
    """The wildcards of a glob."""

    ONE = "?"
    SOME = "*"
    DIRECTORIES = "**/"
    BELOW = "/**"


@dataclass(frozen=True, slots=True)
class _Class:
    """A bracket expression: ranges of code points, both ends included."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool


_Token = str | _Wild | _Class


@dataclass(frozen=True, slots=True)
class Form:
    """A parsed form. `literal` is the substring sought (empty unless SUBSTRING), `branches` the tokens of each
    alternative of a glob, braces multiplied out (empty unless NAME or PATH)."""

    kind: Kind
    literal: str = ""
    branches: tuple[tuple[_Token, ...], ...] = ()


def compile_form(form: str) -> Form:
    """Parse a file name form.

    Raises: pattern_too_complex when it is longer, deeper or has more alternatives than the caps above.
    """
    if len(form) > FORM_MAX_CHARS:
        raise Fault(
            Slug.PATTERN_TOO_COMPLEX, f"file name pattern is longer than {FORM_MAX_CHARS} characters; shorten it"
        )
    bare = _without_dot_slash(form)
    if not bare:
        return Form(Kind.ALL)
    if _GLOB_CHARS.isdisjoint(bare):
        return Form(Kind.SUBSTRING, literal=bare)
    kind = Kind.PATH if "/" in form else Kind.NAME
    atoms = _atoms(bare.removeprefix("/"))
    flats = _expand(atoms, _pair_braces(atoms), 0, len(atoms), 0)
    return Form(kind, branches=tuple(_tokens(flat, kind) for flat in flats))


def to_re2(form: str) -> str:
    r"""Give the RE2 source, `\A` to `\z`, that matches exactly the relative paths that `form` means.

    Match it on the `/`-joined path below the search root as UTF-8, bad bytes as U+FFFD (`display.data_name`).
    Raises: pattern_too_complex.
    """
    return _render(compile_form(form), _ONE_PATH)


def to_re2_lines(form: str) -> str:
    r"""Give the RE2 source that finds, in many paths joined by `\n`, each whole line that `form` means.

    A name that itself holds a `\n` is not matched rightly: keep it out of the blob and match it with `to_re2`. Put no
    `\n` behind the last path: `*` matches an empty line.
    Raises: pattern_too_complex.
    """
    return _render(compile_form(form), _LINES)


def is_all_wildcard(form: str) -> bool:
    """Tell whether a form narrows nothing: empty, `*`, `**/*`, `?`, `*.*` (a dot behind a wildcard says nothing)."""
    parsed = compile_form(form)
    return parsed.kind is Kind.ALL or any(_says_nothing(branch) for branch in parsed.branches)


def _says_nothing(branch: tuple[_Token, ...]) -> bool:
    before: _Token = ""
    for token in branch:
        dot_behind_wildcard = token == "." and isinstance(before, _Wild) and before is not _Wild.DIRECTORIES
        if isinstance(token, str) and token != "/" and not dot_behind_wildcard:
            return False
        if isinstance(token, _Class) and not token.negated:
            return False
        before = token
    return True


def _without_dot_slash(form: str) -> str:
    """Drop leading `./`: relative paths are compared without it."""
    while form.startswith("./"):
        form = form[2:]
    return form


# --- parsing: atoms, braces, tokens ---


def _atoms(form: str) -> list[str]:
    """Split into the units that braces are looked for in: an escaped character, a closed class, one character."""
    atoms: list[str] = []
    index = 0
    may_close = True  # once a `[` found no end, no later one does: this keeps the scan linear
    while index < len(form):
        end = index + 1
        if form[index] == "\\":
            end = min(index + 2, len(form))
        elif form[index] == "[" and may_close:
            closed = _class_end(form, index)
            may_close = closed is not None
            end = closed or end
        atoms.append(form[index:end])
        index = end
    return atoms


def _class_end(form: str, start: int) -> int | None:
    """The index after the `]` that closes the class at `start`. A `]` in first place is a member."""
    index = start + 1
    if form[index : index + 1] in ("!", "^"):
        index += 1
    if form[index : index + 1] == "]":
        index += 1
    while index < len(form):
        if form[index] == "]":
            return index + 1
        index += 2 if form[index] == "\\" else 1
    return None


def _pair_braces(atoms: list[str]) -> dict[int, list[int]]:
    """Map each closed `{` to the places of itself, its commas and its `}`. Unclosed ones are left out."""
    pairs: dict[int, list[int]] = {}
    open_braces: list[list[int]] = []
    for index, atom in enumerate(atoms):
        if atom == "{":
            open_braces.append([index])
        elif atom == "," and open_braces:
            open_braces[-1].append(index)
        elif atom == "}" and open_braces:
            cuts = open_braces.pop()
            pairs[cuts[0]] = [*cuts, index]
    return pairs


def _expand(atoms: list[str], pairs: dict[int, list[int]], start: int, stop: int, depth: int) -> list[list[str]]:
    """Multiply out the braces between two places."""
    if depth > NESTING_MAX:
        raise Fault(Slug.PATTERN_TOO_COMPLEX, f"file name pattern nests braces deeper than {NESTING_MAX}; flatten it")
    flats: list[list[str]] = [[]]
    index = start
    while index < stop:
        cuts = pairs.get(index)
        if cuts is None:
            choices = [[atoms[index]]]
            index += 1
        else:
            choices = [
                flat for left, right in pairwise(cuts) for flat in _expand(atoms, pairs, left + 1, right, depth + 1)
            ]
            index = cuts[-1] + 1
        flats = _multiply(flats, choices)
    return flats


def _multiply(flats: list[list[str]], choices: list[list[str]]) -> list[list[str]]:
    if len(flats) * len(choices) > ALTERNATIVES_MAX:
        message = f"file name pattern has more than {ALTERNATIVES_MAX} alternatives; use several calls, or a wider glob"
        raise Fault(Slug.PATTERN_TOO_COMPLEX, message)
    if len(choices) == 1:
        for flat in flats:
            flat.extend(choices[0])
        return flats
    return [flat + choice for flat in flats for choice in choices]


def _tokens(flat: list[str], kind: Kind) -> tuple[_Token, ...]:
    tokens: list[_Token] = []
    index = 0
    while index < len(flat):
        atom = flat[index]
        if atom == "*":
            token, index = _star(flat, index, kind)
            if not (tokens and token is tokens[-1] is _Wild.DIRECTORIES):
                tokens.append(token)
            continue
        if atom == "?":
            tokens.append(_Wild.ONE)
        elif atom[0] == "[" and len(atom) > 1:
            tokens.append(_class(atom))
        else:
            tokens.append(atom[-1])  # an escaped character is its second one; a lone backslash is itself
        index += 1
    return tuple(tokens)


def _star(flat: list[str], start: int, kind: Kind) -> tuple[_Wild, int]:
    """Read a run of stars: the wildcard it means, and the index after it."""
    end = start
    while end < len(flat) and flat[end] == "*":
        end += 1
    begins_component = start == 0 or flat[start - 1][-1] == "/"
    if kind is Kind.PATH and end - start > 1 and begins_component:
        if end == len(flat):
            return _Wild.BELOW, end
        if flat[end][-1] == "/":
            return _Wild.DIRECTORIES, end + 1
    return _Wild.SOME, end


def _class(atom: str) -> _Class:
    """Parse a closed bracket expression. A range whose ends are the wrong way round holds nothing."""
    inner = atom[1:-1]
    negated = inner[0] in "!^"
    members: list[tuple[str, bool]] = []  # a character, and whether it was escaped
    index = int(negated)
    while index < len(inner):
        escaped = inner[index] == "\\" and index + 1 < len(inner)
        index += escaped
        members.append((inner[index], escaped))
        index += 1
    return _Class(tuple(_ranges(members)), negated)


def _ranges(members: list[tuple[str, bool]]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    index = 0
    while index < len(members):
        low = high = ord(members[index][0])
        if members[index + 1 : index + 2] == [("-", False)] and index + 2 < len(members):
            high = ord(members[index + 2][0])
            index += 2
        ranges.append((low, high))
        index += 1
    return ranges


# --- rendering ---


@dataclass(frozen=True, slots=True)
class _Frame:
    """How a whole path begins and ends, and which code points no single wildcard and no class may match."""

    begin: str
    end: str
    anything: str
    barred: tuple[int, ...]


_ONE_PATH = _Frame(begin=r"\A", end=r"\z", anything="(?s:.)", barred=(ord("/"),))
_LINES = _Frame(begin="(?m)^", end="$", anything=r"[^\n]", barred=(ord("\n"), ord("/")))


def _render(form: Form, frame: _Frame) -> str:
    match form.kind:
        case Kind.ALL:
            middle = f"{frame.anything}+"
        case Kind.SUBSTRING:
            middle = f"{frame.anything}*{_literals(form.literal)}{frame.anything}*"
        case Kind.NAME:
            middle = f"(?:{frame.anything}*/)?{_branches(form, frame)}"
        case Kind.PATH:
            middle = _branches(form, frame)
        case _:
            assert_never(form.kind)
    return frame.begin + middle + frame.end


def _branches(form: Form, frame: _Frame) -> str:
    sources = ["".join(_source(token, frame) for token in branch) for branch in form.branches]
    return sources[0] if len(sources) == 1 else f"(?:{'|'.join(dict.fromkeys(sources))})"


def _source(token: _Token, frame: _Frame) -> str:
    if isinstance(token, str):
        return _literals(token)
    other = f"[^{_set([(code, code) for code in frame.barred])}]"
    if isinstance(token, _Class):
        return _class_source(token, frame)
    match token:
        case _Wild.ONE:
            return other
        case _Wild.SOME:
            return f"{other}*"
        case _Wild.DIRECTORIES:
            return f"(?:{other}+/)*"
        case _Wild.BELOW:
            return f"{frame.anything}+"
        case _:
            assert_never(token)


def _class_source(token: _Class, frame: _Frame) -> str:
    if token.negated:
        barred = [(code, code) for code in frame.barred]
        return f"[^{_set([*_valid(token.ranges), *barred])}]"
    ranges = _valid(token.ranges)
    for code in frame.barred:
        ranges = [part for low, high in ranges for part in _around(low, high, code)]
    return f"[{_set(ranges)}]" if ranges else _NEVER


def _around(low: int, high: int, code: int) -> list[tuple[int, int]]:
    """Take one code point out of a range."""
    if not low <= code <= high:
        return [(low, high)]
    return [(a, b) for a, b in ((low, code - 1), (code + 1, high)) if a <= b]


def _valid(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Drop empty ranges."""
    return [(low, high) for low, high in ranges if low <= high]


def _set(ranges: list[tuple[int, int]]) -> str:
    return "".join(f"\\x{{{low:X}}}" if low == high else f"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in ranges)


def _literals(text: str) -> str:
    """Quote text for RE2. A lone surrogate is in no UTF-8 name: it matches nothing."""
    return "".join(
        char
        if char.isalnum() and char.isascii()
        else _NEVER
        if "\ud800" <= char <= "\udfff"
        else f"\\x{{{ord(char):X}}}"
        for char in text
    )
