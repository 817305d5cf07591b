"""A recording in read_files: which kind it is, its transcript, and what is to be known of that."""

from collections.abc import Callable
from typing import Any

import msgspec

from picoclawd.files.paths import WsPath
from picoclawd.speech.engine import Transcript
from picoclawd.speech.kinds import Recording
from picoclawd.tools._spec import Call
from picoclawd.workspace.read import Reading


class Heard(msgspec.Struct, frozen=True):
    """What a recording is, and what is said in it."""

    kind: Recording
    transcript: Transcript

    @property
    def rows(self) -> list[bytes]:
        """The transcript as chunks of UTF-8, none of them empty."""
        return [self.transcript.text.encode("utf-8", "replace")] if self.transcript.text else []

    @property
    def notes(self) -> list[str]:
        """What its reader must know."""
        said = self.transcript
        notes = ["[a draft by the offline recogniser: expect wrong words]"] if said.draft and said.text else []
        if not said.text:
            notes.append("[no speech was recognised in the recording]")
        return notes + ([f"[{said.note}]"] if said.note else [])


async def hear(call: Call[Any], path: WsPath, kind: Recording, tell: Callable[[str], None]) -> Reading[Heard]:
    """Listen to a recording. Raises: as `Transcripts.read`."""
    reading = await call.workspace.transcripts.read(path, tell)
    found = Heard(kind, reading.found)
    return Reading(found, reading.real, reading.size, reading.stamp, reading.sha256, None, reading.unstable)
