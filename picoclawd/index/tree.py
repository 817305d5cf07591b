"""The tree: the names of a workspace, always right when verified, and the text to search them by.

Truth comes from stat and scandir alone. Every look at a directory ends in `_take_in`, the only place that changes what
is known: queries (`verify`), hints (`rescan`) and our own writes (`noted`) differ only in where they look. All paths
are relative to the workspace. Every method but those that say so blocks, and all may be called from any thread.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.files import paths
from picoclawd.index.changes import Changes, Difference
from picoclawd.index.ground import Ground, keeps, kind_at
from picoclawd.index.listing import Hiding, Judge, Kind, Listing
from picoclawd.index.node import Names, Node, names_below
from picoclawd.index.rule_files import RULE_NAMES, are_current, entered, same_rules
from picoclawd.index.scanning import UNREADABLE, GoneError, Scan, scan
from picoclawd.index.trust import Trust

CHUNK = 500  # directories looked at, some 2 ms of stats, before others get the lock and the poll is asked

# Called with the number of directories looked at so far; what it raises ends the work, and nothing is lost by that.
Poll = Callable[[int], None]


class Verified(msgspec.Struct, frozen=True):
    """A scope was right, names and verdicts, at some moment after the call began. `looked` counts directories."""

    looked: int


@dataclass(slots=True)
class _Work:
    """One call's work. `owed` are directories found on the way that must be looked at before the tree is whole."""

    owed: list[Node] = field(default_factory=list)
    looked: int = 0


def _no_poll(_looked: int) -> None:
    return


class Tree:
    """The cached tree of one workspace. `check_root` raises root_gone once the root is not what it was.

    It holds nothing until `build` has ended: until then `names` is None everywhere.
    """

    def __init__(self, ground: Ground, hiding: Hiding, trust: Trust, check_root: Callable[[], None]) -> None:
        self._ground = ground
        self._hiding = hiding
        self._trust = trust
        self._check_root = check_root
        self._lock = threading.Lock()  # held to change a node and to join names; nothing under it takes longer
        self._root = Node(None, b"")
        self._owed: list[Node] = []
        self._changes = Changes()
        self._generation = 0
        self.is_built = False

    def build(self, poll: Poll = _no_poll) -> None:
        """Scan everything for the first time; a call that was ended by its poll is continued by the next.

        Raises: root_gone, io_error, path_busy.
        """
        self.verify(b"", poll)
        self.is_built = True

    def verify(self, scope: bytes, poll: Poll = _no_poll) -> Verified:
        """Make the names below `scope` right: every change that ended before the call is then known.

        Each directory of the scope is looked at by one stat, and so is each rule file there and above; only what
        differs, or was changed too lately for its times to prove anything, is listed again.

        Raises: root_gone, io_error, path_busy; what `poll` raises.
        """
        self._check_root()
        with self._working() as work:
            top = self._descend(scope, work)
            if top is not None:
                self._sweep(top, work, poll)
            self._drain(work, poll)
        return Verified(work.looked)

    def rescan(self, directory: bytes, poll: Poll = _no_poll) -> None:
        """Follow a hint that something in this directory changed: list it again, and look at its subdirectories.

        Where the directory is not known, the nearest one above it that is. Raises: as `verify`.
        """
        with self._working() as work:
            with self._lock:
                node = self._deepest(directory)
                if self._may_hold(node, directory):
                    self._rescan(node, work)
                    for child in list(node.children.values()):
                        self._visit(child, work)
            self._drain(work, poll)

    def noted(self, path: bytes, *, is_file: bool = False) -> None:
        """Take in our own write, creation, move or removal at `path`, without listing its directory again.

        `is_file`: a regular file was just seen there, so it need not be looked for. Raises: as `verify`.
        """
        directory, name = paths.split(path)
        with self._working() as work:
            with self._lock:
                node = self._deepest(directory)
                if node.path != directory:
                    if self._may_hold(node, directory):
                        self._rescan(node, work)
                elif name in RULE_NAMES:
                    self._rescan(node, work)
                elif not node.unreadable and keeps(directory, name):
                    self._note(node, name, work, is_file)
            self._drain(work, _no_poll)

    def names(self, scope: bytes) -> Names | None:
        """The names below a directory as they are known now; None where the tree does not hold it (`why` says why).

        Does not block while they are unchanged since the last call; after a change it joins what differs.
        """
        node = self._find(scope) if self.is_built else None
        if node is None:
            return None
        names = node.names
        if names is None:
            with self._lock:
                names = names_below(node)
        return names

    def names_at_hand(self, scope: bytes) -> Names | None:
        """What `names` gives where it need not join anything for that; None else. Does not block."""
        node = self._find(scope) if self.is_built else None
        return None if node is None else node.names

    def listing(self, directory: bytes) -> Listing | None:
        """The entries of a directory with their verdicts, None where the tree does not hold it. Does not block."""
        node = self._find(directory) if self.is_built else None
        return None if node is None else node.listing

    def directories(self) -> list[bytes]:
        """Every directory that the tree holds: what is to be watched."""
        with self._lock:
            found = [self._root]
            for node in found:
                found.extend(node.children.values())
        return [node.path for node in found]

    def take(self) -> Difference:
        """Give what came and went since the last call, and after `build`; each change is given once."""
        with self._lock:
            return self._changes.take()

    def deepest(self, path: bytes) -> Node:
        """The directory of `path`, or the nearest one above it that the tree holds; only to read. Does not block."""
        return self._deepest(path)

    def judge_again(self) -> None:
        """Doubt every verdict, as when another policy hides other names; the next `verify` makes them anew."""
        with self._lock:
            self._root.entered = None
            self._owed.append(self._root)

    @contextmanager
    def _working(self) -> Iterator[_Work]:
        """Begin with what an earlier call left owed, and leave what this one does."""
        work = _Work()
        with self._lock:
            work.owed, self._owed = self._owed, work.owed
        try:
            yield work
        finally:
            with self._lock:
                self._owed.extend(work.owed)

    def _find(self, directory: bytes) -> Node | None:
        node = self._deepest(directory)
        return node if node.path == directory else None

    def _deepest(self, directory: bytes) -> Node:
        node = self._root
        for name in directory.split(b"/") if directory else ():
            child = node.children.get(name)
            if child is None:
                return node
            node = child
        return node

    def _may_hold(self, node: Node, path: bytes) -> bool:
        """Whether `path`, that of `node` or below it, may be part of the tree; not where a verdict keeps that out."""
        rest = paths.below(path, node.path) if node.path else path
        name = (rest or b"").partition(b"/")[0]
        mark = node.listing.mark(name)
        return keeps(node.path, name) and (mark is None or mark <= Kind.SPECIAL)

    def _descend(self, scope: bytes, work: _Work) -> Node | None:
        """Look at every directory from the root down to `scope`; None where that is not part of the tree."""
        with self._lock:
            node: Node | None = self._root
            self._visit(self._root, work)
            for name in scope.split(b"/") if scope else ():
                node = node.children.get(name) if node is not None else None
                if node is not None:
                    self._visit(node, work)
        return None if node is None or node.dropped else node

    def _sweep(self, top: Node, work: _Work, poll: Poll) -> None:
        stack = list(top.children.values())
        while stack:
            poll(work.looked)
            with self._lock:
                for _ in range(min(CHUNK, len(stack))):
                    node = stack.pop()
                    if self._is_as_it_was(node):
                        work.looked += 1
                    else:
                        self._visit(node, work)
                    if node.children:
                        stack.extend(node.children.values())

    def _is_as_it_was(self, node: Node) -> bool:
        """Whether a visit would find nothing to do, for most directories: half of a query's time is spent here, so it
        is one call. False also where only `_visit` can tell."""
        parent = node.parent
        if not node.trusted or node.rule_files or node.dropped or parent is None or node.entered is not parent.scope:
            return False
        try:
            return self._trust.facts(self._ground.stat(node.path)) == node.facts
        except OSError:
            return False

    def _drain(self, work: _Work, poll: Poll) -> None:
        """Look at what is owed, and at what that brings up."""
        while work.owed:
            poll(work.looked)
            with self._lock:
                for _ in range(min(CHUNK, len(work.owed))):
                    node = work.owed[-1]
                    if node.dropped or not node.is_due:
                        work.owed.pop()  # only now: were it interrupted, another call must still find it
                    else:
                        self._visit(node, work)

    def _visit(self, node: Node, work: _Work) -> None:
        """Make one directory right, at the cost of one stat where it was. One that was dropped meanwhile is left."""
        if node.dropped:
            return
        work.looked += 1
        if not self._is_unchanged(node):
            self._rescan(node, work)
        elif node.is_due:
            seen = Scan(node.listing.seen, node.facts, node.trusted, node.rule_files)
            self._take_in(node, seen, work)

    def _is_unchanged(self, node: Node) -> bool:
        if not node.trusted:
            return False
        try:
            now = self._ground.stat(node.path)
        except OSError:
            return False
        if self._trust.facts(now) != node.facts:
            return False
        return not node.rule_files or are_current(self._ground, node.path, node.rule_files, self._trust)

    def _rescan(self, node: Node, work: _Work) -> None:
        """List a directory again. Where it is gone, the one above must know better, or the one above that."""
        gone: list[Node] = []
        found = self._scan(node)
        while found is None:
            if node.parent is None:
                self._check_root()
                raise Fault(Slug.ROOT_GONE, "the workspace was removed: put it back, or restart picoclawd on another")
            gone.append(node)
            node = node.parent
            found = self._scan(node)
        self._take_in(node, found, work)
        for lost in reversed(gone):
            if not lost.dropped:  # it came back, or keeps coming and going: then nothing is known of it
                self._take_in(lost, self._scan(lost) or UNREADABLE, work)

    def _scan(self, node: Node) -> Scan | None:
        try:
            return scan(self._ground, node.path, node.rule_files, self._trust)
        except GoneError:
            return None

    def _take_in(self, node: Node, found: Scan, work: _Work) -> None:
        """Believe a scan: the tree's one mutation. Subdirectories that it brings or judges anew are owed a look."""
        if node.is_due or not same_rules(node.rule_files, found.rule_files):
            self._changes.rules_changed |= self.is_built and node.entered is not None
            node.entered = node.above
            node.scope = entered(node.above, node.name, found.rule_files)
        node.facts, node.trusted, node.rule_files = found.facts, found.trusted, found.rule_files
        listing = Judge(node.path, node.scope, self._hiding).judge(found.seen)
        self._replace(node, listing, found.facts is None)
        work.owed.extend(child for child in node.children.values() if child.is_due)

    def _note(self, node: Node, name: bytes, work: _Work, is_file: bool) -> None:
        """Set one entry as it is now. The facts stay what they were, so they must not be believed."""
        try:
            kind = Kind.FILE if is_file else self._kind_at(node, name)
        except OSError:
            self._rescan(node, work)
            return
        node.trusted = False
        mark = None if kind is None else Judge(node.path, node.scope, self._hiding).mark(name, kind)
        self._replace(node, node.listing.with_entry(name, mark), node.unreadable)
        child = node.children.get(name)
        if child is not None:
            self._visit(child, work)

    def _kind_at(self, node: Node, name: bytes) -> Kind | None:
        fd = self._ground.open(node.path)
        try:
            return kind_at(fd, name)
        finally:
            os.close(fd)

    def _replace(self, node: Node, listing: Listing, unreadable: bool) -> None:
        old = node.listing
        if listing == old and unreadable == node.unreadable:
            return
        node.listing, node.unreadable = listing, unreadable
        wanted = listing.directories()
        dropped = [lost for name in node.children.keys() - wanted for lost in node.children.pop(name).drop()]
        for name in wanted - node.children.keys():
            node.children[name] = Node(node, name)
        if self.is_built:
            for lost in dropped:
                self._changes.replaced(lost.path, lost.listing, Listing())
            self._changes.replaced(node.path, old, listing)
        self._generation += 1
        node.invalidate(self._generation)
