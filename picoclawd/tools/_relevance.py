"""What read_files does before it gives a long file: let the decision model say whether it is of any use."""

from collections.abc import Iterable
from typing import Any

from picoclawd.tools._spec import Call
from picoclawd.workspace import relevance
from picoclawd.workspace.read import Reading

WITHHELD = (
    "File withheld: it looks unrelated to the objective of your task, so nothing of it was read. "
    "Read it again to get the content."
)


class Check:
    """The decision model's part in one call: asked file by file, and no more once it failed, for each failure may cost
    the whole time that a verdict gets."""

    def __init__(self, call: Call[Any]) -> None:
        self._relevance = call.workspace.relevance
        self._judged = call.session.judged
        self._objective = call.task.objective.strip() if call.task else ""
        self._is_on = self._relevance.is_on and self._objective != ""

    def head_of(self, chunks: Iterable[bytes]) -> bytes:
        """What `withholds` needs of a text that comes as UTF-8; nothing where no file is judged."""
        return relevance.head_of(chunks) if self._is_on else b""

    async def withholds(self, reading: Reading[Any], given: bytes, head: bytes) -> bool:
        """Whether the session does without the file for now. At most once for each file; any failure is a no.

        `given` is the absolute path as asked for: also a protected name that is a link keeps its file from being sent.
        """
        real = reading.real
        if not self._is_on or not relevance.is_long(head) or self._judged.is_settled(real, self._objective):
            return False
        if not (self._relevance.may_judge(real) and self._relevance.may_judge(given)):
            return False
        try:
            unrelated = await self._relevance.is_unrelated(self._objective, real, head)
        except relevance.NoVerdictError:
            self._is_on = False
            return False
        return self._note(real, unrelated)

    def _note(self, real: bytes, unrelated: bool) -> bool:
        """Another call of the session may have got its verdict meanwhile."""
        if not unrelated:
            self._judged.note_related(real, self._objective)
        elif not self._judged.is_settled(real, self._objective):
            self._judged.note_withheld(real)
            return True
        return False
