"""Turn the glob of an ignore rule into an RE2 source over bytes that matches what git's wildmatch matches.

Git's manual leaves corners open, so its code is the rule (dir.c and wildmatch.c, with WM_PATHNAME). `tests/index`
compares with `git check-ignore`.
"""

import re

from picoclawd.limits import PATH_MAX_BYTES

_SLASH = ord("/")
_WILD = re.compile(rb"[*?\[\\]")
_STARS = re.compile(rb"\*+")
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_DIRECTORIES = re.compile(rb"(?:\*\*+/)+")
_REAL_WILD = re.compile(rb"[*?\[]")

# Class names as git's own table of characters has them: ASCII, in every locale.
_PUNCT = frozenset(b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_DIGIT = frozenset(b"0123456789")
_UPPER = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER = frozenset(b"abcdefghijklmnopqrstuvwxyz")
_NAMED = {
    b"alnum": _UPPER | _LOWER | _DIGIT,
    b"alpha": _UPPER | _LOWER,
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset(range(32)) | {127},
    b"digit": _DIGIT,
    b"graph": frozenset(range(33, 127)),
    b"lower": _LOWER,
    b"print": frozenset(range(32, 127)),
    b"punct": _PUNCT,
    b"space": frozenset(b" \t\n\r"),
    b"upper": _UPPER,
    b"xdigit": _DIGIT | frozenset(b"abcdefABCDEF"),
}
_ANY_BYTE = frozenset(range(1, 256))


def literal_of(glob: bytes) -> bytes | None:
    """The one name or path that a glob without wildcards means, its escapes undone; None where it has wildcards.

    A backslash at the end makes a glob that matches nothing: that is None too, and `source_of` says the same.
    """
    if b"\\" not in glob:
        return None if _WILD.search(glob) else glob
    bare = _ESCAPED.sub(b"", glob)
    if b"\\" in bare or _REAL_WILD.search(bare):
        return None
    return _ESCAPED.sub(rb"\1", glob)


def base_glob_of(glob: bytes) -> bytes | None:
    """The `x` of `**/x`, which says of the base name what the anchored rule says of the path; else None."""
    lead = _DIRECTORIES.match(glob)
    if lead is None or b"/" in glob[lead.end() :]:
        return None
    return glob[lead.end() :]


def source_of(glob: bytes) -> bytes | None:
    """The RE2 source (Latin-1, `.` is every byte) that matches a whole name or path; None for what matches nothing.

    What comes before the first wildcard is compared as it is, and the rest stands alone: so `x/foo**` counts its two
    stars as bounded and matches `x/foo/y`. That is git's doing, not a slip.
    """
    wild = _WILD.search(glob)
    start = wild.start() if wild else len(glob)
    return _Glob(glob[start:]).source(glob[:start])


class _Glob:
    """A reader of one glob that begins with a wildcard."""

    def __init__(self, glob: bytes) -> None:
        self._glob = glob
        self._at = 0

    def source(self, literal: bytes) -> bytes | None:
        parts = [_quote(literal)]
        least_bytes = len(literal)
        while self._at < len(self._glob):
            if self._glob.startswith(b"*", self._at):
                parts.append(self._stars())
                continue
            one = self._one()
            least_bytes += 1
            if one is None or least_bytes >= PATH_MAX_BYTES:  # no path is that long, and a program would be
                return None
            parts.append(one)
        return b"".join(parts)

    def _stars(self) -> bytes:
        """`*` stays within a name; `**` crosses slashes where slashes or the ends bound it, else it is a `*`."""
        first, self._at = self._at, _end_of_stars(self._glob, self._at)
        if self._at - first == 1 or (first > 0 and self._glob[first - 1] != _SLASH):
            return b"[^/]*"
        if self._glob.startswith(b"/", self._at):
            self._at += 1
            return b"(?:.*/)?"
        if self._at == len(self._glob) or self._glob.startswith(b"\\/", self._at):
            return b".*"
        return b"[^/]*"

    def _one(self) -> bytes | None:
        """The source of what stands for one byte: `?`, a class, a byte escaped or as it is; None for what is broken."""
        char = self._glob[self._at : self._at + 1]
        self._at += 1
        if char == b"?":
            return b"[^/]"
        if char == b"[":
            return self._class()
        if char == b"\\":
            char = self._glob[self._at : self._at + 1]
            self._at += 1
        return _quote(char) if char else None

    def _class(self) -> bytes | None:
        read = read_class(self._glob, self._at)
        if read is None:
            return None
        members, self._at = read
        members -= {_SLASH}
        return _class_source(members) if members else None


def _end_of_stars(glob: bytes, at: int) -> int:
    run = _STARS.match(glob, at)
    return run.end() if run else at


def read_class(glob: bytes, at: int) -> tuple[frozenset[int], int] | None:
    """Read a bracket expression from behind its `[`: the bytes it allows and where it ends; None where it is broken."""
    negated = glob[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    first, low = True, 0  # `low` is the byte that a following `-` may begin a range with; 0 for none
    while first or glob[at : at + 1] != b"]":
        first = False
        item = _class_item(glob, at, low)
        if item is None:
            return None
        found, low, at = item
        members |= found
    return (_ANY_BYTE - members if negated else frozenset(members)), at + 1


def _class_item(glob: bytes, at: int, low: int) -> tuple[frozenset[int], int, int] | None:
    """One item of a class: its bytes, the byte that may begin a range next, and where it ends."""
    if glob[at : at + 1] == b"-" and low and glob[at + 1 : at + 2] not in (b"", b"]"):
        single = _class_byte(glob, at + 1)
        return single and (frozenset(range(low, single[0] + 1)), 0, single[1])
    if glob[at : at + 2] == b"[:":
        end = glob.find(b"]", at + 2)
        if end < 0:
            return None
        if end > at + 2 and glob[end - 1] == ord(":"):
            named = _NAMED.get(glob[at + 2 : end - 1])
            return None if named is None else (named, 0, end + 1)
    single = _class_byte(glob, at)
    return single and (frozenset({single[0]}), single[0], single[1])


def _class_byte(glob: bytes, at: int) -> tuple[int, int] | None:
    """One byte, escaped or not, and where it ends; None at the end of the glob."""
    if glob[at : at + 1] == b"\\":
        at += 1
    return (glob[at], at + 1) if at < len(glob) else None


def _class_source(members: frozenset[int]) -> bytes:
    ranges: list[list[int]] = []
    for byte in sorted(members):
        if ranges and ranges[-1][1] == byte - 1:
            ranges[-1][1] = byte
        else:
            ranges.append([byte, byte])
    return b"[" + b"".join(b"\\x%02x-\\x%02x" % (low, high) for low, high in ranges) + b"]"


def _quote(literal: bytes) -> bytes:
    return b"".join(bytes((byte,)) if _is_plain(byte) else b"\\x%02x" % byte for byte in literal)


def _is_plain(byte: int) -> bool:
    return byte in _NAMED[b"alnum"] or byte == ord("_") or byte == _SLASH
