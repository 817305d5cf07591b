"""Gather the answers to one line: a single request's, or a batch's as one array in request order."""

from picoclawd.rpc.method import Exchange


class Gathering:
    """The elements of one line and their answers as they come in.

    `held_bytes` is what the line itself counts in the account, `told_bytes` what its answers do. `exchanges` are those
    whose ids stay taken until the line goes out.
    """

    __slots__ = ("_answers", "_is_batch", "_left", "exchanges", "held_bytes", "told_bytes")

    def __init__(self, size: int, is_batch: bool, held_bytes: int) -> None:
        self._answers: list[bytes | None] = [None] * size
        self._is_batch = is_batch
        self._left = size
        self.exchanges: list[Exchange] = []
        self.held_bytes = held_bytes
        self.told_bytes = 0

    @property
    def size(self) -> int:
        """How many elements, and so slots, the line has."""
        return len(self._answers)

    def add(self, index: int, answer: bytes | None) -> bool:
        """Put an element's answer in its place (None for a notification). True with the last one."""
        if answer is not None:
            self._answers[index] = answer
            self.told_bytes += len(answer)
        self._left -= 1
        return self._left == 0

    def output(self) -> bytes | None:
        """The line to send; None where there is nothing to say (JSON-RPC 2.0, section 6: not even an empty array)."""
        if not self._is_batch:
            return self._answers[0]
        told = [answer for answer in self._answers if answer is not None]
        return b"[" + b",".join(told) + b"]" if told else None
