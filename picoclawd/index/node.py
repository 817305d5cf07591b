"""One directory of the tree: what was seen there, when, by which rules, and the names of everything below it."""

from itertools import groupby
from operator import itemgetter

import msgspec

from picoclawd.index.ignore import ROOT, Scope
from picoclawd.index.listing import NONE_SKIPPED, Kind, Listing, Skipped, skipped_in
from picoclawd.index.pathblob import EMPTY, BlobBuilder, PathBlob
from picoclawd.index.rule_files import NO_RULE_FILES, RuleFiles
from picoclawd.index.trust import Facts


class Names(msgspec.Struct, frozen=True):
    """All that a search may see below one directory, relative to the root, in discovery order.

    Links are apart: whether what one leads to may be read is decided when it is asked for (`order_key` merges). The
    `generation` changes whenever anything else here does, and never comes back.
    """

    files: PathBlob
    links: PathBlob
    skipped: Skipped
    generation: int


NO_NAMES = Names(EMPTY, EMPTY, NONE_SKIPPED, 0)


class Node:
    """A directory that is neither ignored nor protected nor a link. Only the tree changes it, under its lock.

    `trusted`: equal facts prove that `listing` holds. `entered` is the parent's scope that the verdicts were made
    under. `dropped`: it is no part of the tree any more. `generation` is the tree's at the last change of any name
    here or below. `names` is None where it must be made anew.
    """

    __slots__ = (
        "children",
        "dropped",
        "entered",
        "facts",
        "generation",
        "listing",
        "name",
        "names",
        "parent",
        "path",
        "rule_files",
        "scope",
        "trusted",
        "unreadable",
    )

    def __init__(self, parent: "Node | None", name: bytes) -> None:
        self.parent = parent
        self.name = name
        self.path: bytes = parent.path + b"/" + name if parent is not None and parent.path else name
        self.facts: Facts | None = None
        self.trusted = False
        self.rule_files: RuleFiles = NO_RULE_FILES
        self.entered: Scope | None = None
        self.scope = ROOT
        self.listing = Listing()
        self.unreadable = False
        self.children: dict[bytes, Node] = {}
        self.dropped = False
        self.generation = 0
        self.names: Names | None = None

    @property
    def above(self) -> Scope:
        """The scope that this directory lies in."""
        return ROOT if self.parent is None else self.parent.scope

    @property
    def is_due(self) -> bool:
        """Whether it was never scanned, or was judged by rules that hold no longer."""
        return self.entered is not self.above

    def invalidate(self, generation: int) -> None:
        """Forget the names of this directory and of all above it."""
        node: Node | None = self
        while node is not None:
            node.names = None
            node.generation = generation
            node = node.parent

    def drop(self) -> "list[Node]":
        """Take this directory and all below it out of the tree, and give them."""
        dropped = [self]
        for node in dropped:
            node.dropped = True
            dropped.extend(node.children.values())
        return dropped


def names_below(top: Node) -> Names:
    """The names below a directory, made from those of its subdirectories: only what changed is joined again."""
    stale = [top]
    for node in stale:
        stale.extend(child for child in node.children.values() if child.names is None)
    for node in reversed(stale):
        node.names = _joined(node)
    return top.names or NO_NAMES


def _joined(node: Node) -> Names:
    files, links = BlobBuilder(node.path), BlobBuilder(node.path)
    skipped = skipped_in(node.listing)
    if node.unreadable:
        skipped = skipped.plus(Skipped(unreadable=1))
    for mark, entries in groupby(node.listing.entries(), itemgetter(1)):
        names = [name for name, _ in entries]
        if mark == Kind.FILE:
            files.add(names)
        elif mark == Kind.SYMLINK:
            links.add(names)
        elif mark == Kind.DIRECTORY:
            for name in names:
                below = node.children[name].names or NO_NAMES
                files.join(below.files)
                links.join(below.links)
                skipped = skipped.plus(below.skipped)
    return Names(files.done(), links.done(), skipped, node.generation)
