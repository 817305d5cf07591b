"""A fresh walk gives what the tree gives, and more where a directory is named that the tree does not hold."""

import os
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.index.changes import Found
from picoclawd.index.ground import Ground
from picoclawd.index.listing import Kind, Skipped
from picoclawd.index.walk import Walk
from tests.index.grown import Grown
from tests.index.truth import PlainHiding, World, difference, make_tree, truth_of


@pytest.mark.parametrize("seed", range(20))
def test_walk_and_tree_and_truth_agree(tmp_path: Path, seed: int) -> None:
    world = World(os.fsencode(tmp_path), seed)
    for _ in range(10):
        world.step()
    world.look()
    tree, fd = make_tree(world.root)
    for directory in world.directories():
        relative = b"" if directory == world.root else os.path.relpath(directory, world.root)
        walk = Walk(Ground(fd), relative, PlainHiding())
        found = list(walk)
        truth = truth_of(world.root, relative)
        assert [path for path, kind in found if kind is Kind.FILE] == truth.files
        assert [path for path, kind in found if kind is Kind.SYMLINK] == truth.links
        assert {name: getattr(walk.skipped, name) for name in truth.skipped} == truth.skipped
        if tree.names(relative) is not None:
            assert difference(tree, world.root, relative, truth) is None
    os.close(fd)


def test_links_come_in_their_place(grown: Grown) -> None:
    grown.write("a", "c")
    (grown.root / "b").symlink_to("a")
    assert list(Walk(grown.ground, b"", PlainHiding())) == [
        Found(b"a", Kind.FILE),
        Found(b"b", Kind.SYMLINK),
        Found(b"c", Kind.FILE),
    ]


def test_rules_of_all_above_apply_below_a_named_directory_but_not_to_it(grown: Grown) -> None:
    grown.write("build/out/a.log", "build/out/b.txt", "build/out/build/c", "build/d.tmp")
    grown.write(".gitignore", text="build/\n*.log\n").write("build/.gitignore", text="out\n*.tmp\n")
    assert grown.walked("build/out") == (["build/out/b.txt"], Skipped(ignored=2))
    assert grown.walked("build") == (["build/.gitignore"], Skipped(ignored=2))


def test_no_rule_from_above_a_root_applies(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"*\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/.ignore").write_bytes(b"*.log\n")
    for name in ("a", "b.log"):
        (tmp_path / "outside" / name).touch()
    fd = os.open(tmp_path / "outside", os.O_PATH)
    walk = Walk(Ground(fd), b"", PlainHiding())
    assert [found.path for found in walk] == [b".ignore", b"a"]
    assert walk.skipped == Skipped(ignored=1)
    os.close(fd)


@pytest.mark.parametrize(
    ("directory", "slug"),
    [
        ("none", Slug.NOT_FOUND),
        ("none/x", Slug.NOT_FOUND),
        ("file", Slug.NOT_A_DIRECTORY),
        ("link", Slug.NOT_A_DIRECTORY),
        ("link/x", Slug.NOT_A_DIRECTORY),
    ],
)
def test_a_named_directory_that_is_none_is_a_fault(grown: Grown, directory: str, slug: Slug) -> None:
    grown.write("file", "real/x/y")
    (grown.root / "link").symlink_to("real")
    with pytest.raises(Fault) as caught:
        grown.walked(directory)
    assert caught.value.slug is slug
    assert directory in caught.value.message


def test_a_directory_that_vanishes_on_the_way_is_passed_over(grown: Grown) -> None:
    grown.write("a/x", "b/y", "c/z")
    walk = iter(Walk(grown.ground, b"", PlainHiding()))
    assert next(walk).path == b"a/x"
    (grown.root / "b/y").unlink()
    (grown.root / "b").rmdir()
    assert [found.path for found in walk] == [b"c/z"]
