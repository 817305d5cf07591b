"""What the engines share: which ones there are, what each gets, and what it gives."""

import textwrap
from collections.abc import Callable, Mapping

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.threads import Lane, Threads
from picoclawd.service import Service
from picoclawd.speech.kinds import Recording

INSTALL = "pip install 'picoclawd[stt]'"
DEADLINE_S = 1800.0  # for one recording: half an hour of work is more than a caller waits
TEXT_MAX_CHARS = limits.MIB  # of a transcript: a day of speech
_ROW_CHARS = 200  # engines give one endless line; pages are cut between rows


class Command(msgspec.Struct, frozen=True):
    """A program. `{audio}` in an argument becomes a file name of the recording; without it that is on its stdin."""

    argv: tuple[str, ...]


class Draft(msgspec.Struct, frozen=True):
    """The offline recogniser pocketsphinx."""


Engine = Service | Command | Draft


class Job(msgspec.Struct, frozen=True):
    """One recording, opened at `fd`, which its owner closes. `tell` takes a line on how far the work is."""

    fd: int
    size_bytes: int
    recording: Recording
    shown: str
    threads: Threads
    environ: Mapping[str, str]
    tell: Callable[[str], None]

    async def transcript(self, text: str, draft: bool = False, note: str = "") -> "Transcript":
        """Make a transcript in a thread: a day's words take a second to be made into rows."""
        return await self.threads.run(Lane.READ, transcript, text, draft, note)


class Transcript(msgspec.Struct, frozen=True):
    """What was said, in rows. `draft`: expect wrong words. `note` says what is missing, "" where nothing is."""

    text: str
    draft: bool = False
    note: str = ""


def transcript(text: str, draft: bool = False, note: str = "") -> Transcript:
    """Make a transcript of an engine's text: rows of a length that a page can hold, and no more than the cap."""
    if len(text) > TEXT_MAX_CHARS:
        text, note = text[:TEXT_MAX_CHARS], f"the transcript was cut at {TEXT_MAX_CHARS} characters"
    rows = [
        row for line in text.splitlines() for row in textwrap.wrap(line, _ROW_CHARS, break_on_hyphens=False) or [""]
    ]
    return Transcript("\n".join(rows).strip("\n"), draft, note)


def not_installed(what: str, command: str) -> Fault:
    """The fault of an engine that lacks a library or program. `command` installs it."""
    return Fault(Slug.READER_NOT_INSTALLED, f"{what}. The person can install it: {command}")
