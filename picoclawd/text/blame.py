"""Which revision each line of a file comes from."""

from collections.abc import Iterable
from typing import TypeVar

from picoclawd.text import diff, lines

T = TypeVar("T")


def blame(revisions: Iterable[tuple[T, bytes]]) -> list[tuple[T, bytes]]:
    """The lines of the last of some revisions, oldest first, each with the label of the one that brought it."""
    found: list[tuple[T, bytes]] = []
    for label, content in revisions:
        new = lines.split_lines(content)
        older = [line for _, line in found]
        fresh = [(label, line) for line in new]
        for start, place, count in diff.matching(older, new):
            fresh[place : place + count] = found[start : start + count]
        found = fresh
    return found
