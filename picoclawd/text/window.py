r"""Cut a long line to a row of results, so that the match in it is seen.

One line gives one row: `\n`, `\r` and the other C0 controls but tab are shown as escapes, `\r` or `\x0c`. What else
some programs take for the end of a line (U+0085, U+2028) stays: in results only `\n` parts rows.
"""

import re

ROW_MAX_BYTES = 240  # a row of search_files
MATCH_ROW_MAX_BYTES = 512  # a match line of find_files
MARK = "…"

_MARK_BYTES = len(MARK.encode())
_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f]")
_SHORT = {"\n": "\\n", "\r": "\\r"}


def window(line: str | bytes, match_start: int, match_end: int, max_bytes: int = ROW_MAX_BYTES) -> str:
    """Show a line in at most `max_bytes` of UTF-8, its `…` marks included; a line that fits is whole.

    The match's places are indexes of `line`: of its bytes, or of a str's characters. The window is at the start of
    the line if the match ends in there, else around the match; a longer match is shown from its start. A final
    newline and the `\\r` before it are not shown; bytes that are not UTF-8 are U+FFFD.
    """
    line = _without_ending(line)
    if len(line) <= max_bytes and len((whole := _shown(line)).encode()) <= max_bytes:
        return whole
    left, match, right = _parts(line, match_start, match_end, 2 * max_bytes)
    before, inside, after = (len(part.encode()) for part in (left, match, right))
    if before + inside + _MARK_BYTES <= max_bytes:
        return _head(left + match + right, max_bytes - _MARK_BYTES) + MARK
    room = max_bytes - 2 * _MARK_BYTES
    lead = room // 4 if inside > room else (room - inside) // 2
    if before <= lead:
        return _head(left + match, max_bytes - _MARK_BYTES) + MARK
    if lead + inside + after + _MARK_BYTES <= max_bytes:
        return MARK + _tail(left + match + right, max_bytes - _MARK_BYTES)
    shown = _tail(left, lead)
    return MARK + shown + _head(match + right, room - len(shown.encode())) + MARK


def _parts(line: str | bytes, start: int, end: int, far: int) -> tuple[str, str, str]:
    """What is shown of the line before the match, of the match and after it; `far` is out of any window's reach."""
    end = max(0, min(end, len(line)))
    start = max(0, min(start, end))
    stop = min(end, start + far)
    return _shown(line[max(0, start - far) : start]), _shown(line[start:stop]), _shown(line[stop : stop + far])


def _without_ending(line: str | bytes) -> str | bytes:
    if isinstance(line, str):
        return line.removesuffix("\n").removesuffix("\r")
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _shown(part: str | bytes) -> str:
    """Text that encodes as UTF-8 and stays on its row."""
    text = part.encode("utf-8", "replace").decode() if isinstance(part, str) else part.decode("utf-8", "replace")
    return _CONTROLS.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return _SHORT.get(match[0]) or f"\\x{ord(match[0]):02x}"


def _head(text: str, most: int) -> str:
    return text.encode()[:most].decode("utf-8", "ignore")


def _tail(text: str, most: int) -> str:
    return text.encode()[-most:].decode("utf-8", "ignore") if most else ""
