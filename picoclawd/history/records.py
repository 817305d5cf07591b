"""The values that history speaks in: intents and outcomes on the way in, versions on the way out."""

from typing import Literal

import msgspec

from picoclawd.files.stamps import Stamp

Action = Literal["create", "modify", "append", "delete", "restore", "external"]
# displaced: an outside save that lost its name to ours and is kept here alone.
State = Literal["intent", "done", "unknown", "not_applied", "displaced"]
Applied = Literal["applied", "not_applied", "unknown"]


class HistoryError(Exception):
    """A change that cannot be recorded; the caller makes it all the same, says `restorable: false`, and the reason.

    `reason` is for people and models: one clause, without paths.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unread(msgspec.Struct, frozen=True):
    """A file whose bytes are not at hand; `reason` says why it cannot be restored from here. `sha256` is hex."""

    size_bytes: int
    reason: str = "the file is too large to be kept"
    sha256: str | None = None


class Addition(msgspec.Struct, frozen=True):
    """The bytes that an append puts behind what is there."""

    data: bytes


Before = bytes | Unread | None
After = bytes | Unread | Addition | None


class Author(msgspec.Struct, frozen=True):
    """Who makes a change, with which tool, for which task, as the client says. None: not known."""

    session_id: str | None = None
    client: str | None = None
    tool: str | None = None
    task_id: str | None = None
    objective: str | None = None


class Intent(msgspec.Struct, frozen=True):
    """A change that is about to be made. `path` is relative to the workspace; `None` for a content is: no file.

    `stamp` is the file's before the change: it tells at a restart what bytes that are not kept cannot. Of a
    `sensitive` file sizes and hashes are recorded, and never a byte.
    """

    path: bytes
    action: Action
    before: Before
    after: After
    author: Author = Author()
    op: str | None = None
    sensitive: bool = False
    stamp: Stamp | None = None


class Begun(msgspec.Struct, frozen=True):
    """A recorded intent. `undoable`: what was there before is kept, or nothing was; `reason` says why not."""

    version: int
    undoable: bool
    restorable: bool
    reason: str | None


class Trashed(msgspec.Struct, frozen=True):
    """A removed file in the trash, by its name there."""

    name: bytes
    size_bytes: int


class Outcome(msgspec.Struct, frozen=True):
    """What became of an intent. Size and hash fill in what the intent could not know; `trashed` where it went."""

    applied: Applied
    size_bytes: int | None = None
    sha256: str | None = None
    trashed: Trashed | None = None


class Version(msgspec.Struct, frozen=True):
    """One recorded change. Sizes and hashes (hex) are None where there is no file, and hashes where none was taken.

    `restorable`: the state right after the change can be had, or, of a deletion, the file that it removed.
    `undoable`: the state right before it can be had. `reason` says why not.
    """

    version: int
    path: bytes
    action: Action
    state: State
    size_bytes: int | None
    size_before_bytes: int | None
    sha256_before: str | None
    sha256_after: str | None
    tool: str | None
    session_id: str | None
    client: str | None
    task_id: str | None
    objective: str | None
    changed_at_ns: int
    op: str | None
    restorable: bool
    undoable: bool
    reason: str | None

    @property
    def existed(self) -> bool:
        """Whether there was a file before the change."""
        return self.size_before_bytes is not None

    @property
    def exists(self) -> bool:
        """Whether there is a file after the change."""
        return self.size_bytes is not None
