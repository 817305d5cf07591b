"""ripgrep is the oracle for what git does not know: how `.ignore` and `.gitignore` weigh against each other."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import needs
from tests.index.ignore_worlds import World, ours

# Nothing exotic: ripgrep's globs differ from git's in the corners, and the corners are git's to decide.
_GLOBS = "*.log !*.log a/ !a/ /a !/a b !b a/b !a/b a/* !a/* * !* *.txt !*.txt c.txt !c.txt **/b a/**/c.txt"
_OPTIONS = "--files --null --hidden --no-config --no-require-git --no-ignore-global --no-ignore-parent"


def two_kinds(seed: int) -> World:
    """A small tree of files with both kinds of rule files strewn about."""
    rnd = random.Random(seed)
    world = World()
    for _ in range(30):
        above = [rnd.choice((b"a", b"b", b"d")) for _ in range(rnd.randint(0, 3))]
        world.add(b"/".join([*above, rnd.choice((b"x.log", b"c.txt", b"y.txt", b"f"))]), False)
    for home in ["", *(os.fsdecode(path) + "/" for path in sorted(world.directories))]:
        for kind in (".gitignore", ".ignore"):
            if rnd.random() < 0.4:
                rules = [rnd.choice(_GLOBS.split()) for _ in range(rnd.randint(1, 3))]
                world.rule_files[f"{home}{kind}".encode()] = "\n".join(rules).encode()
    return world


@pytest.mark.parametrize("first_seed", [0, 20])
def test_twenty_trees_list_as_ripgrep_lists_them(
    first_seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{Path(sys.executable).parent}")
    rg = needs("rg")
    for seed in range(first_seed, first_seed + 20):
        world = two_kinds(seed)
        root = tmp_path / str(seed)
        root.mkdir()
        world.write(os.fsencode(root))
        for path in world.paths:
            (root / os.fsdecode(path)).write_bytes(b"")
        listed = subprocess.run([rg, *_OPTIONS.split()], cwd=root, capture_output=True, timeout=60, check=False)
        assert listed.returncode in (0, 1), listed.stderr
        wanted = {path for path in listed.stdout.split(b"\0") if path in world.paths}
        found = {path: ours(world, path) for path in world.paths}
        assert {path for path, why in found.items() if not (why and why.ignored)} == wanted, f"seed {seed}"
