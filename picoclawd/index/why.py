"""Say why a path is, or is not, among the names that searches see: for `doctor --why`."""

from enum import StrEnum

import msgspec

from picoclawd.index.ground import keeps
from picoclawd.index.ignore import Explanation, explain
from picoclawd.index.listing import IGNORED, PROTECTED, TOO_DEEP, Kind, kind_of
from picoclawd.index.node import Node
from picoclawd.index.tree import Tree


class Reason(StrEnum):
    """The one word for it."""

    VISIBLE = "visible"
    IGNORED = "ignored"
    PROTECTED = "protected"
    OWN = "own"  # `.git`, `.picoclaw`, unfinished writes of ours: no part of the tree
    LINK = "link"
    SPECIAL = "special"
    TOO_DEEP = "too_deep"
    UNREADABLE = "unreadable"
    MISSING = "missing"


class Why(msgspec.Struct, frozen=True):
    """The answer. `at` is the path itself or the one above it that decides; `rule` the ignore rule that spoke last."""

    reason: Reason
    at: bytes
    rule: Explanation | None = None


def why(tree: Tree, path: bytes) -> Why:
    """Tell what the tree knows of a path, as it was last verified. Does not block."""
    node = tree.deepest(path)
    if node.path == path:
        return Why(Reason.UNREADABLE if node.unreadable else Reason.VISIBLE, path)
    prefix = node.path + b"/" if node.path else b""
    name, _, below = path[len(prefix) :].partition(b"/")
    at = prefix + name
    mark = node.listing.mark(name)
    if not keeps(node.path, name):
        return Why(Reason.OWN, at)
    if node.unreadable:
        return Why(Reason.UNREADABLE, node.path)
    if mark is None:
        return Why(Reason.MISSING, at)
    reason, rule = _judged(node, name, mark)
    if reason is Reason.VISIBLE and below:
        return Why(Reason.MISSING, path)  # below a file there is nothing
    return Why(reason, at, rule)


def _judged(node: Node, name: bytes, mark: int) -> tuple[Reason, Explanation | None]:
    kind = kind_of(mark)
    rule = explain(node.scope, name, kind is Kind.DIRECTORY)
    if mark & PROTECTED:
        return Reason.PROTECTED, rule
    if mark & IGNORED:
        return Reason.IGNORED, rule
    if mark & TOO_DEEP:
        return Reason.TOO_DEEP, rule
    if kind is Kind.SYMLINK:
        return Reason.LINK, rule
    return (Reason.SPECIAL if kind is Kind.SPECIAL else Reason.VISIBLE), rule
