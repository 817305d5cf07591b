"""Memory stays within the budgets while files churn and searches go on."""

import random
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.daemon import Client, Daemon

BUDGET_BYTES = 8 << 20
CONFIG = {"daemon.text_cache_bytes": BUDGET_BYTES}
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")


@dataclass
class Churn:
    """Files that come, change, move and go; all that are there at one time are three times the budget."""

    root: Path
    dice: random.Random
    most: int = 1200

    def turn(self) -> None:
        """Change a hundred of them."""
        for _ in range(100):
            path = self.root / f"d{self.dice.randrange(20)}/f{self.dice.randrange(self.most // 20)}.txt"
            path.parent.mkdir(exist_ok=True)
            act = self.dice.random()
            if act < 0.7:
                path.write_text(" ".join(self.dice.choices(WORDS, k=7)) * self.dice.randrange(1, 1000) + "\n")
            elif act < 0.85:
                path.unlink(missing_ok=True)
            elif path.exists():
                path.rename(self.root / f"d{self.dice.randrange(20)}/moved{self.dice.randrange(self.most // 20)}.txt")


def resident_bytes(daemon: Daemon) -> int:
    assert daemon.process is not None
    return int(Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[1]) * 4096


def search_and_look(client: Client, dice: random.Random) -> int:
    """Search in each way; how much text is held."""
    word = dice.choice(WORDS)
    client.call("search_files", pattern=f"{word} {dice.choice(WORDS)}", order="modified")
    client.call("find_files", queries=[{"pattern": word, "file_pattern": "*"}], output="content", limit=5)
    held = client.call("workspace.status")["data"]["index"]["text_bytes"]
    assert isinstance(held, int)
    return held


def churn_within_budget(tmp_path: Path, seconds: float, seed: int) -> str:
    """Churn so long; the daemon may grow in the first quarter, and hardly after that."""
    dice = random.Random(seed)
    with Daemon(tmp_path, CONFIG) as daemon, daemon.client() as client:
        churn = Churn(daemon.root, dice)
        grown: list[int] = []
        began = time.monotonic()
        while time.monotonic() - began < seconds or len(grown) < 8:
            churn.turn()
            assert search_and_look(client, dice) <= BUDGET_BYTES
            grown.append(resident_bytes(daemon))
        early, late = max(grown[: len(grown) // 4]), max(grown[-len(grown) // 4 :])
        told = f"{len(grown)} turns: {early >> 20} MiB in the first quarter, {late >> 20} MiB in the last"
        assert late < early + 2 * BUDGET_BYTES, told
        return told


def test_held_text_stays_within_the_budget_while_files_churn(tmp_path: Path) -> None:
    print(churn_within_budget(tmp_path, 3, seed=1))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_stays_within_the_budget_while_files_churn_for_ten_minutes(tmp_path: Path) -> None:
    print(churn_within_budget(tmp_path, 600, seed=2))
