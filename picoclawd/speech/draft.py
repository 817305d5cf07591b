"""The engine `pocketsphinx`: offline, its model in its package, and good for a draft at the most."""

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from picoclawd import programs
from picoclawd.errors import Fault, Slug
from picoclawd.speech import convert, kinds
from picoclawd.speech.engine import DEADLINE_S, INSTALL, TEXT_MAX_CHARS, Job, Transcript, not_installed
from picoclawd.speech.worker import HEARD_MAX_S

COMMAND = (sys.executable, "-I", "-m", "picoclawd.speech.worker")

_DECODED = frozenset({kinds.FLAC, kinds.MP3, kinds.VORBIS, kinds.WAV})  # what miniaudio knows
_BOUNDS = programs.Bounds(DEADLINE_S, 4 * TEXT_MAX_CHARS, {resource.RLIMIT_CORE: 0})  # the worker bounds itself further


async def transcribe(job: Job) -> Transcript:
    """Listen to the recording in a process of its own; what miniaudio does not decode goes through ffmpeg first.

    Raises: reader_not_installed, unsupported_format for one that does not decode, timeout, what `to_flac` raises.
    """
    if job.recording in _DECODED:
        return await _listen(job)
    with convert.memory() as target:
        return await _listen(await convert.to_flac(job, target))


async def _listen(job: Job) -> Transcript:
    said = _Said(job.tell)
    ended = await programs.run(COMMAND, job.fd, job.environ, _BOUNDS, shown="pocketsphinx", seen=said.take)
    if said.missing:
        raise not_installed(f"{job.shown} was not transcribed: the library {said.missing} is not installed", INSTALL)
    if said.cut is None or ended.status != 0:
        raise Fault(
            Slug.UNSUPPORTED_FORMAT,
            f"{job.shown} is {job.recording.shown} that does not decode: it is damaged, or of a kind that miniaudio "
            "does not know.",
        )
    note = f"only the first {HEARD_MAX_S // 60} minutes were listened to" if said.cut else ""
    return await job.transcript("\n".join(said.rows), draft=True, note=note)


@dataclass(slots=True)
class _Said:
    """What the worker told so far. `cut` is None until it says that it is done."""

    tell: Callable[[str], None]
    rows: list[str] = field(default_factory=list)
    missing: str = ""
    cut: bool | None = None
    _held: bytes = b""

    def take(self, chunk: bytes) -> None:
        """Heed the whole lines of what came."""
        *lines, self._held = (self._held + chunk).split(b"\n")
        for line in lines:
            self._heed(msgspec.json.decode(line))

    def _heed(self, words: Any) -> None:
        match words:
            case ["at", seconds]:
                self.tell(f"{seconds} s listened to")
            case ["text", str(text)]:
                self.rows.append(text)
            case ["missing", library]:
                self.missing = str(library)
            case ["end", cut]:
                self.cut = bool(cut)
