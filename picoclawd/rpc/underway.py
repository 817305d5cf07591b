"""Which changes that a client has named (`_meta.op`) are on their way: read from some connection, not yet at their end.

What became of such a change cannot be told yet, also when its connection is gone and another one asks.
"""

from collections import Counter


class Underway:
    """The ops of all connections. On the loop only."""

    def __init__(self) -> None:
        self._ops: Counter[str] = Counter()

    def begin(self, op: str) -> None:
        """Note that a request with this op was read. A client may send one op twice."""
        self._ops[op] += 1

    def end(self, op: str) -> None:
        """Note that it has ended: whatever it did is recorded, and it will do nothing more."""
        self._ops[op] -= 1
        if not self._ops[op]:
            del self._ops[op]

    def __contains__(self, op: str) -> bool:
        return op in self._ops
