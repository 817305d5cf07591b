"""Killed at any moment, the history has every version that was acknowledged, with both of its contents."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.history.store import History

CYCLES = 100
LONG_CYCLES = 2_000


class Victim:
    """Starts children that record changes, and kills them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def killed_after(self, directory: Path, acknowledged: int, pause_s: float) -> list[str]:
        """Let a child have this many changes acknowledged, and a little time; the lines of all that were."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(directory, file=self._process.stdin, flush=True)
        lines: list[str] = []
        pid = 0
        while len(lines) < acknowledged or not pid:
            line = self._process.stdout.readline().rstrip("\n")
            assert line and line != "end", "the child ended by itself"
            if " " in line:
                lines.append(line)
            else:
                pid = int(line)
        threading.Event().wait(pause_s)
        os.kill(pid, signal.SIGKILL)
        while (line := self._process.stdout.readline().rstrip("\n")) != "end":
            lines.append(line)
        return [line for line in lines if len(line.split()) == 4]


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    command = [sys.executable, "-m", "tests.history.crash_child"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Victim(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(20)


def check(directory: Path, lines: list[str]) -> None:
    """Reopen the store and look for everything that was acknowledged."""
    history = History(str(directory))
    try:
        assert history.notice is None
        unfinished = {intent.version for intent in history.open_intents()}
        with history._readers.borrow() as db:
            for line in lines:
                number, name, before, after = line.split()
                row = db.execute("SELECT path, sha_before, sha_after FROM versions WHERE version = ?", (int(number),))
                assert row.fetchone() == (name.encode(), bytes.fromhex(before), bytes.fromhex(after))
                for sha in (before, after):
                    content = history._blobs.read(db, bytes.fromhex(sha))
                    assert content is not None and hashlib.sha256(content).hexdigest() == sha
        # What was finished may be lost, but only of the last few: the rest were written with later commits.
        assert len(unfinished & {int(line.split()[0]) for line in lines}) <= 64
    finally:
        history.close()


def run(victim: Victim, tmp_path: Path, cycles: int) -> None:
    dice = random.Random(20)
    seen = 0
    for cycle in range(cycles):
        if cycle % 10 == 0:
            directory = tmp_path / f"state-{cycle}"
        lines = victim.killed_after(directory, dice.randrange(0, 12), dice.random() * 0.01)
        check(directory, lines)
        seen += len(lines)
    assert seen > cycles


@pytest.mark.timeout(300)
def test_no_acknowledged_version_is_lost_when_the_daemon_is_killed(victim: Victim, tmp_path: Path) -> None:
    run(victim, tmp_path, CYCLES)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_nor_in_many_more_rounds(victim: Victim, tmp_path: Path) -> None:
    run(victim, tmp_path, LONG_CYCLES)
