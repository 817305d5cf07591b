"""Find secrets in text and mask them: known token shapes, and long strings that only a machine would make.

It prevents accidents; it is no boundary. What goes: Bearer tokens, JWT, `sk-`/`rk-` keys (and Stripe's `sk_live_`),
GitHub `gh?_` and `github_pat_`, AWS `AKIA`/`ASIA`, Slack `xox?-`, Google `AIza`; runs of 32 or more characters of
`A-Za-z0-9_-` that `entropy.machine_made` takes for random; the same from 20 characters on, and with `+/=`, right
behind a name such as `secret`, `token`, `password` or `api_key` and an `=` or `:`. What stays: identifiers, prose,
paths, UUIDs, hex of any length, and base64: with padding or a `+` in it, of text, of a known format, behind `sha512-`,
or wrapped into lines.

`re` is safe here although it backtracks: a pattern is tried only where a fixed string shows that it could match, and is
that string and a few plain repetitions, each of a class that excludes what follows it, none nested: linear time.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from picoclawd.text.entropy import is_known_format, is_wordy, machine_made
from picoclawd.text.strip import NOTICES

MARK = "[FILTERED]"
TRUNCATED = " … [truncated]"
MARKERS = (MARK, TRUNCATED, *NOTICES)  # what we write in place of text; a file that gains one lost something
WINDOW_REACH_CHARS = (
    512  # how much text around a window `redact_window` wants: longer than the tokens that it must know
)

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
_Span = tuple[int, int]

_PLAIN = frozenset({int, float, bool, type(None)})
_SHORTEST = 15  # characters of the shortest secret, see `_NEEDLE`
_LONG = 32  # characters of a run that nothing announces
_LONG_ANNOUNCED = 20  # of one behind `token=` and the like


def spans(text: str) -> list[_Span]:
    """Give the secrets of a text as sorted, disjoint (start, end) pairs."""
    merged: list[_Span] = []
    for start, end in sorted(_found(text)):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def redact(text: str) -> str:
    """Give the text with each secret replaced by `MARK`."""
    return redact_window("", text, "")


def redact_window(before: str, text: str, after: str) -> str:
    """Mask the secrets of `text` as they look in the whole: a token that an edge cuts is masked on both sides.

    Only `text`'s part is returned. `WINDOW_REACH_CHARS` before and after are enough.
    """
    if not text:
        return ""
    whole = before + text + after
    stop = len(before) + len(text)
    pieces: list[str] = []
    done = len(before)
    for start, end in spans(whole):
        if end <= done or start >= stop:
            continue
        pieces += [whole[done : max(start, done)], MARK]
        done = min(end, stop)
    return "".join([*pieces, whole[done:stop]])


def redact_values(value: JSON, keep: frozenset[str] = frozenset()) -> JSON:
    """Give a JSON value with every string in it redacted but those (and all below) under a key of `keep`."""
    # One look at all strings together: most hold nothing to mask. No secret spans a NUL, and none hides behind one.
    if not holds_secret("\0".join(_strings(value, keep))):
        return value
    return _redacted(value, keep)


def _strings(value: JSON, keep: frozenset[str]) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= _SHORTEST:
            yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in keep and item.__class__ not in _PLAIN:
                yield from _strings(item, keep)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item, keep)


def _redacted(value: JSON, keep: frozenset[str]) -> JSON:
    if isinstance(value, str):
        return value if len(value) < _SHORTEST else redact(value)
    if isinstance(value, dict):
        return {
            key: item if key in keep or item.__class__ in _PLAIN else _redacted(item, keep)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_redacted(item, keep) for item in value]
    return value


def holds_secret(text: str) -> bool:
    """Tell whether `redact` would change the text."""
    return next(_found(text), None) is not None


def loses_secret(before: bytes, after: bytes) -> bool:
    """Tell whether a change writes our mask over what it stands for: `masked_text`.

    True when some secret of `before` occurs less often in `after` while one of `MARKERS` occurs more often.
    """
    if not any(after.count(marker.encode()) > before.count(marker.encode()) for marker in MARKERS):
        return False
    old = before.decode("utf-8", "surrogateescape")
    new = after.decode("utf-8", "surrogateescape")
    return any(new.count(secret) < times for secret, times in Counter(old[a:b] for a, b in spans(old)).items())


def _found(text: str) -> Iterator[_Span]:
    """Find secrets in no order. Most texts are done with once their long runs are listed."""
    runs = _runs(text)
    if runs:
        listed = "\n".join([text[start:end] for start, end in runs])
        for prefix, shape in _SHAPE_OF:
            if prefix in listed:
                yield from _of_shape(text, prefix, shape)
    yield from _bearer_tokens(text)
    for start, end in runs:
        if end - start >= _LONG_ANNOUNCED and _DIGIT.search(text, start, end):
            yield from _machine_made_parts(text, _behind_escape(text, start), end)


_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_RUN_BYTES = _UPPER + _UPPER.lower() + b"0123456789+/_-"
_IN_RUN = bytes(ord("a") if byte in _RUN_BYTES else ord(" ") for byte in range(256))
_NEEDLE = b"a" * 15  # the shortest token of `_SHAPES`


def _runs(text: str) -> list[_Span]:
    """List the runs of 15 and more characters of tokens and base64.

    With `bytes.translate` and `bytes.find`: a character class in `re` would cost ten times as much.
    """
    # One byte a character, so that positions agree: what is not ASCII becomes `?`.
    flat = text.encode("ascii", "replace").translate(_IN_RUN)
    runs: list[_Span] = []
    start = flat.find(_NEEDLE)
    while start >= 0:
        end = flat.find(b" ", start)
        end = len(flat) if end < 0 else end
        runs.append((start, end))
        start = flat.find(_NEEDLE, end)
    return runs


# --- known shapes ---


@dataclass(frozen=True, slots=True)
class _Shape:
    """A token format: the strings that it begins with, its whole pattern, and what the pattern cannot tell.

    Its first 15 characters at least are of `_RUN_BYTES`: see `_runs`.
    """

    prefixes: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool]


def _always(token: str) -> bool:
    return bool(token)


def _not_wordy(token: str) -> bool:
    return not is_wordy(token)


def _is_key_body(token: str) -> bool:
    """`sk-` begins CSS classes too: a key has an unbroken stretch of 16, or mixes upper case, lower case and digits."""
    body = token[3:]
    if max(map(len, re.split("[-_]", body))) >= 16:
        return True
    return body.lower() != body and body.upper() != body and any(char.isdigit() for char in body)


def _has_digit_or_akia(token: str) -> bool:
    return token.startswith("AKIA") or any(char.isdigit() for char in token)


# Not inside a word, but right behind an escape of JSON or of a URL. No character of a token may stand before it: so
# a hostile text cannot make one stretch be tried from many places.
_EDGE = r"(?:(?<![A-Za-z0-9_\-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))"


def _shape(prefixes: str, pattern: str, accepts: Callable[[str], bool] = _always) -> _Shape:
    return _Shape(tuple(prefixes.split()), re.compile(pattern, re.ASCII), accepts)


_SHAPES = (
    _shape("eyJ", _EDGE + r"eyJ[A-Za-z0-9_\-]{12,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*){1,3}"),
    _shape("sk- rk-", _EDGE + r"[sr]k-[A-Za-z0-9_\-]{16,}", _is_key_body),
    _shape("sk_live_ sk_test_ rk_live_ rk_test_", _EDGE + r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _shape("ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{16,}"),
    _shape("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}", _not_wordy),
    _shape("AKIA ASIA", _EDGE + r"(?:AKIA|ASIA)[A-Z0-9]{16,}(?![A-Za-z0-9])", _has_digit_or_akia),
    _shape("xox", _EDGE + r"xox[a-z]-[A-Za-z0-9\-]{10,}", _not_wordy),
    _shape("AIza", _EDGE + r"AIza[A-Za-z0-9_\-]{30,}"),
)

_SHAPE_OF = [(prefix, shape) for shape in _SHAPES for prefix in shape.prefixes]


def _of_shape(text: str, prefix: str, shape: _Shape) -> Iterator[_Span]:
    for match in _matches_at(text, prefix, 0, shape.pattern):
        if shape.accepts(match[0]):
            yield match.span()


def _matches_at(text: str, probe: str, lead: int, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Match the pattern `lead` characters before each place where the probe stands."""
    place = text.find(probe)
    while place >= 0:
        match = pattern.match(text, max(0, place - lead))
        if match is not None:
            yield match
        place = text.find(probe, place + 1 if match is None else match.end())


_BEARER = re.compile(r"(?i:bearer)(?:[ \t]|%20|[+:]){1,4}([A-Za-z0-9._~+/\-]{8,}={0,2}(?<!\.))", re.ASCII)
_AUTHORIZATION = re.compile(r"(?i:authorization)[\"']?[ \t]{0,8}[:=,][ \t]{0,8}[\"'`]?\Z")
_HEADER_REACH_CHARS = 40
_BEARER_MIN = 16  # characters of a token after a bare `Bearer`; in an Authorization header, those of the pattern


def _bearer_tokens(text: str) -> Iterator[_Span]:
    """Find what follows `Bearer`: any case of that word, and the token alone."""
    for probe in ("earer", "EARER"):
        if probe[0] not in text:  # one character is found 20 times as fast as five, and many texts have no such capital
            continue
        for match in _matches_at(text, probe, 1, _BEARER):
            before = text[max(0, match.start() - _HEADER_REACH_CHARS) : match.start()]
            long_enough = len(match[1]) >= _BEARER_MIN or _AUTHORIZATION.search(before)
            if long_enough and not is_wordy(match[1]):
                yield match.span(1)


# --- machine-made runs ---

_DIGIT = re.compile("[0-9]")
_PADDING = re.compile("={1,2}(?![A-Za-z0-9])")
_HASH_PREFIX = re.compile(r"sha(?:1|256|384|512)-")
_ANNOUNCED_REACH_CHARS = 80
_SIGN_REACH_CHARS = 11  # `=>`, eight blanks and a quote
# A name that ends in (or goes on a little behind) a word for secrets, then the sign, then at most a quote.
_ANNOUNCED = re.compile(
    r"(?i:secret|token|passw(?:or)?d|passphrase|api_?-?key|access_?-?key|private_?-?key|auth_?-?key|credential)"
    r"[A-Za-z0-9_\-]{0,24}[\"'\]]{0,2}[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,8}[\"'`]?\Z",
    re.ASCII,
)


def _behind_escape(text: str, start: int) -> int:
    r"""Skip the `n` of `\n` or the `3D` of `%3D` that a run seems to begin with."""
    before = text[start - 1 : start]
    if before == "\\" and text[start] in "nrt":
        return start + 1
    return start + 2 if before == "%" else start


def _machine_made_parts(text: str, start: int, end: int) -> Iterator[_Span]:
    run = text[start:end]
    padding = _PADDING.match(text, end)
    if _is_announced(text, start) and machine_made(run, shortest=_LONG_ANNOUNCED, classes=2):
        yield start, padding.end() if padding else end
        return
    if len(run) < _LONG or padding or "+" in run or _HASH_PREFIX.match(run) or is_known_format(run):
        return
    if _is_wrapped_base64(text, start, end):
        return
    cuts = [-1, *(index for index, char in enumerate(run) if char == "/"), len(run)]
    for left, right in pairwise(cuts):
        if machine_made(run[left + 1 : right], shortest=_LONG) and not _is_base64_around(run, left + 1, right):
            yield start + left + 1, start + right


def _is_announced(text: str, start: int) -> bool:
    """Tell whether the name before `=` or `:` says that a secret follows."""
    sign = text[max(0, start - _SIGN_REACH_CHARS) : start]
    if "=" not in sign and ":" not in sign:
        return False
    return _ANNOUNCED.search(text[max(0, start - _ANNOUNCED_REACH_CHARS) : start]) is not None


# The widths that PEM, MIME, OpenPGP and their kin wrap base64 at.
_WRAP_WIDTHS = frozenset((60, 64, 70, 72, 76))
_WRAP = r"[\"',]{0,2}(?:\r?\n|\\n)[ \t\"']{0,16}"
_NEXT_LINE = re.compile(_WRAP + r"([A-Za-z0-9+/]{1,77})(?![A-Za-z0-9+/_\-])")
_LINE_BEFORE = re.compile(r"(?<![A-Za-z0-9+/_\-])([A-Za-z0-9+/]{60,76})" + _WRAP + r"\Z")
_LINE_REACH_CHARS = 100


def _is_wrapped_base64(text: str, start: int, end: int) -> bool:
    """Tell whether a run is one line of a block of base64: the line before, or this and a next one, are full."""
    if "-" in text[start:end] or "_" in text[start:end]:
        return False
    before = _LINE_BEFORE.search(text[max(0, start - _LINE_REACH_CHARS) : start])
    if before and len(before[1]) in _WRAP_WIDTHS and end - start <= len(before[1]):
        return True
    after = _NEXT_LINE.match(text, end)
    return after is not None and end - start in _WRAP_WIDTHS and len(after[1]) <= end - start


def _is_base64_around(run: str, start: int, end: int) -> bool:
    """Tell whether what surrounds a part of a run is base64 too, rather than the path that leads to a token."""
    around = run[max(0, start - _LONG) : start] + run[end : end + _LONG]
    return machine_made(around, shortest=1, classes=2)
