"""The corpus `tests/data/ignore`: one directory a case, its rule files without their dot, and `verdicts`.

A line of `verdicts` is `ignored` or `visible` and a path, percent-encoded; a directory ends in a slash.
"""

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes

from tests.index.ignore_worlds import World

CORPUS = Path(__file__).parents[1] / "data" / "ignore"
CASES = sorted(entry.name for entry in CORPUS.iterdir())


def load(case: str) -> tuple[World, dict[bytes, bool]]:
    """The case's tree, and for each path whether it is ignored."""
    world, verdicts = World(), {}
    for line in (CORPUS / case / "verdicts").read_text().splitlines():
        word, _, quoted = line.partition(" ")
        path = unquote_to_bytes(quoted).removesuffix(b"/")
        world.add(path, quoted.endswith("/"))
        verdicts[path] = {"ignored": True, "visible": False}[word]
    for file in (CORPUS / case).rglob("gitignore"):
        home = os.fsencode(file.parent.relative_to(CORPUS / case)).removeprefix(b".")
        world.add(home + b"/x" if home else b"x", False)
        world.rule_files[b"/".join(part for part in (home, b".gitignore") if part)] = file.read_bytes()
    return world, verdicts
