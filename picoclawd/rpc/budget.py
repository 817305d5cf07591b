"""Count the bytes that all requests and answers hold together (`daemon.max_buffered_bytes`), and say when it is enough.

The daemon has one `ByteBudget`, each connection an `Account` of it: what a connection holds is given back when it ends,
however it ends. Not thread-safe: loop only.
"""

import msgspec

from picoclawd import limits

# What is this small always passes: somebody who fills the budget with half a line must not silence the others, and
# max_connections times max_in_flight bounds it anyway.
ALWAYS_PASSES_BYTES = 64 * limits.KIB


class BudgetStatistics(msgspec.Struct, frozen=True):
    """A look at the budget: bytes held now, the cap, and how often something was refused."""

    held_bytes: int
    max_bytes: int
    refused: int


class ByteBudget:
    """A counter with a cap, shared by all connections."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self.refused = 0

    def statistics(self) -> BudgetStatistics:
        """Look without touching."""
        return BudgetStatistics(self.held_bytes, self.max_bytes, self.refused)


class Account:
    """What one connection holds of the budget."""

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self._held_bytes = 0

    def take(self, size_bytes: int, *, beside_bytes: int = 0) -> bool:
        """Count `size_bytes` of something that has `beside_bytes` counted already. False: no room, nothing counted.

        What is at most `ALWAYS_PASSES_BYTES` as a whole is counted but never refused.
        """
        crowded = self._budget.held_bytes + size_bytes > self._budget.max_bytes
        if crowded and size_bytes + beside_bytes > ALWAYS_PASSES_BYTES:
            self._budget.refused += 1
            return False
        self.force(size_bytes)
        return True

    def force(self, size_bytes: int) -> None:
        """Count what cannot be refused, like the real outcome of a write."""
        self._held_bytes += size_bytes
        self._budget.held_bytes += size_bytes

    def give(self, size_bytes: int) -> None:
        """Give back what was counted."""
        self._held_bytes -= size_bytes
        self._budget.held_bytes -= size_bytes

    def close(self) -> None:
        """Give back whatever is still counted."""
        self.give(self._held_bytes)
