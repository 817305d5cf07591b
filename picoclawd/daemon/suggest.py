"""Name the valid key that a misspelt one was probably meant to be."""

from collections.abc import Iterable
from difflib import SequenceMatcher

# An unknown key in a section of ours is certainly a mistake: a loose likeness is worth naming.
LOOSE = 0.55
# Elsewhere a key is most likely another program's: only a likely misspelling is worth a warning. PicoClaw's own
# `send_file` is 0.78 like `read_file`.
CLOSE = 0.82


def nearest(name: str, valid: Iterable[str], likeness: float) -> str | None:
    """The valid name most like `name`, None where none reaches `likeness` (0 to 1).

    Case, `-` and `_` do not count: `maxLines` is `max_lines`. Of equals the first in `valid` wins.
    """
    plain = _plain(name)
    best: str | None = None
    best_ratio = likeness
    for candidate in valid:
        ratio = SequenceMatcher(None, plain, _plain(candidate)).ratio()
        if ratio > best_ratio or (best is None and ratio == best_ratio):
            best, best_ratio = candidate, ratio
    return best


def _plain(name: str) -> str:
    """The letters that count. A key of many kilobytes is no misspelling: only its head is compared."""
    return name[:100].replace("_", "").replace("-", "").lower()
