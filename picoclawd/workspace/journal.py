"""What is kept of every change: its intent before it is made, what became of it, and a line in the audit log.

Blocking, and safe between threads. Nothing here fails a change: what cannot be recorded is made all the same, and says
that it cannot be restored, and why.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import assert_never

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.files import paths
from picoclawd.files.stamps import Stamp
from picoclawd.history.records import (
    Action,
    After,
    Applied,
    Author,
    Before,
    Begun,
    HistoryError,
    Intent,
    Outcome,
    Trashed,
    Unread,
)
from picoclawd.history.store import History
from picoclawd.text import display
from picoclawd.text.context import fields
from picoclawd.workspace import events
from picoclawd.workspace.actors import Actor
from picoclawd.workspace.audit import Audit, Mutation
from picoclawd.workspace.events import OUTSIDE
from picoclawd.workspace.freshness import LastChange
from picoclawd.workspace.tasks import Task

NO_HISTORY = "the daemon keeps no history"

_log = logging.getLogger(__name__)


class Attribution(msgspec.Struct, frozen=True):
    """Who makes a change: with which tool, for which task. `op` is the client's own name for it."""

    actor: Actor
    tool: str
    task: Task | None = None
    op: str | None = None

    @property
    def author(self) -> Author:
        """The same as history has it."""
        return Author(
            session_id=self.actor.session_id,
            client=self.actor.client or None,
            tool=self.tool,
            task_id=None if self.task is None else self.task.task_id,
            objective=None if self.task is None else self.task.objective,
        )


class Wanted(msgspec.Struct, frozen=True):
    """A change that is about to be made to the file at the real path. `stamp` is the file's before it."""

    by: Attribution
    real: bytes
    action: Action
    before: Before
    after: After
    stamp: Stamp | None
    approval: str | None = None


class Entry:
    """One change in the journal. `restorable`: the state before it, and the one after it, can be had again."""

    def __init__(self, journal: "Journal", wanted: Wanted, begun: Begun | None, reason: str | None) -> None:
        self._journal = journal
        self._wanted = wanted
        self.version = None if begun is None else begun.version
        self.restorable = begun is not None and begun.undoable and begun.restorable
        self.reason = reason if begun is None else begun.reason

    def done(self, size_bytes: int | None, sha256: str | None, trashed: Trashed | None = None) -> None:
        """The change was made; the file has this size and hash now, None where there is none, or none was taken."""
        if trashed is not None and self.version is not None:
            self.restorable, self.reason = True, None
        self._finish(Outcome("applied", size_bytes, sha256, trashed), size_bytes, sha256, None)

    def failed(self, fault: Fault) -> None:
        """The change was refused, or came to an end that nobody knows: the fault says which."""
        self._finish(Outcome(_applied(fault)), None, None, fault.slug.value)

    def lost(self) -> None:
        """Nobody can tell what became of it: a bug ended it half-way."""
        self._finish(Outcome("unknown"), None, None, Slug.INTERNAL_ERROR.value)

    def keep(self, data: bytes) -> None:
        """Keep an outside save that cannot be given its name back (a `files.commit.Keep`).

        Raises: history_unavailable, where it is not kept.
        """
        self._journal.keep_displaced(self._wanted, data)

    def _finish(self, outcome: Outcome, size_bytes: int | None, sha256: str | None, error: str | None) -> None:
        if self.version is not None:
            self._journal.finish(self.version, outcome)
        self._journal.audit(self._wanted, outcome.applied, self.version, size_bytes, sha256, error)


class Journal:
    """Records the changes of one workspace, whose real path is `root`; `sensitive` tells which files are never kept.

    Without `history` nothing is recorded, and without `audit` no line is written.
    """

    def __init__(
        self,
        root: bytes,
        sensitive: Callable[[bytes], bool],
        history: History | None = None,
        audit: Audit | None = None,
        no_history: str = NO_HISTORY,
    ) -> None:
        self._root = root
        self._sensitive = sensitive
        self.history = history
        self._audit = audit
        self.no_history = no_history

    def coming(self) -> AbstractContextManager[None]:
        """Announce that the body, in this thread, will most likely begin a change, so that those who do share a
        commit."""
        return nullcontext() if self.history is None else self.history.coming()

    def begin(self, wanted: Wanted) -> Entry:
        """Record a change before it is made; when this returns, a crash cannot lose what it replaces."""
        if self.history is None:
            return Entry(self, wanted, None, self.no_history)
        intent = Intent(
            path=name_of(self._root, wanted.real),
            action=wanted.action,
            before=wanted.before,
            after=wanted.after,
            author=wanted.by.author,
            op=wanted.by.op,
            sensitive=self._sensitive(wanted.real),
            stamp=wanted.stamp,
        )
        try:
            return Entry(self, wanted, self.history.begin(intent), None)
        except HistoryError as exc:
            _log.warning("a change could not be recorded: %s", exc.reason, extra=_about(wanted))
            return Entry(self, wanted, None, exc.reason)

    def required(self, given: str) -> History:
        """The history, for a change that is not made without it.

        Raises: history_unavailable.
        """
        if self.history is None:
            raise Fault(
                Slug.HISTORY_UNAVAILABLE,
                f"{given}: {self.no_history}, so nothing can go to the trash or come back. Nothing was done. "
                "See `picoclawctl doctor`.",
            )
        return self.history

    def last_change(self, real: bytes, sha256: str) -> LastChange | None:
        """Who made the file what it is now: a session where its last recorded version has these bytes, else somebody
        outside; None where nothing is known."""
        if self.history is None:
            return None
        try:
            made = self.history.last(name_of(self._root, real))
        except (HistoryError, Fault):
            return None
        if made is None or made.action == "external" or made.sha256_after != sha256 or made.session_id is None:
            return LastChange(OUTSIDE)
        by = events.Author(made.session_id, made.client or "", made.tool or "")
        return LastChange(by, made.changed_at_ns / 1e9)

    def finish(self, version: int, outcome: Outcome) -> None:
        """Record what became of a version's change."""
        if self.history is not None:
            self.history.finish(version, outcome)

    def keep_displaced(self, wanted: Wanted, data: bytes) -> None:
        """Keep the bytes of an outside save. Raises: history_unavailable."""
        if self.history is None:
            raise Fault(Slug.HISTORY_UNAVAILABLE, self.no_history)
        try:
            self.history.keep_displaced(
                name_of(self._root, wanted.real), data, wanted.by.author, sensitive=self._sensitive(wanted.real)
            )
        except HistoryError as exc:
            raise Fault(Slug.HISTORY_UNAVAILABLE, exc.reason) from exc

    def audit(
        self,
        wanted: Wanted,
        outcome: Applied,
        version: int | None,
        size_bytes: int | None,
        sha256: str | None,
        error: str | None,
    ) -> None:
        """Write the change's line."""
        if self._audit is None:
            return
        by = wanted.by
        path, path_bytes = display.data_name(name_of(self._root, wanted.real))
        self._audit.write(
            Mutation(
                tool=by.tool,
                path=path,
                path_bytes=path_bytes,
                action=wanted.action,
                outcome=outcome,
                version=version,
                size=size_bytes,
                sha256_before=_sha_of(wanted.before),
                sha256_after=sha256,
                session_id=by.actor.session_id,
                client=by.actor.client,
                role=by.actor.role.value,
                pid=by.actor.peer_pid,
                task_id=None if by.task is None else by.task.task_id,
                op=by.op,
                approval=wanted.approval,
                error=error,
            )
        )

    def close(self) -> None:
        """Write what is left, and close everything."""
        if self.history is not None:
            self.history.close()
        if self._audit is not None:
            self._audit.close()


def _about(wanted: Wanted) -> dict[str, dict[str, str]]:
    return fields(session=wanted.by.actor.session_id, tool=wanted.by.tool, path=display.name(wanted.real))


def name_of(root: bytes, real: bytes) -> bytes:
    """What history calls the file at a real path: relative to the workspace; of a file outside, its whole path."""
    return paths.below(real, root) or real


def _applied(fault: Fault) -> Applied:
    match fault.outcome:
        case "applied" | "unknown":
            return fault.outcome
        case "not_applied" | None:
            return "not_applied"
        case _:
            assert_never(fault.outcome)


def _sha_of(before: Before) -> str | None:
    return before.sha256 if isinstance(before, Unread) else None
