"""How large the long forms are, and the line that each prints: its figure, its seed and the commit."""

import os
import subprocess
import time
from pathlib import Path

import pytest

HOURS = float(os.environ.get("PICOCLAW_PROOF_HOURS", "0.02"))
SECONDS = HOURS * 3600
SEED = int(os.environ.get("PICOCLAWD_SEED", "8"))

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


def tell(claim: str, figure: str, seed: int | None = None) -> None:
    """Print a figure so that it can be made again; pytest shows it with `-rP` or `-s`."""
    sown = "" if seed is None else f" (PICOCLAWD_SEED={seed})"
    print(f"{claim} at {_commit()}{sown}: {figure}")


def _commit() -> str:
    root = Path(__file__).parents[2]
    try:
        asked = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True)
    except OSError:
        return "no commit"
    return asked.stdout.strip() or "no commit"
