"""Say what keeps a text from being found in a file: small differences that a reader does not see.

Only for messages. Nothing is ever matched this tolerantly for an edit.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Literal

from picoclawd.text import redact

What = Literal[
    "row_prefix",
    "marker",
    "line_endings",
    "whitespace",
    "quote_style",
    "dashes",
    "unicode_form",
    "invisible",
    "several",
]

WORDS: dict[What, str] = {
    "row_prefix": "without the row numbers that read_file shows: strip the number and the `|` or tab from each row",
    "marker": "without the notice that stands for masked, cut or stripped text (such as `[FILTERED]`), which is not "
    "in the file: choose text beside it",
    "line_endings": "if the line endings (CRLF, LF) were the same",
    "whitespace": "if the whitespace (indentation, tabs, line breaks) were the same",
    "quote_style": "if the quote style (straight or curly) were the same",
    "dashes": "if the dashes (`-`, en dash, em dash) were the same",
    "unicode_form": "if the Unicode normal form (NFC, NFD) were the same",
    "invisible": "if invisible characters (zero-width, bidi controls, byte order mark), which read_file strips, "
    "were left aside",
    "several": "if whitespace, quote style, dashes, Unicode form and invisible characters were all left aside",
}

_SCAN_MAX_BYTES = 1024 * 1024  # of the file's head: eight passes of some 30 ms each
_ROW_PREFIX = re.compile(r"^[ \t]*[0-9]+[|\t]", re.MULTILINE)
_NOTICE = re.compile(
    "|".join(re.escape(text) + ("" if text.endswith("]") else r"[^\]\n]*\]?") for text in redact.MARKERS)
)
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‘’‚‛′`´", "'"))
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−﹘﹣－", "-"))
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]+")

Form = Callable[[str], str]
Forms = dict[What, Form]


@dataclass(frozen=True, slots=True)
class Difference:
    """One kind of difference, and the 1-based line where the text would be found but for it."""

    what: What
    line_no: int


def differences(data: bytes, wanted: bytes) -> tuple[Difference, ...]:
    """Find each single kind of difference without which `wanted` is in `data`, or `several` at once.

    Looks at the first MiB of `data`. Call it when `wanted` itself is not there.
    """
    return _differences(data, wanted, _FORMS)


def line_differences(rows: Sequence[bytes], wanted: Sequence[bytes]) -> tuple[Difference, ...]:
    """Do the same for whole lines, given without endings: they are found as whole lines only."""
    return _differences(b"\n".join((b"", *rows, b"")), b"\n".join((b"", *wanted, b"")), _LINE_FORMS)


def sentences(found: Sequence[Difference]) -> str:
    """Put differences into words for a message: one sentence for each, with a leading space; no file text."""
    return "".join(f" It would match at line {each.line_no} {WORDS[each.what]}." for each in found)


def _differences(data: bytes, wanted: bytes, forms: Forms) -> tuple[Difference, ...]:
    text = data[:_SCAN_MAX_BYTES].decode(errors="surrogateescape")
    key = wanted[:_SCAN_MAX_BYTES].decode(errors="surrogateescape")
    found = [*_row_prefix(text, key), *_marker(text, key)]
    found += [Difference(what, line_no) for what, form in forms.items() if (line_no := _locate(text, key, form))]
    if any(each.what == "line_endings" for each in found):
        found = [each for each in found if each.what != "whitespace"]  # line ends are whitespace too: say the nearer
    if not found and (line_no := _locate(text, key, lambda each: reduce(_applied, forms.values(), each))):
        found.append(Difference("several", line_no))
    return tuple(found)


def _applied(text: str, form: Form) -> str:
    return form(text)


def _row_prefix(text: str, key: str) -> list[Difference]:
    rows = [row for row in key.split("\n") if row]
    if not rows or not all(_ROW_PREFIX.match(row) for row in rows):
        return []
    line_no = _locate(text, _ROW_PREFIX.sub("", key), _one_ending)
    return [Difference("row_prefix", line_no)] if line_no else []


def _marker(text: str, key: str) -> list[Difference]:
    if not any(notice not in text for notice in _NOTICE.findall(key)):
        return []
    line_no = _locate(text, max(_NOTICE.split(key), key=len), _one_ending)
    return [Difference("marker", line_no)] if line_no else []


def _locate(text: str, key: str, form: Form) -> int | None:
    """The line where the key is found once both are brought into the form; None if nowhere, or nothing is left."""
    plain_key = form(key)
    offset = form(text).find(plain_key) if plain_key else -1
    if offset < 0:
        return None
    ends = accumulate(len(form(row + "\n")) for row in text.split("\n"))
    return next(line_no for line_no, end in enumerate(ends, 1) if end > offset)


def _one_ending(text: str) -> str:
    return re.sub("\r\n?", "\n", text)


def _no_whitespace(text: str) -> str:
    return "".join(text.split())


def _no_blanks(text: str) -> str:
    return re.sub(r"[^\S\n]+", "", text)


def _straight(text: str) -> str:
    return text.translate(_QUOTES)


def _hyphens(text: str) -> str:
    return text.translate(_DASHES)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _visible(text: str) -> str:
    return _INVISIBLE.sub("", text)


_FORMS: Forms = {
    "line_endings": _one_ending,
    "whitespace": _no_whitespace,
    "quote_style": _straight,
    "dashes": _hyphens,
    "unicode_form": _composed,
    "invisible": _visible,
}
_LINE_FORMS: Forms = {**_FORMS, "whitespace": _no_blanks}
