"""After a crash: what an intent that was never finished came to, judged by what is on the disk."""

import hashlib
from enum import Enum
from typing import assert_never

import msgspec

from picoclawd.files import stamps
from picoclawd.files.stamps import Stamp
from picoclawd.history.blobs import Blobs
from picoclawd.history.database import Connection
from picoclawd.history.recording import Image, stamp_of
from picoclawd.history.records import Action, Applied

_SECTOR_BYTES = 512  # compared at a time


class Verdict(Enum):
    """What became of a change. COMPLETED: an append that had stopped half-way, and whose rest was added since."""

    APPLIED = "applied"
    NOT_APPLIED = "not_applied"
    COMPLETED = "completed"
    UNKNOWN = "unknown"

    @property
    def applied(self) -> Applied:
        """The outcome to record."""
        match self:
            case Verdict.APPLIED | Verdict.COMPLETED:
                return "applied"
            case Verdict.NOT_APPLIED:
                return "not_applied"
            case Verdict.UNKNOWN:
                return "unknown"
            case _:
                assert_never(self)


class OpenIntent(msgspec.Struct, frozen=True):
    """An intent without an outcome. `after`, and of an append `addition`, have their content, None where it is not
    kept."""

    version: int
    path: bytes
    action: Action
    before: Image
    after: Image
    addition: Image
    stamp: Stamp | None
    op: str | None

    @property
    def appends(self) -> bool:
        """Whether the change is an append to what is there."""
        return self.addition.exists


def open_intents(db: Connection, blobs: Blobs) -> list[OpenIntent]:
    """All intents without an outcome, oldest first. Blocking."""
    rows = db.execute(
        "SELECT version, path, action, size_before, sha_before, size_after, sha_after, size_addition, sha_addition, "
        "keeps_addition, stamp, op, keeps_after FROM versions WHERE state = 'intent' ORDER BY version"
    ).fetchall()
    return [
        OpenIntent(
            version=row[0],
            path=row[1],
            action=row[2],
            before=Image(row[3], row[4]),
            after=Image(row[5], row[6], blobs.read(db, row[6]) if row[12] else None),
            addition=Image(row[7], row[8], blobs.read(db, row[8]) if row[9] else None),
            stamp=stamp_of(row[10]),
            op=row[11],
        )
        for row in rows
    ]


def judge(intent: OpenIntent, on_disk: bytes | None, found: Stamp | None = None) -> Verdict:
    """Compare an intent with the file's bytes, None for no file, and its stamp. Pure.

    COMPLETED means for an append: add what `rest` says first. What is neither the old nor the new content
    is UNKNOWN: somebody changed it since.
    """
    if intent.appends and intent.before.exists:
        old_size = intent.before.size_bytes or 0
        if on_disk is None or not _is(Image(old_size, intent.before.sha), on_disk[:old_size], unhashed=True):
            return Verdict.UNKNOWN
        return judge_tail(intent, on_disk[old_size:])
    if _is(intent.after, on_disk):
        return Verdict.APPLIED
    if _is(intent.before, on_disk):
        return Verdict.NOT_APPLIED
    return Verdict.UNKNOWN if found is None else judge_unread(intent, found)


def judge_unread(intent: OpenIntent, found: Stamp) -> Verdict:
    """Judge by the stamp, where the file is too large to be read, or what it held was never hashed. Pure."""
    if intent.stamp is not None and stamps.same_content(found, intent.stamp):
        return Verdict.NOT_APPLIED
    return Verdict.UNKNOWN


def judge_tail(intent: OpenIntent, tail: bytes) -> Verdict:
    """Judge an append by what the file holds behind its old size, however large it is. Pure."""
    addition = intent.addition
    if not tail and addition.size_bytes:
        return Verdict.NOT_APPLIED
    # Others may have appended since: what we added is still what comes first.
    if _is(addition, tail[: addition.size_bytes]):
        return Verdict.APPLIED
    if addition.content is not None and written_part(addition.content, tail) is not None:
        return Verdict.COMPLETED
    return Verdict.UNKNOWN


def rest(intent: OpenIntent, tail: bytes) -> tuple[int, bytes]:
    """How many bytes of the tail are good, and what the append still lacks behind them. Pure."""
    content = intent.addition.content or b""
    good = written_part(content, tail) or 0
    return good, content[good:]


def written_part(content: bytes, found: bytes) -> int | None:
    """How many first bytes of `found` are those of `content`, where it holds nothing but bytes of it and NULs. Pure.

    None: it holds something else. ext4 gives a file its size before its blocks are on the disk (dioread_nolock), so
    what was not synced when the power went reads as NULs, whole blocks of them.
    """
    if len(found) > len(content):
        return None
    good = len(found)
    for start in range(0, len(found), _SECTOR_BYTES):
        ours, theirs = content[start : start + _SECTOR_BYTES], found[start : start + _SECTOR_BYTES]
        if ours[: len(theirs)] == theirs:
            continue
        differing = [index for index, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b]
        if any(theirs[index] for index in differing):
            return None
        if differing:
            good = min(good, start + differing[0])
    return good


def _is(image: Image, on_disk: bytes | None, *, unhashed: bool = False) -> bool:
    """Whether these bytes are that content; `unhashed` is the answer where only its size is known."""
    if on_disk is None:
        return not image.exists
    if image.size_bytes != len(on_disk):
        return False
    return unhashed if image.sha is None else hashlib.sha256(on_disk).digest() == image.sha
