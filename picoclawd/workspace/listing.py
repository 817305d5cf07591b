"""List what lies in a directory, or below it, with the verdict of the ignore rules on each entry."""

from dataclasses import dataclass
from typing import Literal

from picoclawd.files import paths
from picoclawd.files.oserrors import as_fault
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.ground import Ground
from picoclawd.index.listing import IGNORED, PROTECTED, Hiding, Judge, Kind, Listing, is_visible, kind_of
from picoclawd.index.rule_files import NO_RULE_FILES, entered, scope_above
from picoclawd.index.scanning import GoneError, scan
from picoclawd.index.trust import Trust
from picoclawd.text import display
from picoclawd.workspace.candidates import Finder
from picoclawd.workspace.scope import Place, Poll

EntryKind = Literal["dir", "file", "symlink", "other"]

_KINDS: dict[Kind, EntryKind] = {
    Kind.DIRECTORY: "dir",
    Kind.FILE: "file",
    Kind.SYMLINK: "symlink",
    Kind.SPECIAL: "other",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry, relative to the place's base."""

    path: bytes
    kind: EntryKind
    ignored: bool


async def list_below(finder: Finder, threads: Threads, place: Place, *, recursive: bool, poll: Poll) -> list[Listed]:
    """The entries of the place's directory by name; with `recursive` also those below, but nothing in an ignored one.

    Protected entries are left out. Raises: what listing the directory raises; what `poll` raises.
    """
    return await threads.run(Lane.READ, _list, finder, place, recursive, poll)


def _list(finder: Finder, place: Place, recursive: bool, poll: Poll) -> list[Listed]:
    found: list[Listed] = []
    with finder.ground(place) as ground:
        pending = [place.directory]
        while pending:
            poll(len(found))
            directory = pending.pop()
            listing = listing_at(ground, directory, finder.hiding(place))
            prefix = directory + b"/" if directory else b""
            below: list[bytes] = []
            for name, mark in listing.entries():
                if mark & PROTECTED:
                    continue
                path = prefix + name
                found.append(Listed(path, _KINDS[kind_of(mark)], bool(mark & IGNORED)))
                if recursive and kind_of(mark) is Kind.DIRECTORY and is_visible(mark):
                    below.append(path)
            pending += reversed(below)
    return found


def listing_at(ground: Ground, directory: bytes, hiding: Hiding) -> Listing:
    """The entries of one directory as they are now, with the verdicts of the rules there and above. Blocking.

    Raises: not_found, not_a_directory, access_denied, ... where it cannot be listed.
    """
    trust = Trust(None)
    try:
        above = scope_above(ground, directory, trust)
        found = scan(ground, directory, NO_RULE_FILES, trust)
    except GoneError as gone:
        raise as_fault(gone.error, "list", display.name(directory or b"."), thing="directory") from gone
    except OSError as exc:
        raise as_fault(exc, "list", display.name(directory or b"."), thing="directory") from exc
    scope = entered(above, paths.split(directory)[1], found.rule_files)
    return Judge(directory, scope, hiding).judge(found.seen)
