"""Leave out of a list of files, as it is gone through, those that a filter proves to hold no match.

Page by page of the list, so that a search which ends early has not looked at all of it; a bundle is searched when the
first of its files comes up.
"""

from collections.abc import Callable, Iterator, Sequence

from picoclawd.index.anchors import choose
from picoclawd.index.bundles import Bundle
from picoclawd.index.corpus import Corpus, Selection
from picoclawd.index.groups import Group
from picoclawd.index.literals import requirement
from picoclawd.index.pattern import SearchPattern
from picoclawd.index.requirements import trigram_query

UNFILTERED = 50  # files: a page of what is everywhere is full before a filter pays
_WINDOW_GROWTH = 4
_WINDOW_MAX = 12_800  # files that are filtered at once


def sift(
    corpus: Corpus,
    files: Sequence[bytes],
    pattern: SearchPattern,
    *,
    verified: bool,
    stop: Callable[[], bool],
    unfiltered: int = UNFILTERED,
) -> Iterator[bytes]:
    """Those of the files of the workspace that may match, in their order; `verified` as `Corpus.select` has it."""
    yield from files[:unfiltered]
    query = trigram_query(requirement(pattern.source))
    found = _Found(pattern)
    start, size = unfiltered, _WINDOW_GROWTH * unfiltered
    while start < len(files) and not stop():
        window = files[start : start + size]
        yield from _sifted(window, corpus.select(window, query, verified=verified, stop=stop), found)
        start, size = start + size, min(_WINDOW_GROWTH * size, _WINDOW_MAX)


def _sifted(window: Sequence[bytes], selection: Selection, found: "_Found") -> Iterator[bytes]:
    others = frozenset(selection.alone + selection.binary)  # binary ones are for who counts them
    groups = {part.group.paths[index]: part.group for part in selection.parts for index in part.indexes()}
    last: Group | None = None
    matching: frozenset[bytes] | None = None
    for path in window:
        group = groups.get(path)
        if group is not None:
            if group is not last:  # its files mostly follow each other
                last, matching = group, found.matching(group)
            if matching is None or path in matching:
                yield path
        elif path in others:
            yield path


class _Found:
    """What the bundles hold that were searched so far."""

    def __init__(self, pattern: SearchPattern) -> None:
        self._pattern = pattern
        self._anchors: tuple[SearchPattern, ...] | None = None
        self._matching: dict[Group, frozenset[bytes]] = {}

    def matching(self, group: Group) -> frozenset[bytes] | None:
        """The files of a group that match; None where that would take too long, or its texts are not held."""
        if not isinstance(group, Bundle) or group.is_large:
            return None
        matching = self._matching.get(group)
        if matching is None:
            matching = self._matching[group] = self._search(group)
        return matching

    def _search(self, bundle: Bundle) -> frozenset[bytes]:
        if self._anchors is None:
            self._anchors = choose(self._pattern, [bundle.text])
        if self._anchors:
            found = [index for index, _count in self._pattern.tally(bundle.text, bundle.starts, self._anchors)]
        else:
            found = self._pattern.matching(bundle.text, bundle.starts)
        return frozenset(bundle.paths[index] for index in found)
