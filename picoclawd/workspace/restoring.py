"""Restore files: by one version, or all that a task touched. One question to a person, then file by file.

Each file is all or nothing; one that fails is told of, and the others are restored all the same. A restore is a change
like any other: recorded, and undone by another restore.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.paths import Roots, WsPath
from picoclawd.files.policy import Access
from picoclawd.files.rooted import Rooted
from picoclawd.files.threads import Lane, Threads
from picoclawd.files.waits import Waits
from picoclawd.history.query import Filter
from picoclawd.text import diff, display
from picoclawd.workspace import aims, recorded
from picoclawd.workspace.aims import Aim
from picoclawd.workspace.change import Changed, Changer, Request, sides_of
from picoclawd.workspace.confirm import Confirmations
from picoclawd.workspace.journal import Journal
from picoclawd.workspace.plans import Keep, Old, Plan
from picoclawd.workspace.questions import Granted, Question, Target
from picoclawd.workspace.sessions import Session
from picoclawd.workspace.tasks import Task, Tasks, unknown_task

_SIDES_MAX_BYTES = 4 * limits.MIB  # of all that is kept to show what would change: a task may touch thousands of files
_STOPS = (Slug.CANCELLED, Slug.SHUTTING_DOWN)  # what ends the whole call, not one file's part
_REASON = "restoring files is confirmed by a person"


class Wish(msgspec.Struct, frozen=True):
    """One call: who wants to restore, with which words, and how it is stopped. `params` are as they were given."""

    session: Session
    method: str
    params: dict[str, Any]
    cancelled: Callable[[], bool]
    task: Task | None = None
    op: str | None = None
    force: bool = False
    dry_run: bool = False
    waits: Waits = msgspec.field(default_factory=Waits)


class Goal(msgspec.Struct, frozen=True):
    """What a call comes down to: the states of files, by path, and the name of it all (a path, or `task <id>`)."""

    name: bytes
    aims: tuple[Aim, ...]


class Restored(msgspec.Struct, frozen=True):
    """What became of one file: how it was changed, or why not. `sides` are its bytes before and after, of a dry run
    and where they are few."""

    path: WsPath
    changed: Changed | None
    fault: Fault | None = None
    sides: tuple[bytes, bytes] | None = None

    @property
    def is_done(self) -> bool:
        """Whether the file is another one now."""
        return self.fault is None and self.changed is not None and self.changed.action != "unchanged"


class _Look(msgspec.Struct, frozen=True):
    """A file as it is, and what would be done to it."""

    aim: Aim
    path: WsPath
    found: tuple[str, tuple[int, int] | None] = ("", None)
    changed: Changed | None = None
    sides: tuple[bytes, bytes] | None = None
    fault: Fault | None = None

    @property
    def is_change(self) -> bool:
        return self.result.is_done

    @property
    def result(self) -> Restored:
        return Restored(self.path, self.changed, self.fault, self.sides)


class Restorer:
    """Restores files of one workspace."""

    def __init__(
        self,
        rooted: Rooted,
        roots: Roots,
        threads: Threads,
        journal: Journal,
        changer: Changer,
        confirmations: Confirmations,
        tasks: Tasks,
    ) -> None:
        self._rooted = rooted
        self._roots = roots
        self._threads = threads
        self._journal = journal
        self._changer = changer
        self._confirmations = confirmations
        self._tasks = tasks

    async def of_version(self, number: int) -> Goal:
        """The state right after a version; of a deletion, that the removed file is back.

        Raises: unknown_version, history_unavailable; protected_path or outside_workspace where the file may not be
        written today.
        """
        return await self._threads.run(Lane.READ, self._of_version, number)

    async def of_task(self, session_id: str, task_id: str, path: WsPath | None = None) -> Goal:
        """The states of all files that a task touched, before it did; with `path` of that file alone.

        Raises: unknown_task; not_found where the task did not change `path`; history_unavailable, and what the policy
        says to `path`.
        """
        task_id = self._tasks.named(session_id, task_id)
        known = self._tasks.knows(task_id)
        return await self._threads.run(Lane.READ, self._of_task, task_id, known, path)

    async def of_changes(self, wanted: Filter, name: bytes) -> Goal:
        """The states of all files that some changes touched, before the first of them; `name` is what they are called.

        Empty where there are none. Raises: history_unavailable.
        """
        return await self._threads.run(Lane.READ, self._of_changes, wanted, name)

    async def restore(self, wish: Wish, goal: Goal) -> list[Restored]:
        """Take every file to its state, after a person confirmed the whole; sorted by path.

        Raises: what asking raises: confirmation_pending, confirmation_denied, confirmation_unavailable, conflict;
        cancelled, shutting_down before the first file. What goes wrong with one file is in its `fault`.
        """
        looks = await self._look(wish, goal.aims)
        if wish.dry_run or not any(look.is_change for look in looks):
            return [look.result for look in looks]
        granted = await self._confirmations.wait(_question(wish, goal, looks))
        was_asked = granted.by in ("once", "task")
        if was_asked:
            looks = await self._look(wish, goal.aims)
            granted.check_again(_question(wish, goal, looks))
        done: list[Restored] = []
        for look in looks:
            done.append(await self._make(wish, look, granted, was_asked) if look.is_change else look.result)
            fault = done[-1].fault
            if fault is not None and fault.slug in _STOPS and not any(each.is_done for each in done):
                raise fault
        return done

    def _of_version(self, number: int) -> Goal:
        aim = aims.of_version(self._journal.required(f"version {number}"), number)
        recorded.check(self._rooted, aim.version, Access.WRITE)
        return Goal(recorded.real_of(self._rooted, aim.path), (aim,))

    def _of_task(self, task_id: str, known: bool, path: WsPath | None) -> Goal:
        shown = display.name(task_id.encode("utf-8", "replace"))
        made = aims.before_all(self._journal.required(f"task {shown}"), Filter(task_id=task_id))
        if not made and not known:
            raise unknown_task(task_id)
        if path is not None:
            name = recorded.name_at(self._rooted, path, Access.WRITE)
            made = [aim for aim in made if aim.path == name]
            if not made:
                raise Fault(Slug.NOT_FOUND, f"{path.given}: task {shown} did not change this file. Nothing was done.")
        return Goal(b"task " + task_id.encode("utf-8", "replace"), tuple(made))

    def _of_changes(self, wanted: Filter, name: bytes) -> Goal:
        return Goal(name, tuple(aims.before_all(self._journal.required(display.name(name)), wanted)))

    async def _look(self, wish: Wish, wanted: Sequence[Aim]) -> list[_Look]:
        looks: list[_Look] = []
        room = _SIDES_MAX_BYTES
        for aim in wanted:
            look = await self._look_at(wish, aim)
            if look.sides is not None:
                room -= sum(map(len, look.sides))
            looks.append(look if room >= 0 else replace(look, sides=None))
        return looks

    async def _look_at(self, wish: Wish, aim: Aim) -> _Look:
        """What restoring one file would come to, with nothing changed."""
        look = _Look(aim, recorded.path_of(self._rooted, self._roots, aim.path))

        def compute(old: Old) -> Plan:
            nonlocal look
            plan = self._plan(wish, aim, old)
            sides = None if isinstance(plan, Keep) else sides_of(old, plan)
            look = replace(look, found=_found(old), sides=sides)
            return plan

        try:
            changed = await self._changer.change(self._request(wish, look.path, None, dry_run=True), compute)
        except Fault as fault:
            if fault.slug in _STOPS:
                raise
            return replace(look, fault=fault)
        return replace(look, changed=changed)

    async def _make(self, wish: Wish, look: _Look, granted: Granted, was_asked: bool) -> Restored:
        """Restore one file. Where a person was asked, only if it still is what they were shown."""

        def compute(old: Old) -> Plan:
            if was_asked and _found(old) != look.found:
                raise _exchanged(look.path)
            return self._plan(wish, look.aim, old)

        try:
            changed = await self._changer.change(self._request(wish, look.path, granted), compute)
        except Fault as fault:
            return Restored(look.path, None, fault)
        return Restored(look.path, changed)

    def _plan(self, wish: Wish, aim: Aim, old: Old) -> Plan:
        history = self._journal.required(display.name(aim.path))
        return aims.plan(aim, history, old, recorded.real_of(self._rooted, aim.path), force=wish.force)

    def _request(self, wish: Wish, path: WsPath, granted: Granted | None, *, dry_run: bool = False) -> Request:
        return Request(
            session=wish.session,
            path=path,
            verb="restore",
            method=wish.method,
            params=wish.params,
            cancelled=wish.cancelled,
            task=wish.task,
            op=wish.op,
            dry_run=dry_run,
            confirm=_REASON,
            granted=granted,
            action="restore",
            waits=wish.waits,
        )


def _found(old: Old) -> tuple[str, tuple[int, int] | None]:
    """What tells one file from another: its hash, and its device and inode."""
    return old.sha256(), None if old.stamp is None else (old.stamp.dev, old.stamp.ino)


def _question(wish: Wish, goal: Goal, looks: Sequence[_Look]) -> Question:
    """The whole call, for a person to look at. Its digest covers what every file is and would become."""
    changes = [look for look in looks if look.is_change]
    state = [[display.to_path_bytes(look.aim.path), look.found, look.aim.label] for look in changes]
    return Question(
        actor=wish.session.actor,
        method=wish.method,
        params=wish.params,
        target=Target(goal.name, hashlib.sha256(msgspec.json.encode(state)).hexdigest()),
        reason=_REASON,
        diff=_diff(changes),
        task=wish.task,
        waits=wish.waits,
    )


def _diff(changes: Sequence[_Look]) -> str:
    """All diffs in one bounded text; a file that is too large for one is named."""
    rows: list[diff.DiffLine] = []
    for look in changes:
        if look.sides is None:
            rows.append(diff.DiffLine("header", f"{look.path.given}: too large to be shown"))
            continue
        made = diff.unified(look.path.given, *look.sides)
        rows += made or [diff.DiffLine("header", f"{look.path.given}: an empty file")]
    kept, _cut = diff.bounded(rows, limits.DIFF_DISPLAY_MAX_CHARS)
    return "\n".join(row.text for row in kept)


def _exchanged(path: WsPath) -> Fault:
    return Fault(
        Slug.CONFLICT,
        f"{path.given} was changed after the person had confirmed. It was left as it is; look at it, then call again.",
    )
