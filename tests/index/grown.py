"""A workspace directory of one test with its tree, for tests that say what a search must see."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from picoclawd.index.ground import Ground
from picoclawd.index.listing import Hiding, Skipped
from picoclawd.index.matcher import compile_lines
from picoclawd.index.node import Names
from picoclawd.index.tree import Tree
from picoclawd.index.trust import Trust
from picoclawd.index.walk import Walk
from picoclawd.text import glob
from tests.index.truth import TICK_NS, PlainHiding


class Grown:
    """A root, written to as anybody would, and what tree and walk say of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
        self.ground = Ground(self.fd)
        self.hiding: Hiding = PlainHiding()
        self.tree = Tree(self.ground, self.hiding, Trust(TICK_NS), lambda: None)

    def write(self, *paths: str, text: str = "") -> "Grown":
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(os.fsencode(text))
        return self

    def names(self, scope: str = "") -> Names:
        """What the tree says once it is verified."""
        if not self.tree.is_built:
            self.tree.build()
        self.tree.verify(os.fsencode(scope))
        names = self.tree.names(os.fsencode(scope))
        assert names is not None, f"the tree does not hold {scope!r}"
        return names

    def files(self, scope: str = "") -> list[str]:
        return list(map(os.fsdecode, self.names(scope).files.lines()))

    def glob(self, form: str) -> list[str]:
        return list(map(os.fsdecode, self.names().files.select(compile_lines(glob.to_re2_lines(form)))))

    def walked(self, directory: str = "") -> tuple[list[str], Skipped]:
        """What a fresh walk says: files and links, and what it left out."""
        walk = Walk(self.ground, os.fsencode(directory), self.hiding)
        return [os.fsdecode(found.path) for found in walk], walk.skipped


@contextmanager
def grown_in(path: Path) -> Iterator[Grown]:
    """A workspace in a new directory `ws` of `path`."""
    root = path / "ws"
    root.mkdir()
    grown = Grown(root)
    try:
        yield grown
    finally:
        os.close(grown.fd)
