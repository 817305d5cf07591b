"""What the texts need of a trigram matrix: whoever has none yet need not import numpy."""

from collections.abc import Iterable
from typing import Protocol

from picoclawd.index.requirements import Query


class Matrix(Protocol):
    """Which columns hold which trigrams (`trigrams.TrigramMatrix`)."""

    def add(self, column: int, data: bytes) -> None:
        """Note the trigrams of a text."""
        ...

    def reset(self, column: int) -> None:
        """Forget those of a column."""
        ...

    def candidates(self, query: Query) -> Iterable[int]:
        """The columns that may hold what a query needs."""
        ...
