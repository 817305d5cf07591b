"""Tasks: what a session says it is working on, so that its changes can be found, approved and undone together."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.text import display
from picoclawd.workspace.actors import Actor
from picoclawd.workspace.sessions import checked_label

CURRENT = "current"  # what tools call the task that runs now
ENDED_KEPT = 10_000  # ended tasks whose owner is remembered; history knows the rest


class Task(msgspec.Struct, frozen=True):
    """One task. `opens_scope`: a person may approve a method for all of it; not so where it had ended before."""

    task_id: str
    session_id: str
    objective: str
    begun_at: float
    opens_scope: bool = True


def _unrecorded(task_id: str) -> str | None:
    return None


class Tasks:
    """The current task of every session, and who began which. Loop only.

    `recorded_by` tells which session began a task that is no longer remembered here, from history; None for nobody.
    """

    def __init__(
        self, recorded_by: Callable[[str], str | None] = _unrecorded, clock: Callable[[], float] = time.time
    ) -> None:
        self._recorded_by = recorded_by
        self._clock = clock
        self._current: dict[str, Task] = {}
        self._open: dict[str, Task] = {}
        self._ended: OrderedDict[str, str] = OrderedDict()

    def begin(self, actor: Actor, objective: str, task_id: str | None = None) -> Task:
        """Make a task the session's current one; the one before it, if any, ends: ask `current` first.

        An own task may be named again, running or ended: its changes stay together, but once it has ended it opens
        no approvals scope any more.

        Raises: invalid_params for an id that another session began, one that is empty, over
        limits.TASK_ID_MAX_CHARS or not printable, and for an objective as `checked_label` has it.
        """
        objective = checked_label("objective", objective)
        if task_id is None:
            task_id = f"t-{secrets.token_hex(6)}"
        else:
            self._check_id(actor, task_id)
        running = self._open.get(task_id)
        if running is not None:
            task = replace(running, objective=objective)
        else:
            task = Task(task_id, actor.session_id, objective, self._clock(), opens_scope=self._owner(task_id) is None)
            self.end_session(actor.session_id)
        self._current[actor.session_id] = self._open[task_id] = task
        return task

    def end(self, actor: Actor, task_id: str | None = None) -> Task:
        """End the session's current task, which `task_id` may name; returns it.

        Raises: unknown_task where it is not the session's current one.
        """
        task = self._current.get(actor.session_id)
        if task is None or task_id not in (None, CURRENT, task.task_id):
            named = "no task is running" if task_id is None else f"{task_id!r} is not the task that runs"
            raise Fault(
                Slug.UNKNOWN_TASK,
                f"{named} in this session: it has ended, or was never begun. Nothing to end; task.begin starts one.",
            )
        self.end_session(actor.session_id)
        return task

    def current(self, session_id: str) -> Task | None:
        """The task that the session is working on."""
        return self._current.get(session_id)

    def is_open(self, task_id: str) -> bool:
        """Whether the task has begun and not ended."""
        return task_id in self._open

    def named(self, session_id: str, task_id: str) -> str:
        """The id of a task that a caller names: `current` is the session's own that runs now.

        Raises: unknown_task where none does.
        """
        if task_id != CURRENT:
            return task_id
        task = self.current(session_id)
        if task is None:
            raise Fault(
                Slug.UNKNOWN_TASK,
                "no task runs in this session, so there is no current one. file_history names the task of each change: "
                "pass that as `task_id`.",
            )
        return task.task_id

    def knows(self, task_id: str) -> bool:
        """Whether the task was begun here, and is remembered: it may have changed nothing."""
        return task_id in self._open or task_id in self._ended

    def end_session(self, session_id: str) -> Task | None:
        """End whatever the session has running; returns it."""
        task = self._current.pop(session_id, None)
        if task is not None:
            del self._open[task.task_id]
            self._ended[task.task_id] = session_id
            if len(self._ended) > ENDED_KEPT:
                self._ended.popitem(last=False)
        return task

    def _check_id(self, actor: Actor, task_id: str) -> None:
        if not task_id.strip() or len(task_id) > limits.TASK_ID_MAX_CHARS or not task_id.isprintable():
            raise _bad_id(f"`task_id` takes 1 to {limits.TASK_ID_MAX_CHARS} printable characters.")
        if task_id == CURRENT:
            raise _bad_id(f'"{CURRENT}" means the task that runs now: choose another `task_id`, or leave it out.')
        if self._owner(task_id) not in (None, actor.session_id):
            raise _bad_id("another session began a task of this id: choose another `task_id`, or leave it out.")

    def _owner(self, task_id: str) -> str | None:
        running = self._open.get(task_id)
        if running is not None:
            return running.session_id
        return self._ended.get(task_id) or self._recorded_by(task_id)


def unknown_task(task_id: str) -> Fault:
    """The fault of a task that neither a session nor history knows."""
    shown = display.name(task_id.encode("utf-8", "replace"))
    return Fault(
        Slug.UNKNOWN_TASK,
        f"there is no task {shown}: it was never begun, or the time to keep what it changed is over. file_history "
        "names the task of each change.",
    )


def _bad_id(message: str) -> Fault:
    return Fault(Slug.INVALID_PARAMS, message, path="$.task_id")
