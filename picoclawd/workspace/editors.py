"""Which files have unsaved text in a person's editor: nobody else edits them until it is saved or dropped."""

import time
from collections.abc import Callable

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.text import display
from picoclawd.workspace.actors import Actor

MARKS_MAX = 1_000  # files of one connection: more than any editor has open


class Mark(msgspec.Struct, frozen=True):
    """Somebody's unsaved text. `since` is in seconds of the epoch; `holder` stands for the connection."""

    holder: object
    session_id: str
    client: str
    since: float

    @property
    def who(self) -> str:
        """The editor's name, for a sentence."""
        return display.log_line(self.client) or "an editor"


class Editors:
    """The marks of all editors, by real path.

    Marks are set on the loop only; `check` and `mark` may be called in any thread. A holder is compared by identity.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._marks: dict[bytes, tuple[Mark, ...]] = {}  # each tuple is replaced whole: threads look at them

    def dirty(self, actor: Actor, holder: object, path: bytes) -> None:
        """Mark the file at the real path as unsaved in this connection's editor; a second time changes nothing.

        Raises: operator_only; overloaded over MARKS_MAX files.
        """
        _check_operator(actor, "editor.dirty")
        marks = self._marks.get(path, ())
        if any(mark.holder is holder for mark in marks):
            return
        if sum(any(mark.holder is holder for mark in each) for each in self._marks.values()) >= MARKS_MAX:
            raise Fault(
                Slug.OVERLOADED, f"{MARKS_MAX} files are marked on this connection already. Call editor.clean for some."
            )
        self._marks[path] = (*marks, Mark(holder, actor.session_id, actor.client, self._clock()))

    def clean(self, actor: Actor, holder: object, path: bytes) -> None:
        """Take the connection's own mark off again; without one nothing happens.

        Raises: operator_only.
        """
        _check_operator(actor, "editor.clean")
        self._take_off(holder, path)

    def disconnect(self, holder: object) -> None:
        """Take off every mark of a connection that is gone."""
        for path in list(self._marks):
            self._take_off(holder, path)

    def mark(self, path: bytes) -> Mark | None:
        """The oldest mark of a file, if it has one."""
        marks = self._marks.get(path)
        return marks[0] if marks else None

    def notice(self, path: bytes) -> str | None:
        """The line for a read of this file; None where no editor has it."""
        mark = self.mark(path)
        if mark is None:
            return None
        return (
            f"[{mark.who} has unsaved changes to this file, since {_clock_time(mark.since)}; this is what is on disk]"
        )

    def check(self, actor: Actor, path: bytes, given: str) -> None:
        """Refuse an edit of a file that is unsaved in somebody else's editor; the editor itself may save.

        Raises: open_in_editor.
        """
        for mark in self._marks.get(path, ()):
            if mark.session_id != actor.session_id:
                raise Fault(
                    Slug.OPEN_IN_EDITOR,
                    f"{given} has unsaved changes in {mark.who}, since {_clock_time(mark.since)}. Nothing was written. "
                    "Ask the person to save or close it there, then try again.",
                    by={"session_id": mark.session_id, "client": mark.client},
                    since=mark.since,
                )

    def _take_off(self, holder: object, path: bytes) -> None:
        left = tuple(mark for mark in self._marks.get(path, ()) if mark.holder is not holder)
        if left:
            self._marks[path] = left
        else:
            self._marks.pop(path, None)


def _check_operator(actor: Actor, method: str) -> None:
    if not actor.is_operator:
        raise Fault(Slug.OPERATOR_ONLY, f"{method} is for the person's editor, on the operator's socket.")


def _clock_time(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
