"""At start: find out what became of the changes that a crash left half-way, finish what can be, and say so. Blocking.

Nobody is served yet, so no lock is needed.
"""

import hashlib
import logging
import os

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import append, closing, reading, stamps, temps
from picoclawd.files.commit import Target
from picoclawd.files.handles import Place
from picoclawd.files.leftovers import find_leftovers
from picoclawd.files.paths import Roots
from picoclawd.files.policy import Access
from picoclawd.files.rooted import Rooted
from picoclawd.files.stamps import Stamp
from picoclawd.history.records import Applied
from picoclawd.history.settle import OpenIntent, Verdict, judge, judge_tail, judge_unread, rest, written_part
from picoclawd.history.store import History
from picoclawd.text import display
from picoclawd.workspace import recorded

_NOTHING_THERE = frozenset({Slug.NOT_FOUND, Slug.NOT_A_DIRECTORY})

_log = logging.getLogger(__name__)


class Settled(msgspec.Struct, frozen=True):
    """What an open intent came to, and the temporary files beside it that held nothing that is not kept."""

    version: int
    path: bytes
    outcome: Applied
    removed: tuple[bytes, ...] = ()


def settle(rooted: Rooted, roots: Roots, history: History) -> list[Settled]:
    """Settle every open intent, oldest first.

    Raises: HistoryError, history_unavailable.
    """
    return [_settle(rooted, roots, history, intent) for intent in history.open_intents()]


def _settle(rooted: Rooted, roots: Roots, history: History, intent: OpenIntent) -> Settled:
    removed: tuple[bytes, ...] = ()
    verdict = Verdict.UNKNOWN
    try:
        with rooted.place(recorded.path_of(rooted, roots, intent.path), Access.WRITE) as place:
            verdict = _judge_at(place, intent)
            removed = _clear(place, intent)
    except Fault as fault:
        if fault.slug in _NOTHING_THERE:
            verdict = judge(intent, None)
        # Else its directory may not be looked into any more, or the disk does not let us: nobody knows.
    except OSError as exc:
        _log.warning("%s could not be looked at: %s", display.name(intent.path), exc.strerror)
    history.settle(intent.version, verdict)
    return Settled(intent.version, intent.path, verdict.applied, removed)


def _judge_at(place: Place, intent: OpenIntent) -> Verdict:
    """What became of the intent, by the file; the rest of an append that stopped half-way is added."""
    if place.stat is None:
        return judge(intent, None)
    fd = reading.open_itself(place.dir_fd, place.name)
    with open(fd, "rb") as file:
        found = stamps.of(os.fstat(fd))
        if found.size <= limits.EDIT_MAX_BYTES:
            data = file.read()
            verdict = judge(intent, data, found)
            tail = data[intent.before.size_bytes or 0 :]
        elif intent.appends and intent.before.exists and intent.before.size_bytes is not None:
            file.seek(intent.before.size_bytes)
            tail = file.read(limits.EDIT_MAX_BYTES)
            verdict = judge_tail(intent, tail)
        else:
            tail = b""
            verdict = judge_unread(intent, found)
    if verdict is Verdict.COMPLETED:
        _complete(place, intent, found, tail)
    return verdict


def _complete(place: Place, intent: OpenIntent, found: Stamp, tail: bytes) -> None:
    """Add what is lacking, once what is not of the addition, blocks that were never written, is cut off."""
    target = Target(place.dir_fd, place.name, os.fsdecode(intent.path))
    good, lacking = rest(intent, tail)
    if good < len(tail):
        found = _cut(place, found.size - len(tail) + good)
    append.append(target, lacking, expected=found, create_mode=None, refuse_hardlinks=False)


def _cut(place: Place, size_bytes: int) -> Stamp:
    fd = os.open(place.name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place.dir_fd)
    try:
        os.ftruncate(fd, size_bytes)
        return stamps.of(os.fstat(fd))
    finally:
        closing.close(fd)


def _clear(place: Place, intent: OpenIntent) -> tuple[bytes, ...]:
    """Remove temporary files of ours that hold what history has, or what never became true. Others may hold a save."""
    removed: list[bytes] = []
    listing = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.dir_fd)
    try:
        for name in find_leftovers(listing):
            if _holds_nothing_else(intent, _read(place.dir_fd, name)):
                temps.remove(place.dir_fd, name)
                removed.append(name)
    finally:
        closing.close(listing)
    return tuple(removed)


def _holds_nothing_else(intent: OpenIntent, data: bytes | None) -> bool:
    """Whether these bytes are the old content, or the beginning of the new one."""
    if data is None:
        return False
    if intent.before.sha is not None and hashlib.sha256(data).digest() == intent.before.sha:
        return True
    return intent.after.content is not None and written_part(intent.after.content, data) is not None


def _read(dir_fd: int, name: bytes) -> bytes | None:
    """The bytes of what is left over; None where it is too large, is no file, or cannot be read: then it stays."""
    try:
        fd = reading.open_itself(dir_fd, name)
        with open(fd, "rb") as file:
            data = file.read(limits.EDIT_MAX_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= limits.EDIT_MAX_BYTES else None
