"""Git is the oracle: for every path the same verdict, and the same line of the same file that decided it."""

import os
import shutil
from pathlib import Path

import pytest

from picoclawd.index.ignore_lines import read_rules
from tests.conftest import needs
from tests.index.ignore_cases import CASES, load
from tests.index.ignore_worlds import World, decision_of, gits, ours, random_world

_CLASSES = "alnum alpha blank cntrl digit graph lower print punct space upper xdigit"


def differences(world: World, root: Path) -> list[str]:
    """The paths of a world on which git and the package disagree; the tree on disk is removed again."""
    root.mkdir()
    want = gits(needs("git"), world, os.fsencode(root))
    shutil.rmtree(root)
    assert want.keys() == world.paths
    found = {path: decision_of(ours(world, path)) for path in world.paths}
    return [f"{path!r}: git {want[path]}, ours {found[path]}" for path in sorted(want) if want[path] != found[path]]


@pytest.mark.parametrize("case", CASES)
def test_git_agrees_with_the_corpus(case: str, tmp_path: Path) -> None:
    world, verdicts = load(case)
    decided = gits(needs("git"), world, os.fsencode(tmp_path))
    assert {path: is_ignored(world, decided[path]) for path in verdicts} == verdicts


def is_ignored(world: World, decision: tuple[bytes, int] | None) -> bool:
    """What a decision means: a rule with `!` re-includes."""
    if decision is None:
        return False
    rules, _ = read_rules(world.rule_files[decision[0]])
    return not next(rule.negated for rule in rules if rule.line_no == decision[1])


@pytest.mark.parametrize("seed", [1, 2])
def test_10_000_random_paths_are_decided_as_git_decides_them(seed: int, tmp_path: Path) -> None:
    world = random_world(seed, corners=100, paths_each=100)
    assert len(world.paths) > 9_500
    assert not differences(world, tmp_path / "world")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 125))
def test_20_000_more_random_paths_are_decided_as_git_decides_them(seed: int, tmp_path: Path) -> None:
    world = random_world(seed, corners=200, paths_each=100)
    assert len(world.paths) > 19_000
    assert not differences(world, tmp_path / "world")


def test_every_byte_is_in_the_classes_that_git_says(tmp_path: Path) -> None:
    world = World()
    globs = [b"[[:%b:]]" % name.encode() for name in _CLASSES.split()] + [
        b"?",
        b"[!a]",
        b"[ -~]",
        b"[\x80-\xff]",
        b"[!\\]-a]",
    ]
    for number, glob in enumerate(globs):
        corner = b"c%d" % number
        world.rule_files[corner + b"/.gitignore"] = glob + b"\n"
        for byte in set(range(1, 256)) - set(b"/."):
            world.add(corner + b"/" + bytes((byte,)), False)
    assert not differences(world, tmp_path / "world")


def test_rules_of_the_root_and_of_deep_directories(tmp_path: Path) -> None:
    world = World({b".gitignore": b"*.o\n/a/b/*\n!/a/b/c\na/**/z\n", b"a/b/c/.gitignore": b"!*.o\n/d/*\n!d/k\n"})
    for path in (b"x.o", b"a/b/x", b"a/b/c/x.o", b"a/b/c/d/k", b"a/b/c/d/j", b"a/b/c/z", b"z", b"b/c/d/k", b"c/x.o"):
        world.add(path, False)
    assert not differences(world, tmp_path / "world")
