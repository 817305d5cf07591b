"""Take out of `content` what a person does not see or a model cannot use, and say so in its place.

| taken out | notice |
|---|---|
| a run of invisible characters: zero-width, bidi controls, tags, fillers | `[invisible characters removed]` |
| a `data:` URL | `[data URL omitted: N chars]` |
| where asked, a base64-like run of `limits.BASE64_RUN_MIN_CHARS` or more | `[base64 omitted: N chars]` |

What shapes visible text stays, since it can hide nothing: one joiner between two emoji or two letters of a script that
joins, and one variation selector behind a visible character. Two in a row are a known way to smuggle bytes and go; so
do all tags, which costs the flags of England, Scotland and Wales.
"""

import re
import unicodedata

from picoclawd.limits import BASE64_RUN_MIN_CHARS
from picoclawd.text.display import BIDI_CONTROLS

INVISIBLE_NOTICE = "[invisible characters removed]"
_DATA_URL_NOTICE = "[data URL omitted: "
_BASE64_NOTICE = "[base64 omitted: "
NOTICES = (INVISIBLE_NOTICE, _DATA_URL_NOTICE, _BASE64_NOTICE)  # how each notice begins

_JOINERS = "\u200c\u200d"
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HIDDEN = (
    f"\u034f\u115f\u1160\u180e\u200b{_JOINERS}{_SELECTORS}{BIDI_CONTROLS}\u2060-\u2065\u206a-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
# Plain repetitions of one class: linear.
_HIDDEN_RUN = re.compile(f"[{_HIDDEN}]+")
_FOREIGN_RUN = re.compile("[^\x00-\x7f]+")
_SELECTOR = re.compile(f"[{_SELECTORS}]")
# The types are named because `{data:width/height,x:1}` is JavaScript. `(?i:)` covers the head only.
_DATA_URL = re.compile(
    r"(?<![A-Za-z0-9_])(?i:data:(?:(?:application|audio|font|image|message|model|multipart|text|video)/[a-z0-9.+\-]+)?"
    r"(?:;[a-z0-9\-]+=[a-z0-9.:+_\-]+)*(?:;base64|;utf-?8)?,)(?<!data:,)[A-Za-z0-9%/+][A-Za-z0-9%/+=_~.;:@&?!$*,\-]*"
)
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_\-]+")
_ALPHANUMERIC = re.compile(r"[A-Za-z0-9]")


def strip(text: str, *, omit_base64: bool) -> str:
    """Give the text with a notice in place of each invisible run, `data:` URL and, where asked, long base64 run."""
    if _holds_hidden(text):
        text = _HIDDEN_RUN.sub(_notice_of_invisibles, text)
    text = _without_data_urls(text)
    return _without_base64(text) if omit_base64 else text


def _holds_hidden(text: str) -> bool:
    """Look at each distinct character outside ASCII once: six times as fast as searching the whole text."""
    return not text.isascii() and _HIDDEN_RUN.search("".join(set("".join(_FOREIGN_RUN.findall(text))))) is not None


def _notice_of_invisibles(match: re.Match[str]) -> str:
    run, text = match[0], match.string
    before = text[max(0, match.start() - 1) : match.start()]
    after = text[match.end() : match.end() + 1]
    return run if _shapes_text(before, run, after) else INVISIBLE_NOTICE


def _shapes_text(before: str, run: str, after: str) -> bool:
    """Tell whether a run only shapes its visible neighbours: selector, joiner, or a selector and a joiner."""
    if not before or before.isspace():
        return False
    if _SELECTOR.match(run):
        run = run[1:]
    if run == "":
        return True
    if run not in _JOINERS or not after:
        return False
    return (_is_pictogram(before) and _is_pictogram(after)) or (_joins(before) and _joins(after))


def _is_pictogram(char: str) -> bool:
    """Emoji and dingbats, skin tones among them."""
    return char >= "\u2190" and unicodedata.category(char) in ("So", "Sk", "Sm")


def _joins(char: str) -> bool:
    """Letters and marks of Arabic, Syriac, the Indic scripts, Myanmar, Khmer and Mongolian."""
    return ("\u0600" <= char <= "\u0dff" or "\u1000" <= char <= "\u109f" or "\u1780" <= char <= "\u18af") and (
        unicodedata.category(char)[0] in "LM"
    )


def _without_data_urls(text: str) -> str:
    # One byte a character, so that places agree: `str.lower` may lengthen a text.
    lowered = text.encode("ascii", "replace").lower()
    pieces: list[str] = []
    done = 0
    place = lowered.find(b"data:")
    while place >= 0:
        match = _DATA_URL.match(text, place)
        if match is not None:
            pieces += [text[done:place], f"{_DATA_URL_NOTICE}{len(match[0])} chars]"]
            done = match.end()
        place = lowered.find(b"data:", max(done, place + 1))
    return "".join([*pieces, text[done:]])


def _without_base64(text: str) -> str:
    """Replace the long runs. Each covers a multiple of the minimum, so only those places are looked at."""
    pieces: list[str] = []
    done = seen = 0
    for probe in range(0, len(text), BASE64_RUN_MIN_CHARS):
        if probe < seen:
            continue
        start, end = _run_around(text, probe, seen)
        seen = end
        if end - start >= BASE64_RUN_MIN_CHARS and _ALPHANUMERIC.search(text, start, end):
            end += len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
            pieces += [text[done:start], f"{_BASE64_NOTICE}{end - start} chars]"]
            done = end
    return "".join([*pieces, text[done:]])


def _run_around(text: str, probe: int, floor: int) -> tuple[int, int]:
    """The base64-like run that covers a place, not reaching below `floor`; empty if there is none."""
    ahead = _BASE64_RUN.match(text, probe)
    if ahead is None:
        return probe, probe
    behind = _BASE64_RUN.match(text[max(floor, probe - BASE64_RUN_MIN_CHARS) : probe][::-1])
    return probe - (behind.end() if behind else 0), ahead.end()
