"""Walk a directory afresh, with nothing cached: for what the tree does not hold, and while it is not built.

The same order, verdicts and counts as the tree's. No rule is applied to the directory that is named, nor to those
above it; but the rules that they hold apply to what lies below.
"""

from collections.abc import Iterator

from picoclawd.files import paths
from picoclawd.files.oserrors import as_fault
from picoclawd.index.changes import Found
from picoclawd.index.ground import Ground
from picoclawd.index.ignore import Scope
from picoclawd.index.listing import NONE_SKIPPED, Hiding, Judge, Kind, Skipped, is_visible, kind_of, skipped_in
from picoclawd.index.rule_files import NO_RULE_FILES, entered, scope_above
from picoclawd.index.scanning import GoneError, scan
from picoclawd.index.trust import Trust
from picoclawd.text import display


class Walk:
    """Iterate, once, over the visible files and links below a directory, in discovery order; each step may block.

    Paths are relative to the ground's root. For a directory outside the workspace make a ground of its own: then no
    rule from above it applies. `skipped` counts what was left out so far. Holds no descriptor between steps.
    """

    def __init__(self, ground: Ground, directory: bytes, hiding: Hiding) -> None:
        self._ground = ground
        self._directory = directory
        self._hiding = hiding
        self._trust = Trust(None)
        self.skipped: Skipped = NONE_SKIPPED

    def __iter__(self) -> Iterator[Found]:
        """Raises: not_found, not_a_directory, symlink_loop, access_denied for the named directory; io_error."""
        stack = [self._begin()]
        while stack:
            scope, entries = stack[-1]
            found = next(entries, None)
            if found is None:
                stack.pop()
            elif found.kind is Kind.DIRECTORY:
                stack += self._enter(scope, found.path)
            else:
                yield found

    def _begin(self) -> tuple[Scope, Iterator[Found]]:
        try:
            above = scope_above(self._ground, self._directory, self._trust)
            return self._list(above, self._directory)
        except GoneError as gone:
            error = gone.error
        except OSError as exc:
            error = exc
        raise as_fault(error, "list", display.name(self._directory or b"."), thing="directory")

    def _enter(self, above: Scope, directory: bytes) -> list[tuple[Scope, Iterator[Found]]]:
        try:
            return [self._list(above, directory)]
        except GoneError:
            return []  # somebody removed it between our seeing its name and now

    def _list(self, above: Scope, directory: bytes) -> tuple[Scope, Iterator[Found]]:
        """The scope of a directory and its visible entries; what it leaves out is counted."""
        found = scan(self._ground, directory, NO_RULE_FILES, self._trust)
        scope = entered(above, paths.split(directory)[1], found.rule_files)
        listing = Judge(directory, scope, self._hiding).judge(found.seen)
        self.skipped = self.skipped.plus(skipped_in(listing))
        if found.facts is None:
            self.skipped = self.skipped.plus(Skipped(unreadable=1))
        prefix = directory + b"/" if directory else b""
        return scope, (
            Found(prefix + name, kind_of(mark))
            for name, mark in listing.entries()
            if is_visible(mark) and mark != Kind.SPECIAL
        )
