"""The one write transaction. Every tool that mutates goes through `Changer.change`; nothing else writes.

resolve -> policy -> lock -> resolve again -> read old, take its stamp -> if_match -> compute(old)
  -> must a person confirm it? then unlock, ask, and begin again -> intent -> commit on disk -> read back
  -> outcome, caches, ledger -> unlock -> tell the feed
"""

import os
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files import closing, reading, stamps
from picoclawd.files.handles import Foreseen, Place
from picoclawd.files.locks import LockKey, LockTable
from picoclawd.files.oserrors import as_fault
from picoclawd.files.paths import WsPath, below
from picoclawd.files.policy import Access, Allow, Ask
from picoclawd.files.rooted import Rooted
from picoclawd.files.target import reported
from picoclawd.files.threads import Lane, Threads
from picoclawd.files.waits import Waits
from picoclawd.history.records import Action
from picoclawd.text import diff
from picoclawd.workspace import applying
from picoclawd.workspace.actors import Actor
from picoclawd.workspace.announcer import Announcer
from picoclawd.workspace.applying import Applied
from picoclawd.workspace.confirm import Confirmations
from picoclawd.workspace.editors import Editors
from picoclawd.workspace.events import Author, Change
from picoclawd.workspace.journal import Attribution, Journal
from picoclawd.workspace.plans import Append, Compute, Keep, Old, Plan, Remove
from picoclawd.workspace.questions import Granted, Question, Target
from picoclawd.workspace.sessions import Session
from picoclawd.workspace.tasks import Task

_KEY_TRIES = 16  # each means that the path was re-pointed between resolving and locking: somebody does it on purpose


class Request(msgspec.Struct, frozen=True):
    """One wanted change: who, where, with which words for errors, and how it may be stopped.

    `verb` fills "failed to ... file"; `method` and `params` are the call as it was given, for whoever must confirm it.
    `if_match` is the sha256 that the file must have, "" for no file. `confirm` says why a person must confirm it
    wherever it goes; `granted` that the whole call is confirmed already: then `compute` sees to it that the file is
    what was shown. `action` is what history calls it, None for what the plan is. `waits` is told what it waited for.
    """

    session: Session
    path: WsPath
    verb: str
    method: str
    params: dict[str, Any]
    cancelled: Callable[[], bool]
    task: Task | None = None
    if_match: str | None = None
    op: str | None = None
    dry_run: bool = False
    confirm: str | None = None
    granted: Granted | None = None
    action: Action | None = None
    waits: Waits = msgspec.field(default_factory=Waits)

    @property
    def actor(self) -> Actor:
        """Who asks."""
        return self.session.actor

    @property
    def by(self) -> Attribution:
        """Who the change is by."""
        return Attribution(self.actor, self.method, self.task, self.op)


class Changed(msgspec.Struct, frozen=True):
    """What a change came to. `hardlinks` counts the names that the old file had, of which a replace left one.

    `moved_to` is the file's name in the trash, `reason` why it is not restorable.
    """

    action: Literal["created", "replaced", "appended", "removed", "unchanged"]
    real: bytes
    size: int
    bytes_written: int
    sha256: str | None
    hardlinks: int
    version: int | None = None
    restorable: bool = False
    reason: str | None = None
    moved_to: bytes | None = None


class Changer:
    """Runs changes on one workspace, one at a time for each path."""

    def __init__(
        self,
        rooted: Rooted,
        locks: LockTable,
        threads: Threads,
        new_file_mode: int | None,
        noted: Callable[[bytes, bool], None],
        journal: Journal,
        confirmations: Confirmations,
        announcer: Announcer,
        editors: Editors,
    ) -> None:
        self._rooted = rooted
        self._noted = noted
        self._locks = locks
        self._threads = threads
        self._journal = journal
        self._confirmations = confirmations
        self._announcer = announcer
        self._editors = editors
        self._closer = closing.Closer()
        self.new_file_mode = new_file_mode
        self.closing = False

    async def change(self, request: Request, compute: Compute) -> Changed:
        """Compute the path's new content from its old one, and make it so, all under the path's lock.

        `compute(old)` is pure, runs in a thread, perhaps more than once, and may raise a Fault: then nothing is
        written. A call that is cancelled before its intent changes nothing (`cancelled`); from there on the real
        outcome is answered.

        Raises: shutting_down, conflict (if_match), path_busy, open_in_editor, confirmation_*, and what resolving,
        `compute` and the commit raise.
        """
        granted = request.granted
        for _ in range(_KEY_TRIES):
            self._check_open()
            key = self._rooted.key_at_hand(request.path)
            if key is None:
                key = await self._threads.run(Lane.READ, self._key, request)
            async with self._locks.hold([key], holder=request.actor.session_id, waits=request.waits):
                outcome = await self._threads.run(Lane.COMMIT, self._transact, request, key, compute, granted)
            if isinstance(outcome, Changed):
                return self._told(request, outcome)
            if outcome is not None:
                granted = await self._confirmations.wait(outcome)
        raise Fault(
            Slug.PATH_BUSY,
            f"{request.path.given}: a directory or link on the way was exchanged {_KEY_TRIES} times while this call "
            "waited for its turn. Nothing was written. Try again when it is quiet.",
        )

    def _check_open(self) -> None:
        if self.closing:
            raise Fault(Slug.SHUTTING_DOWN, "the daemon is stopping and takes no new writes. Try again in a moment.")

    def _told(self, request: Request, changed: Changed) -> Changed:
        relative = below(changed.real, self._rooted.workspace)
        if relative is None or request.dry_run or changed.action == "unchanged":
            return changed
        action: Literal["create", "modify", "delete"] = "modify"
        if changed.action in ("created", "removed"):
            action = "create" if changed.action == "created" else "delete"
        actor = request.actor
        by = Author(actor.session_id, actor.client, request.method)
        protected = self._rooted.policy.hidden(changed.real)
        self._announcer.own(Change(relative, action, by, changed.version, protected=protected))
        return changed

    def _key(self, request: Request) -> LockKey:
        with reported(request.verb, request.path.given):
            found = self._find(request)
            if isinstance(found, Foreseen):
                return _new_directory_key(found)
            with found:
                return found.key

    def _find(self, request: Request) -> Place | Foreseen:
        """Where the path leads, by the policy's leave; foreseen only where a directory is missing."""
        try:
            return self._rooted.place(request.path, Access.WRITE)
        except Fault as fault:
            if fault.slug is not Slug.NOT_FOUND:
                raise
            return self._rooted.foresee(request.path, Access.WRITE)

    def _transact(
        self, request: Request, key: LockKey, compute: Compute, granted: Granted | None
    ) -> Changed | Question | None:
        """Everything that happens under the lock; a question where a person must be asked first, and None where the
        path no longer leads to what is locked. What fails here before `_apply` has changed nothing."""
        with reported(request.verb, request.path.given), self._journal.coming():
            found = self._find(request)
            if isinstance(found, Foreseen):
                if _new_directory_key(found) != key:
                    return None
                return self._into_new_directory(request, found, compute, granted)
            with found as place:
                if place.key != key:
                    return None
                fd = _open_old(place, request)
                try:
                    return self._commit(request, place, fd, compute, granted)
                finally:
                    if fd is not None:
                        self._closer.close(fd)

    def _into_new_directory(
        self, request: Request, foreseen: Foreseen, compute: Compute, granted: Granted | None
    ) -> Changed | Question | None:
        """Make the missing directories once the change is known to be wanted; the file itself is the next round's.

        So a file is only ever created under the lock of its own directory.
        """
        old = Old(None, None, foreseen.real, request.path.given)
        plan = self._plan(request, old, compute)
        if request.dry_run or isinstance(plan, Keep):
            return _foreseen(old, plan)
        question = self._unanswered(request, foreseen.verdict, old, plan, granted)
        if question is not None:
            return question
        self._rooted.place(request.path, Access.WRITE, make_parents=True).close()
        return None

    def _commit(
        self, request: Request, place: Place, fd: int | None, compute: Compute, granted: Granted | None
    ) -> Changed | Question:
        old = Old(fd, None if fd is None else stamps.of(os.fstat(fd)), place.real, request.path.given)
        plan = self._plan(request, old, compute)
        if request.dry_run or isinstance(plan, Keep):
            return _foreseen(old, plan)
        question = self._unanswered(request, place.verdict, old, plan, granted)
        if question is not None:
            return question
        approval = None if granted is None else granted.request_id
        is_file = False
        try:
            changed = self._apply(request, place, old, plan, approval)
            is_file = changed.action != "removed"
            return changed
        finally:
            self._noted(place.real, is_file)  # also after a failure: its outcome may be unknown

    def _plan(self, request: Request, old: Old, compute: Compute) -> Plan:
        _check_match(request, old)
        self._editors.check(request.actor, old.real, request.path.given)
        plan = compute(old)
        if request.cancelled():
            raise Fault(Slug.CANCELLED, "cancelled before anything was written.")
        return plan

    def _unanswered(
        self, request: Request, verdict: Allow | Ask, old: Old, plan: Plan, granted: Granted | None
    ) -> Question | None:
        """What a person must be asked before this goes on. Raises: conflict where the answer was for something else."""
        question = self._question(request, verdict, old, plan)
        if question is None or granted is None:
            return question
        granted.check_again(question)
        return None

    def _question(self, request: Request, verdict: Allow | Ask, old: Old, plan: Plan) -> Question | None:
        """What a person must confirm; None where nobody needs to be asked."""
        if request.actor.is_operator or request.granted is not None:
            return None
        if request.confirm is not None:
            reason = request.confirm
        elif isinstance(verdict, Ask):
            reason = verdict.reason
        else:
            return None
        stamp = old.stamp
        return Question(
            actor=request.actor,
            method=request.method,
            params=request.params,
            target=Target(old.real, old.sha256(), None if stamp is None else (stamp.dev, stamp.ino)),
            reason=reason,
            diff=diff_of(request.path.given, old, plan),
            task=request.task,
            waits=request.waits,
        )

    def _apply(self, request: Request, place: Place, old: Old, plan: Plan, approval: str | None) -> Changed:
        relative = below(place.real, self._rooted.workspace)
        with self._announcer.changing(relative):
            made = applying.apply(
                self._journal, request.by, place, old, plan, self.new_file_mode, request.action, approval
            )
            self._announcer.note(relative, made.stamp)
            ledger = request.session.ledger
            if made.stamp is None:
                ledger.forget(place.real)
            else:
                ledger.note_write(place.real, made.stamp, made.sha256, made.whole)
        return _changed(place, old, made)


def _changed(place: Place, old: Old, made: Applied) -> Changed:
    return Changed(
        action=made.action,
        real=place.real,
        size=0 if made.stamp is None else made.stamp.size,
        bytes_written=made.bytes_written,
        sha256=made.sha256,
        hardlinks=old.hardlinks,
        version=made.entry.version,
        restorable=made.entry.restorable,
        reason=made.entry.reason,
        moved_to=made.moved_to,
    )


def _foreseen(old: Old, plan: Plan) -> Changed:
    """What applying the plan would come to: the answer to a dry run, and to a plan that keeps the file."""
    whole = applying.foreseen_content(old, plan)
    action: Literal["created", "replaced", "appended", "removed", "unchanged"] = applying.action_of(old, plan)
    written = applying.bytes_to_write(plan)
    size = old.size + written if isinstance(plan, Append) else len(whole or b"")
    sha256 = None if whole is None else applying.hash_of(whole)
    return Changed(action, old.real, size, written, sha256, old.hardlinks)


def diff_of(given: str, old: Old, plan: Plan) -> str:
    """The change for a person to look at; empty where it is no text that one looks at."""
    sides = sides_of(old, plan)
    if sides is None:
        return ""
    rows, _cut = diff.bounded(diff.unified(given, *sides), limits.DIFF_DISPLAY_MAX_CHARS)
    return "\n".join(row.text for row in rows)


def sides_of(old: Old, plan: Plan) -> tuple[bytes, bytes] | None:
    """The file's bytes before and after the change, none for no file; None where they are too large for a diff."""
    if old.size > limits.DIFF_FILE_MAX_BYTES:
        return None
    after = b"" if isinstance(plan, Remove) else applying.foreseen_content(old, plan)
    if after is None or not (diff.small_enough(old.data) and diff.small_enough(after)):
        return None
    return old.data, after


def _new_directory_key(foreseen: Foreseen) -> LockKey:
    """The lock of a name whose directory does not exist yet: its path, as no inode has number 0."""
    return (0, 0, foreseen.real)


def _check_match(request: Request, old: Old) -> None:
    wanted = request.if_match
    if wanted is None or wanted == old.sha256():
        return
    found = f"its sha256 is now {old.sha256()}" if old.exists else "it does not exist"
    raise Fault(
        Slug.CONFLICT,
        f"{request.path.given} is not what if_match asks for: {found}. Nothing was written. "
        "Read the file again and decide on what it holds now.",
        next_call=NextCall("read_file", {"path": request.path.given}),
        sha256=old.sha256(),
    )


def _open_old(place: Place, request: Request) -> int | None:
    """Open the file for reading where there is one, below the descriptor that was checked.

    Raises: not_a_file, access_denied, io_error.
    """
    if place.stat is None:
        return None
    try:
        return reading.open_itself(place.dir_fd, place.name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise as_fault(error, request.verb, request.path.given) from error
