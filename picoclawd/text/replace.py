"""Replace one exact occurrence of a text in a file's bytes."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from picoclawd.errors import Fault, Slug
from picoclawd.text import differences, lines, nearest

_LINES_NAMED_MAX = 20  # of the places where an ambiguous text occurs: naming more would help nobody to choose
_ROWS_SHOWN_FROM_MAX = 500_000  # lines that are looked at for the nearest ones
_CRLF = b"\r\n"
_LF = b"\n"


def replace_once(original: bytes, old: str, new: str) -> bytes:
    """Replace `old`, which must occur exactly once, by `new`; everything else keeps its bytes.

    Bytes are compared, non-overlapping; nothing in `old` or `new` has a special meaning. A leading byte order mark
    is neither matched nor lost. Line endings:

    - An exact match decides. If there is none and `old` has LF only, each LF may also match CRLF.
    - After such a match, `new`'s LF become CRLF where most line ends of the matched region are CRLF (the first one
      decides a tie).
    - An exact match that holds line ends takes `new` as it is. One within a line lets `new`'s LF follow that line's
      own ending (the line before, where it has none), so that a CRLF file stays one.

    Raises:
        Fault: `invalid_params` (`old` empty), `no_match` (nearest lines in `excerpt`; `differs`, `lines` where only
            small differences stand against a match), `ambiguous_match` (`count`, `lines`).
    """
    wanted, fresh = encoded(old, "old_text"), encoded(new, "new_text")
    if not wanted:
        raise Fault(Slug.INVALID_PARAMS, "old_text is empty: give the exact text to replace.")
    bom, text = lines.split_bom(original)
    if wanted in text:
        start = _only(text, wanted)
        end = start + len(wanted)
        if _LF in fresh and not (_LF in wanted or b"\r" in wanted):
            fresh = with_ending(fresh, ending_at(text, start))
    elif _LF in wanted and _CRLF not in wanted and _CRLF in text:
        start, end = _span_in_crlf(original, text, wanted)
        fresh = with_ending(fresh, main_ending(text[start:end]))
    else:
        raise not_found(original, wanted, "old_text")
    return bom + text[:start] + fresh + text[end:]


def encoded(text: str, name: str) -> bytes:
    """The bytes of a text that a caller gave as the parameter `name`.

    Raises: invalid_params for a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Fault(Slug.INVALID_PARAMS, f"{name} is not valid Unicode: it holds a lone surrogate.") from None


def _only(text: bytes, wanted: bytes) -> int:
    """The offset of the only occurrence."""
    count = text.count(wanted)
    if count > 1:
        raise ambiguous(text, wanted, count, "old_text")
    return text.find(wanted)


def ambiguous(text: bytes, wanted: bytes, count: int, name: str, hint: str = "", **data: Any) -> Fault:
    """The fault of a text, given as the parameter `name`, that stands `count` times where it should stand once."""
    line_nos = list(islice(_line_nos(text, wanted), _LINES_NAMED_MAX))
    more = f" and {count - len(line_nos)} more" if count > len(line_nos) else ""
    return Fault(
        Slug.AMBIGUOUS_MATCH,
        f"{name} appears {count} times. Please provide more context to make it unique{hint}. "
        f"It begins at lines {', '.join(map(str, line_nos))}{more}.",
        count=count,
        lines=line_nos,
        **data,
    )


def _line_nos(text: bytes, wanted: bytes) -> Iterator[int]:
    line_no, done = 1, 0
    while (offset := text.find(wanted, done)) >= 0:
        line_no += text.count(_LF, done, offset)
        yield line_no
        done = offset + len(wanted)
        line_no += text.count(_LF, offset, done)


def _span_in_crlf(original: bytes, text: bytes, wanted: bytes) -> tuple[int, int]:
    """Find the text with each CRLF read as LF: searching one plain copy stays linear, whatever the text is."""
    plain = text.replace(_CRLF, _LF)
    if wanted not in plain:
        raise not_found(original, wanted, "old_text")
    start = _only(plain, wanted)
    breaks_before = plain.count(_LF, 0, start)
    breaks_within = wanted.count(_LF)
    rows = text.split(_LF, breaks_before + breaks_within)
    sizes = [len(row) + 1 for row in rows[: breaks_before + breaks_within]]
    column = start - (plain.rfind(_LF, 0, start) + 1)
    tail = len(wanted) - (wanted.rfind(_LF) + 1)
    return sum(sizes[:breaks_before]) + column, sum(sizes) + tail


def main_ending(region: bytes) -> bytes:
    """The ending of most of a region's lines, of two as frequent the first; the region holds at least one."""
    crlf = region.count(_CRLF)
    lf = region.count(_LF) - crlf
    if crlf == lf:
        return lines.ending(region[: region.find(_LF) + 1])
    return _CRLF if crlf > lf else _LF


def ending_at(text: bytes, offset: int) -> bytes:
    """The ending of the line that holds the offset, else of the line before it."""
    at = text.find(_LF, offset)
    if at < 0:
        at = text.rfind(_LF, 0, offset)
    return _CRLF if at > 0 and text[at - 1 : at] == b"\r" else _LF


def with_ending(fresh: bytes, ending: bytes) -> bytes:
    """The text with each of its line ends as CRLF where that is the ending, else as it is."""
    return fresh.replace(_CRLF, _LF).replace(_LF, _CRLF) if ending == _CRLF else fresh


def not_found(original: bytes, wanted: bytes, name: str, **data: Any) -> Fault:
    """The fault of a text, given as the parameter `name`, that is not there: what differs, and the nearest lines."""
    _, text = lines.split_bom(original)
    found = differences.differences(text, wanted)
    rows = text.split(_LF, _ROWS_SHOWN_FROM_MAX)[:_ROWS_SHOWN_FROM_MAX]
    if found:
        near = nearest.rows_from(rows, found[0].line_no, min(3, wanted.count(_LF) + 1))
    else:
        near = nearest.nearest(rows, wanted.split(_LF))
    hint = differences.sentences(found) or (near and " The lines most like it are shown: read them again.") or ""
    return Fault(
        Slug.NO_MATCH,
        f"{name} not found in file. Make sure it matches exactly.{hint}",
        excerpt=nearest.excerpt(near),
        differs=[each.what for each in found],
        lines=[each.line_no for each in found],
        **data,
    )
