"""Diffs of file text for whoever reads them: masked before they are made, as the text around a secret tells it."""

from picoclawd import limits
from picoclawd.text import diff
from picoclawd.tools._spec import Cleaner


def shown_diff(cleaner: Cleaner, name: str, before: bytes, after: bytes) -> str:
    """The bounded diff of two states of a file; empty where they are equal."""
    if before == after:
        return ""
    made = diff.unified(name, _cleaned(cleaner, before), _cleaned(cleaner, after))
    if not made:
        return "[they differ only in what is masked or never shown]"
    kept, _cut = diff.bounded(made, limits.DIFF_MODEL_MAX_CHARS)
    return "\n".join(row.text for row in kept)


def _cleaned(cleaner: Cleaner, data: bytes) -> bytes:
    return cleaner.clean(data.decode("utf-8", "replace")).encode("utf-8", "replace")
