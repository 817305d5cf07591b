"""An outside editor that saves all the time against our replaces loses no save (P6)."""

import collections
import json
import subprocess
import sys
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files import commit
from tests.files.conftest import Folder

MODES = ["rename", "in-place", "slow-in-place"]
MEANT_FOR_RACES = {Slug.CONFLICT, Slug.PATH_BUSY, Slug.EXTERNAL_CHANGE_KEPT}


def replace_once(folder: Folder, count: int, kept: list[bytes]) -> str:
    """Change what is there and keep its first line, as an edit does; answer what came of it."""
    expected = folder.stamp()
    old = folder.bytes()
    first, newline, _ = old.partition(b"\n")
    if not newline:
        return "torn"  # the editor is in the middle of it
    new = first + b"\nedit %d\n" % count
    try:
        done = commit.replace(folder.target(), new, expected, old=old, keep=kept.append)
    except Fault as fault:
        assert fault.slug in MEANT_FOR_RACES, fault
        return fault.slug
    assert done.exchanged
    return "done"


def race(folder: Folder, mode: str, seconds: float) -> tuple[dict[str, int], collections.Counter[str]]:
    """Let the editor save for so long while we replace; both tallies."""
    folder.put(b"save 0\n")
    command = [sys.executable, "-m", "tests.files.outside_editor", str(folder.path), mode, str(seconds)]
    tally: collections.Counter[str] = collections.Counter()
    kept: list[bytes] = []
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as editor:
        while editor.poll() is None:
            tally[replace_once(folder, tally.total(), kept)] += 1
        assert editor.stdout is not None
        result = json.loads(editor.stdout.read())
    return result, tally


def check(folder: Folder, mode: str, seconds: float) -> None:
    result, tally = race(folder, mode, seconds)
    assert result["lost"] == 0, (result, tally)
    assert result["saves"] > 10 * seconds
    assert tally["done"] > 10 * seconds, "we got through between the saves"
    assert tally["conflict"] + tally["path_busy"] > 0, "and did meet them"
    assert folder.names() == ["notes.txt"]


@pytest.mark.parametrize("mode", MODES)
def test_no_save_of_an_outside_editor_is_lost(folder: Folder, mode: str) -> None:
    check(folder, mode, 1.0)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", MODES)
def test_no_save_of_an_outside_editor_is_lost_for_long(folder: Folder, mode: str) -> None:
    check(folder, mode, 60.0)
