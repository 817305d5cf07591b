"""One file's change as `git apply` takes it: a text diff, or for bytes that are no text a binary patch."""

import base64
import hashlib
import zlib
from collections.abc import Iterator

from picoclawd.text import diff

_MODE = "100644"
_NOTHING = "0" * 40
_LINE_BYTES = 52  # of a base85 line, whose first character says how many they are


def file_patch(path: str, before: bytes | None, after: bytes | None) -> str:
    """The patch of the file at `path`, a name below the root; None for no file. Empty where both are equal.

    Ends in a newline, so that patches of several files can be joined.
    """
    if before == after:
        return ""
    rows = list(_head(path, before, after))
    old, new = before or b"", after or b""
    if _is_text(old) and _is_text(new):
        rows += _text_rows(path, before, after)
    else:
        rows.append(f"index {_blob(before)}..{_blob(after)}")
        rows.append("GIT binary patch")
        rows += [*_literal(new), "", *_literal(old), ""]
    return "\n".join(rows) + "\n"


def _head(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    yield f"diff --git {diff.quoted(f'a/{path}')} {diff.quoted(f'b/{path}')}"
    if before is None:
        yield f"new file mode {_MODE}"
    if after is None:
        yield f"deleted file mode {_MODE}"


def _text_rows(path: str, before: bytes | None, after: bytes | None) -> list[str]:
    rows = [row.text for row in diff.unified(path, before or b"", after or b"")]
    if not rows:  # an empty file came or went: its mode says it all
        return []
    if before is None:
        rows[0] = "--- /dev/null"
    if after is None:
        rows[1] = "+++ /dev/null"
    return rows


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _blob(data: bytes | None) -> str:
    """The name that git gives to a content; the binary form insists on it."""
    if data is None:
        return _NOTHING
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _literal(data: bytes) -> Iterator[str]:
    yield f"literal {len(data)}"
    packed = zlib.compress(data)
    for start in range(0, len(packed), _LINE_BYTES):
        piece = packed[start : start + _LINE_BYTES]
        length = chr(ord("A") + len(piece) - 1) if len(piece) <= 26 else chr(ord("a") + len(piece) - 27)
        yield length + base64.b85encode(piece, pad=True).decode("ascii")
