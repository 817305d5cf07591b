r"""Make text from clients and files safe to show: escape what a terminal, a log or a row of results must not hold.

Escapes are written as Python writes them: `\n`, `\x1b`, `\u202e`, `\U000e0041`.
"""

import re
from typing import Final

from picoclawd.errors import Fault, Slug

# Fragments of `re` character classes. The first reorders text on the screen (Unicode TR9), the second shows nothing:
# zero-width characters, joiners, invisible operators, annotation marks, Hangul fillers, line separators, tags.
BIDI_CONTROLS: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
INVISIBLES: Final = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2028\u2029\u2060-\u2065\u206a-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_SURROGATES = "\ud800-\udfff"
_C0_BUT_TAB_AND_NEWLINE = "\x00-\x08\x0b-\x1f"
_DEL_AND_C1 = "\x7f-\x9f"

# One character class each, so matching is linear.
_FOR_TERMINAL = re.compile(f"[{_C0_BUT_TAB_AND_NEWLINE}{_DEL_AND_C1}{BIDI_CONTROLS}{_SURROGATES}]")
_FOR_LOG = re.compile(f"[\x00-\x1f{_DEL_AND_C1}{BIDI_CONTROLS}\u2028\u2029{_SURROGATES}]")
_IN_NAME = re.compile(f"[\x00-\x1f{_DEL_AND_C1}{BIDI_CONTROLS}{INVISIBLES}{_SURROGATES}]")
_IN_ESCAPED_NAME = re.compile(_IN_NAME.pattern[:-1] + "\\\\]")

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")  # RFC 3986, 2.3
_PERCENT_ENCODED = re.compile(r"(?:[^%]|%[0-9A-Fa-f]{2})*", re.ASCII | re.DOTALL)  # the branches exclude each other


def terminal(text: str) -> str:
    """Escape what could steer a terminal: C0 but `\\n` and `\\t`, DEL, C1, bidi controls, lone surrogates."""
    return _FOR_TERMINAL.sub(_escaped, text)


def log_line(text: str) -> str:
    """Escape as `terminal` does, and all line breaks and tabs too, so that a text is one line of a log."""
    return _FOR_LOG.sub(_escaped, text)


def name(raw: bytes) -> str:
    r"""Show a file name or path in `content`: one name, one row.

    An ordinary UTF-8 name is itself, also one that spells an escape (`data` tells the two apart). In a name with
    control, bidi or invisible characters or with bytes that are not UTF-8, these are escaped (a bad byte as `\xe9`),
    and so are its backslashes.
    """
    text = raw.decode("utf-8", "surrogateescape")
    if _IN_NAME.search(text) is None:
        return text
    return _IN_ESCAPED_NAME.sub(_escaped_in_name, text)


def data_name(raw: bytes) -> tuple[str, str | None]:
    """Give a name for `data`: its text with U+FFFD for bad bytes, and percent-encoded if there are such, else None."""
    try:
        return raw.decode(), None
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), to_path_bytes(raw)


def to_path_bytes(raw: bytes) -> str:
    """Percent-encode a path: what `path_bytes` takes and gives. `/` stays."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in raw)


def from_path_bytes(encoded: str) -> bytes:
    """Decode `path_bytes`: percent-encoded bytes, any other ASCII character as it is.

    Raises: invalid_path for a character that is not ASCII or a `%` without two hex digits.
    """
    if not encoded.isascii() or _PERCENT_ENCODED.fullmatch(encoded) is None:
        message = (
            "path_bytes is not percent-encoded: write each byte outside ASCII, and % itself, as % and two hex digits"
        )
        raise Fault(Slug.INVALID_PATH, message)
    first, *rest = encoded.encode().split(b"%")
    return first + b"".join(bytes([int(part[:2], 16)]) + part[2:] for part in rest)


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escaped_in_name(match: re.Match[str]) -> str:
    """As `_escaped`, but a byte that surrogateescape carried is that byte."""
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else _escaped(match)
