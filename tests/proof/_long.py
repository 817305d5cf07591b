"""How long the long forms of V5 and on run; their figures are told as `figures` tells them."""

import os
import time

import pytest

from tests.proof import figures

SECONDS = figures.length().seconds
SEED = int(os.environ.get(figures.SEED, "8"))  # the short forms are the same each time

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


def tell(claim: str, figure: str, seed: int = SEED) -> None:
    """Print a figure so that it can be made again; pytest shows it with `-rP` or `-s`."""
    print(figures.Length(SECONDS, seed).told(claim, figure))
