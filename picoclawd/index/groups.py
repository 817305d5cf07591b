"""Files whose trigrams stand in the matrix together, in one column: what is known of each but its text."""

from collections.abc import Iterator, Sequence

from picoclawd.index.trust import Facts


class Group:
    """Some files: of each its path, what a stat of it gave, and whether it is alive.

    A group never changes but for which of its files are still as they were: one that is not is dead here, and lives on
    elsewhere. `number` is that of its column, once it has one, and `is_indexed` is set once the trigrams of all its
    texts are there.
    """

    __slots__ = ("alive", "dead", "facts", "is_indexed", "number", "paths")

    def __init__(self, paths: Sequence[bytes], facts: Sequence[Facts]) -> None:
        self.paths = paths
        self.facts = facts
        self.alive = bytearray(b"\1" * len(paths))
        self.dead = 0
        self.number = -1
        self.is_indexed = False

    @property
    def files(self) -> int:
        """How many files it holds, dead ones too."""
        return len(self.paths)

    def kill(self, index: int) -> None:
        """A file is no longer what is held of it here."""
        if self.alive[index]:
            self.alive[index] = 0
            self.dead += 1

    def living(self) -> Iterator[int]:
        """The indexes of the files that are alive."""
        return (index for index, alive in enumerate(self.alive) if alive)
