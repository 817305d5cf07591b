"""How long a long form runs, from which seed, and how its figure is told: seen in the output, and repeatable."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

HOURS = "PICOCLAW_PROOF_HOURS"  # for each test that is marked slow
SEED = "PICOCLAW_PROOF_SEED"
_DEFAULT_HOURS = 0.03  # about two minutes


@dataclass(frozen=True)
class Length:
    """How long a long form runs, and the seed of its dice."""

    seconds: float
    seed: int

    def told(self, claim: str, figure: str) -> str:
        """The line that says what was seen."""
        return f"{claim}: {figure}; {self.seconds:.0f} s, seed {self.seed}, commit {_commit()}"


def length() -> Length:
    """What the environment asks for; without a seed one of the clock, which the figure tells."""
    hours = float(os.environ.get(HOURS, _DEFAULT_HOURS))
    return Length(hours * 3600, int(os.environ.get(SEED, time.time_ns() % 1_000_000)))


def _commit() -> str:
    root = Path(__file__).parents[2]
    asked = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return asked.stdout.strip() or "unknown"


SECONDS = length().seconds
FIXED_SEED = int(os.environ.get(SEED, "8"))  # of short forms that are the same each time

# A long form may take three times as long as it works before it is taken for stuck.
long_form = pytest.mark.timeout(SECONDS * 3 + 600)


class Span:
    """A stretch of work that is over after so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._end = self._began + seconds

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._end

    @property
    def passed_s(self) -> float:
        """How long it has gone on."""
        return time.monotonic() - self._began


def tell(claim: str, figure: str, seed: int = FIXED_SEED) -> None:
    """Print a figure so that it can be made again; pytest shows it with `-rP` or `-s`."""
    print(Length(SECONDS, seed).told(claim, figure))
