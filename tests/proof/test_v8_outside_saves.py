"""V8, promise P6: a save by an outside editor is never silently destroyed, however fast it saves.

The editor knows which of its saves it has missed; each has to be one that our change was made from, or one that was
kept because it could not be put back. Whoever saves in place is told of by a lease; between the last look at the lease
and the end of the file that was replaced lies a window, and the long form measures how many saves fall into it.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files import commit
from tests.e2e.daemon import Client, Daemon, RpcError
from tests.e2e.shared_world import history_of
from tests.files.conftest import Folder, folder
from tests.proof.fast_editor import SAVED
from tests.proof.figures import FIXED_SEED, SECONDS, long_form, tell

__all__ = ["folder"]

MODES = ["exchange", "in-place", "slow-in-place"]
EXPECTED = {Slug.CONFLICT, Slug.PATH_BUSY, Slug.EXTERNAL_CHANGE_KEPT}
NO_END_S = 100_000.0
# A few times as long as one change takes, by the library and by a daemon: so the two meet at every point of it.
PAUSE_MAX_S, PAUSE_MAX_OF_DAEMON_S = 0.005, 0.05


@dataclass
class Race:
    """What both sides did. `based` and `kept` are numbers of saves: that ours were made from, that ours kept."""

    saves: int = 0
    missed: set[int] = field(default_factory=set)
    based: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    ours: Counter[str] = field(default_factory=Counter)

    @property
    def lost(self) -> list[int]:
        return sorted(self.missed - self.based - self.kept)

    def __str__(self) -> str:
        ours = ", ".join(f"{slug} {count}" for slug, count in self.ours.most_common())
        return f"{len(self.lost)} of {self.saves} saves lost; {len(self.kept)} kept elsewhere; ours: {ours}"


def number_in(data: bytes) -> int | None:
    found = SAVED.search(data)
    return int(found[1]) if found else None


def race(
    path: Path,
    mode: str,
    saves: int,
    seconds: float,
    change: Callable[[Race, int], None],
    pause_max_s: float = PAUSE_MAX_S,
) -> Race:
    """Let the editor save while `change` is called over and over with a count."""
    numbers = map(str, (saves, seconds, FIXED_SEED, pause_max_s))
    command = [sys.executable, "-m", "tests.proof.fast_editor", str(path), mode, *numbers]
    path.write_bytes(b"save 0\n")
    found = Race()
    count = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as editor:
        try:
            while editor.poll() is None:
                count += 1
                change(found, count)
            assert editor.stdout is not None
            told = json.loads(editor.stdout.read())
        finally:
            editor.kill()
    found.saves, found.missed = told["saves"], set(told["missed"])
    return found


def replacing(folder: Folder) -> Callable[[Race, int], None]:
    """Replaces the file as an edit does: its first line stays."""

    def change(race: Race, count: int) -> None:
        expected, old = folder.stamp(), folder.bytes()
        number = number_in(old)
        if number is None:
            race.ours["torn"] += 1
            return

        def keep(data: bytes) -> None:
            kept = number_in(data)
            if kept is not None:
                race.kept.add(kept)

        try:
            new = b"save %d\nedit %d\n" % (number, count)
            commit.replace(folder.target(), new, expected, old=old, keep=keep)
        except Fault as fault:
            assert fault.slug in EXPECTED, fault
            race.ours[fault.slug.value] += 1
        else:
            race.ours["done"] += 1
            race.based.add(number)

    return change


def check_met(found: Race) -> None:
    """The two got through, and into each other's way."""
    assert found.ours["done"] > 5, found
    assert found.ours.total() - found.ours["done"] > 5, found


@pytest.mark.parametrize("mode", MODES)
def test_no_save_is_lost(folder: Folder, mode: str) -> None:
    found = race(folder.path / "notes.txt", mode, 500, NO_END_S, replacing(folder))
    assert not found.lost, found
    check_met(found)
    assert folder.names() == ["notes.txt"]


@pytest.mark.parametrize("mode", ["exchange", "in-place"])
def test_a_careless_writer_loses_saves(folder: Folder, mode: str) -> None:
    """The control: who renames over a file that it has looked at before destroys saves, and is seen doing so."""

    def careless(race: Race, count: int) -> None:
        number = number_in(folder.bytes())
        if number is not None:
            (folder.path / "new").write_bytes(b"save %d\nedit %d\n" % (number, count))
            (folder.path / "new").rename(folder.path / "notes.txt")
            race.ours["done"] += 1
            race.based.add(number)

    assert race(folder.path / "notes.txt", mode, 400, NO_END_S, careless).lost


def editing(client: Client) -> Callable[[Race, int], None]:
    """Has a tool write before the save that is there; what it was made from and what was kept is in the history."""

    def change(race: Race, count: int) -> None:
        try:
            client.call("edit_file", path="notes.txt", old_text="save ", new_text=f"us {count}, save ")
        except RpcError as error:
            # No match: the editor has just cut the file. Read back differently: it saved right after us.
            assert error.slug in {"no_match", "read_back_mismatch", *EXPECTED}, error
            race.ours[str(error.slug)] += 1
        else:
            race.ours["done"] += 1

    return change


def race_a_daemon(tmp_path: Path, mode: str, saves: int, seconds: float) -> Race:
    """Race the editor against a daemon's edit_file."""
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        found = race(daemon.root / "notes.txt", mode, saves, seconds, editing(client), PAUSE_MAX_OF_DAEMON_S)
        number_of = {hashlib.sha256(b"save %d\n" % number).hexdigest(): number for number in range(found.saves + 1)}
        for row in history_of(daemon.operator(), "notes.txt"):
            if row["action"] == "external":
                found.kept |= {number_of[sha] for sha in [row["sha256_after"]] if sha in number_of}
            elif row["sha256_before"] in number_of:
                found.based.add(number_of[row["sha256_before"]])
                number_of.setdefault(row["sha256_after"], number_of[row["sha256_before"]])
        assert sorted(os.listdir(daemon.root)) in ([".picoclaw", "notes.txt"], ["notes.txt"])
    return found


@pytest.mark.parametrize("mode", MODES)
def test_no_save_is_lost_to_a_daemon(tmp_path: Path, mode: str) -> None:
    found = race_a_daemon(tmp_path, mode, 200, NO_END_S)
    assert not found.lost, found
    check_met(found)


@pytest.mark.slow
@long_form
@pytest.mark.parametrize("mode", MODES)
def test_no_save_is_lost_for_long(folder: Folder, mode: str) -> None:
    found = race(folder.path / "notes.txt", mode, 10**9, SECONDS / 6, replacing(folder))
    tell("V8", f"{mode}: {found}", FIXED_SEED)
    assert not found.lost
    check_met(found)


@pytest.mark.slow
@long_form
@pytest.mark.parametrize("mode", MODES)
def test_no_save_is_lost_to_a_daemon_for_long(tmp_path: Path, mode: str) -> None:
    found = race_a_daemon(tmp_path, mode, 10**9, SECONDS / 6)
    tell("V8", f"{mode} against a daemon: {found}", FIXED_SEED)
    assert not found.lost
    check_met(found)
