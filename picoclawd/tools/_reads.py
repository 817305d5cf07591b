"""What the reading tools share: the note in the session's ledger, and the word on an editor's unsaved text."""

from typing import Any

from picoclawd.tools._spec import Call
from picoclawd.workspace.read import Reading


def note_read(call: Call[Any], reading: Reading[Any]) -> None:
    """Note that the session saw some of the file; a reading that mixes two states is none."""
    if not reading.unstable:
        call.session.ledger.note_read(reading.real, reading.stamp, reading.sha256, reading.data)


def editor_notice(call: Call[Any], real: bytes) -> str:
    """A line that says that an editor has unsaved text of the file, "" where none has."""
    return call.workspace.editors.notice(real) or ""
