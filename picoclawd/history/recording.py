"""What an intent and its outcome do to the tables: run by the writer, inside its transaction."""

import hashlib
import time
from typing import Any, assert_never

import msgspec

from picoclawd.files.stamps import Stamp
from picoclawd.history.blobs import Blobs, Transaction
from picoclawd.history.records import Action, Addition, Before, Begun, Intent, Outcome, State, Unread

SENSITIVE = "it may hold secrets: such files are never kept"
_NOWHERE = "what was before is not kept, so what an append made of it is not either"


class Image(msgspec.Struct, frozen=True):
    """One content as the tables have it. No size: no file. No content: it is not to be kept."""

    size_bytes: int | None = None
    sha: bytes | None = None
    content: bytes | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self.size_bytes is not None


class Prepared(msgspec.Struct, frozen=True):
    """An intent with its hashes taken, in the caller's thread. `reason` says why a content is not to be kept."""

    intent: Intent
    before: Image
    after: Image
    addition: Image
    reason: str | None

    @property
    def contents(self) -> list[tuple[bytes, bytes]]:
        """(hash, bytes) of all that is to be kept."""
        images = (self.before, self.after, self.addition)
        return [(i.sha, i.content) for i in images if i.sha is not None and i.content is not None]


def prepare(intent: Intent, refusal: str | None = None) -> Prepared:
    """Take the hashes. With a `refusal`, or of a sensitive file, no content is to be kept."""
    refusal = SENSITIVE if intent.sensitive else refusal
    before, addition = _image(intent.before, refusal), Image()
    if isinstance(intent.after, Addition):
        addition = _image(intent.after.data, refusal)
        after = _appended(intent.before, intent.after)
    else:
        after = _image(intent.after, refusal)
    unread = [content.reason for content in (intent.before, intent.after) if isinstance(content, Unread)]
    return Prepared(intent, before, after, addition, refusal or next(iter(unread), None))


def sizes(intent: Intent) -> list[int]:
    """The bytes of each content that an intent brings along."""
    after = intent.after.data if isinstance(intent.after, Addition) else intent.after
    return [len(content) for content in (intent.before, after) if isinstance(content, bytes)]


def record(tx: Transaction, blobs: Blobs, prepared: Prepared, state: State) -> Begun:
    """Insert the intent; before it, as `external`, a change that nobody told us of."""
    intent = prepared.intent
    if intent.action != "external":
        _record_external(tx, blobs, prepared)
    return _insert(tx, blobs, prepared, state)


def finish(tx: Transaction, blobs: Blobs, version: int, outcome: Outcome) -> None:
    """Write what became of an intent. One that came to nothing keeps its row, for who asks, and no content."""
    match outcome.applied:
        case "applied":
            _close(tx, version, "done", outcome)
        case "unknown":
            _close(tx, version, "unknown", outcome)
        case "not_applied":
            strip(tx, blobs, version, ("before", "after", "addition"), "the change was never made")
            _close(tx, version, "not_applied", outcome)
        case _:
            assert_never(outcome.applied)


def strip(tx: Transaction, blobs: Blobs, version: int, parts: tuple[str, ...], reason: str) -> None:
    """Take contents (`before`, `after`, `addition`) from a version and leave its row, which then says why."""
    for part in parts:
        row = tx.db.execute(
            f"SELECT sha_{part} FROM versions WHERE version = ? AND keeps_{part}", (version,)
        ).fetchone()
        if row is not None:
            freed = blobs.release(tx, row[0])
            tx.db.execute(
                f"UPDATE versions SET keeps_{part} = 0, stored = max(stored - ?, 0), reason = ? WHERE version = ?",
                (freed, reason, version),
            )


def _image(content: Before, refusal: str | None) -> Image:
    if content is None:
        return Image()
    if isinstance(content, Unread):
        sha = None if content.sha256 is None else bytes.fromhex(content.sha256)
        return Image(content.size_bytes, sha)
    return Image(len(content), hashlib.sha256(content).digest(), None if refusal else content)


def _appended(before: Before, addition: Addition) -> Image:
    """The whole after an append: its size and, where the bytes before are at hand, its hash."""
    if isinstance(before, Unread):
        return Image(before.size_bytes + len(addition.data))
    digest = hashlib.sha256(before or b"")
    digest.update(addition.data)
    return Image(len(before or b"") + len(addition.data), digest.digest())


def _record_external(tx: Transaction, blobs: Blobs, prepared: Prepared) -> None:
    """Record that somebody else changed the file since its last version, if its content says so."""
    intent, found = prepared.intent, prepared.before
    last = tx.db.execute(
        "SELECT size_after, sha_after, state, size_before, sha_before FROM versions "
        "WHERE path = ? AND state IN ('done', 'unknown') ORDER BY version DESC LIMIT 1",
        (intent.path,),
    ).fetchone()
    if last is None or _same(found, last[0], last[1]) or (last[2] == "unknown" and _same(found, last[3], last[4])):
        return
    before = Image(last[0], last[1])
    outside = Intent(intent.path, "external", None, None, sensitive=intent.sensitive)
    row = Prepared(outside, before, found, Image(), prepared.reason)
    _insert(tx, blobs, row, "done")


def _same(found: Image, size: int | None, sha: bytes | None) -> bool:
    return found.size_bytes == size and (found.sha is None or sha is None or found.sha == sha)


def _insert(tx: Transaction, blobs: Blobs, prepared: Prepared, state: State) -> Begun:
    intent, author = prepared.intent, prepared.intent.author
    stored = 0
    keeps: list[bool] = []
    for image in (prepared.before, prepared.after, prepared.addition):
        kept, brought = _keep(tx, blobs, image, intent.sensitive)
        keeps.append(kept)
        stored += brought
    undoable = not prepared.before.exists or keeps[0]
    restorable = _restorable(intent.action, prepared, keeps, undoable)
    reason = None if undoable and restorable else prepared.reason or _NOWHERE
    row: list[Any] = [intent.path, intent.action, state]
    for image, kept in zip((prepared.before, prepared.after, prepared.addition), keeps, strict=True):
        row += [image.size_bytes, image.sha, kept]
    row += [stamp_text(intent.stamp), author.tool, author.session_id, author.client, author.task_id, author.objective]
    row += [time.time_ns(), intent.op, stored, reason]
    version = tx.db.execute(_INSERT, row).lastrowid
    assert version is not None  # an INSERT always has one
    return Begun(version, undoable, restorable, reason)


_INSERT = f"""
INSERT INTO versions (
    path, action, state, size_before, sha_before, keeps_before, size_after, sha_after, keeps_after,
    size_addition, sha_addition, keeps_addition, stamp, tool, session_id, client, task_id, objective,
    changed_at, op, stored, reason
) VALUES ({", ".join("?" * 22)})
"""


def _keep(tx: Transaction, blobs: Blobs, image: Image, sensitive: bool) -> tuple[bool, int]:
    """Count a use of the content, if it is kept or was before; the bytes that this brought into the store."""
    if image.sha is None or sensitive:
        return False, 0
    if image.content is None:
        return blobs.hold(tx, image.sha), 0
    return True, blobs.put(tx, image.sha, image.content)


def _restorable(action: Action, prepared: Prepared, keeps: list[bool], undoable: bool) -> bool:
    if action == "delete":
        return undoable
    return not prepared.after.exists or keeps[1] or (undoable and keeps[2])


def _close(tx: Transaction, version: int, state: State, outcome: Outcome) -> None:
    sha = None if outcome.sha256 is None else bytes.fromhex(outcome.sha256)
    tx.db.execute(
        "UPDATE versions SET state = ?, size_after = coalesce(size_after, ?), sha_after = coalesce(sha_after, ?) "
        "WHERE version = ?",
        (state, outcome.size_bytes, sha, version),
    )
    if outcome.trashed is not None:
        note_trashed(tx, version, outcome.trashed.name, outcome.trashed.size_bytes)


def note_trashed(tx: Transaction, version: int, name: bytes, size_bytes: int) -> None:
    """Record which file in the trash holds what a version removed."""
    tx.db.execute("INSERT OR REPLACE INTO trash (version, name, size) VALUES (?, ?, ?)", (version, name, size_bytes))


def forget_trashed(tx: Transaction, version: int, reason: str) -> list[bytes]:
    """Record that the trash no longer holds what a version removed; the names that it had there."""
    names = [row[0] for row in tx.db.execute("DELETE FROM trash WHERE version = ? RETURNING name", (version,))]
    if names:
        tx.db.execute("UPDATE versions SET reason = ? WHERE version = ?", (reason, version))
    return names


def keep_before(tx: Transaction, blobs: Blobs, version: int) -> None:
    """Keep what was before a version by its hash, where another version has the same content by now."""
    row = tx.db.execute("SELECT sha_before FROM versions WHERE version = ? AND NOT keeps_before", (version,)).fetchone()
    if row is not None and row[0] is not None and blobs.hold(tx, row[0]):
        tx.db.execute("UPDATE versions SET keeps_before = 1, reason = NULL WHERE version = ?", (version,))


def stamp_text(stamp: Stamp | None) -> str | None:
    """Write a stamp into one column."""
    if stamp is None:
        return None
    return " ".join(
        str(value)
        for value in (stamp.dev, stamp.ino, stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.mode, stamp.nlink)
    )


def stamp_of(text: str | None) -> Stamp | None:
    """Read what `stamp_text` wrote."""
    return None if text is None else Stamp(*(int(word) for word in text.split()))
