"""The names below a directory are joined from those of its subdirectories, and forgotten all the way up."""

from picoclawd.index.node import Node, names_below
from tests.index.grown import Grown


def lines(node: Node) -> list[bytes]:
    return names_below(node).files.lines()


def test_names_are_kept_until_something_below_changes(grown: Grown) -> None:
    grown.write("a/b/x", "a/y", "c/z").names()
    root = grown.tree.deepest(b"")
    below = grown.tree.deepest(b"a/b")
    other = grown.tree.deepest(b"c")
    assert lines(root) == [b"a/b/x", b"a/y", b"c/z"]
    untouched = other.names
    assert untouched is not None
    below.invalidate(1_000_000)
    assert [node.names is None for node in (root, grown.tree.deepest(b"a"), below, other)] == [True, True, True, False]
    assert names_below(root).generation == 1_000_000
    assert lines(root) == [b"a/b/x", b"a/y", b"c/z"]
    assert other.names is untouched


def test_a_directory_is_dropped_with_all_below_it(grown: Grown) -> None:
    grown.write("a/b/c/x", "d/y").names()
    dropped = grown.tree.deepest(b"a").drop()
    assert [node.path for node in dropped] == [b"a", b"a/b", b"a/b/c"]
    assert all(node.dropped for node in dropped)
    assert not grown.tree.deepest(b"d").dropped


def test_a_node_is_due_until_it_was_judged_by_the_rules_above_it(grown: Grown) -> None:
    assert Node(None, b"").is_due
    grown.write("a/x").names()
    assert not grown.tree.deepest(b"a").is_due
    grown.tree.judge_again()
    assert [grown.tree.deepest(name).is_due for name in (b"", b"a")] == [True, False]  # once the root was, it is
    grown.names()
    assert not grown.tree.deepest(b"").is_due
