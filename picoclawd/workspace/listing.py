"""List what lies in a directory, or below it, with the verdict of the ignore rules on each entry."""

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.files import paths
from picoclawd.files.oserrors import as_fault
from picoclawd.files.threads import Lane, Threads
from picoclawd.index.ground import Ground
from picoclawd.index.listing import (
    IGNORED,
    NONE_SKIPPED,
    PROTECTED,
    Hiding,
    Judge,
    Kind,
    Listing,
    Skipped,
    is_visible,
    kind_of,
)
from picoclawd.index.pathblob import order_key
from picoclawd.index.rule_files import NO_RULE_FILES, entered, scope_above
from picoclawd.index.scanning import GoneError, scan
from picoclawd.index.trust import Trust
from picoclawd.text import display
from picoclawd.workspace.candidates import Finder
from picoclawd.workspace.scope import OutOfTimeError, Place, Poll

EntryKind = Literal["dir", "file", "symlink", "other"]

_KINDS: dict[Kind, EntryKind] = {
    Kind.DIRECTORY: "dir",
    Kind.FILE: "file",
    Kind.SYMLINK: "symlink",
    Kind.SPECIAL: "other",
}


class Listed(msgspec.Struct, frozen=True):
    """One entry, relative to the place's base."""

    path: bytes
    kind: EntryKind
    ignored: bool


@dataclass(slots=True)
class Listings:
    """Entries in discovery order, and what was left out. Not `complete`: the time was over before all were seen."""

    entries: list[Listed] = field(default_factory=list)
    skipped: Skipped = NONE_SKIPPED
    complete: bool = True


async def list_below(finder: Finder, threads: Threads, place: Place, *, recursive: bool, poll: Poll) -> Listings:
    """The entries of the place's directory by name; with `recursive` also those below, but nothing in an ignored one.

    Protected entries are left out, and counted; a directory below that cannot be listed is counted. Raises: what
    listing the named directory raises; what `poll` raises, but for OutOfTimeError.
    """
    return await threads.run(Lane.READ, _list, finder, place, recursive, poll)


def _list(finder: Finder, place: Place, recursive: bool, poll: Poll) -> Listings:
    found = Listings()
    with finder.ground(place) as ground:
        pending = _add(found, ground, place.directory, finder.hiding(place))
        while recursive and pending:
            try:
                poll(len(found.entries))
            except OutOfTimeError:
                found.complete = False
                break
            try:
                pending += _add(found, ground, pending.pop(), finder.hiding(place))
            except Fault:
                found.skipped = found.skipped.plus(Skipped(unreadable=1))
    found.entries.sort(key=lambda listed: order_key(listed.path))
    return found


def _add(found: Listings, ground: Ground, directory: bytes, hiding: Hiding) -> list[bytes]:
    """Add the entries of one directory; the directories among them that may be looked into."""
    listing = listing_at(ground, directory, hiding)
    prefix = directory + b"/" if directory else b""
    visible = [(prefix + name, mark) for name, mark in listing.entries() if not mark & PROTECTED]
    found.entries += [Listed(path, _KINDS[kind_of(mark)], bool(mark & IGNORED)) for path, mark in visible]
    found.skipped = found.skipped.plus(Skipped(protected=len(listing.names) - len(visible)))
    return [path for path, mark in visible if kind_of(mark) is Kind.DIRECTORY and is_visible(mark)]


def ignored_in(finder: Finder, place: Place) -> dict[bytes, bool]:
    """Whether rules ignore each entry of the place's directory; empty where it cannot be listed any more. Blocking."""
    try:
        with finder.ground(place) as ground:
            listing = listing_at(ground, place.directory, finder.hiding(place))
    except Fault:
        return {}
    return {name: bool(mark & IGNORED) for name, mark in listing.entries()}


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
    if found.facts is None:
        raise Fault(Slug.ACCESS_DENIED, f"failed to list {display.name(directory or b'.')}: access denied")
    scope = entered(above, paths.split(directory)[1], found.rule_files)
    return Judge(directory, scope, hiding).judge(found.seen)
