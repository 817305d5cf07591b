"""What a file is to go back to, and how, by what lies there now. Blocking: history is asked under the path's lock."""

from typing import Any, Literal

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.history.query import Filter
from picoclawd.history.records import Version
from picoclawd.history.store import History
from picoclawd.text import display
from picoclawd.workspace.events import OUTSIDE
from picoclawd.workspace.plans import Keep, Old, Plan, Remove, Replace, Retrieve


class Aim(msgspec.Struct, frozen=True):
    """The state of one file right before or right after a version. `others_after` is the newest version by somebody
    else that would be undone, too."""

    version: Version
    side: Literal["before", "after"]
    others_after: Version | None = None

    @property
    def path(self) -> bytes:
        """The file, as history calls it."""
        return self.version.path

    @property
    def exists(self) -> bool:
        """Whether there is a file in that state."""
        return self.version.existed if self.side == "before" else self.version.exists

    @property
    def sha256(self) -> str | None:
        """Its hash, where one was taken."""
        return self.version.sha256_before if self.side == "before" else self.version.sha256_after

    @property
    def size_bytes(self) -> int | None:
        """Its size; None where there is no file."""
        return self.version.size_before_bytes if self.side == "before" else self.version.size_bytes

    @property
    def restorable(self) -> bool:
        """Whether that state can be had."""
        return self.version.undoable if self.side == "before" else self.version.restorable

    @property
    def label(self) -> str:
        """Which state it is, for a digest of what a person confirms."""
        return f"{self.side} {self.version.version} {self.sha256 or self.size_bytes}"


def of_version(history: History, number: int) -> Aim:
    """The state right after a version; of a deletion, that the removed file is back.

    Raises: unknown_version, history_unavailable.
    """
    version = history.version(number)
    return Aim(version, "before" if version.action == "delete" else "after")


def before_all(history: History, wanted: Filter) -> list[Aim]:
    """The state of each file before the first of some changes, a task's or a session's, by path."""
    made = history.touched(wanted)
    return [Aim(made[path].first, "before", made[path].others_after) for path in sorted(made)]


def plan(aim: Aim, history: History, old: Old, real: bytes, *, force: bool) -> Plan:
    """How the file as it is gets to the aim. `real` is where the aim's file lay: nothing else is overwritten.

    Raises: conflict where a link leads elsewhere and, without `force`, where somebody else changed the file since;
    history_unavailable where the state is not kept; too_large.
    """
    if old.real != real:
        raise _elsewhere(aim)
    if _is_reached(aim, old):
        return Keep()
    if not aim.restorable:
        raise _not_kept(aim, aim.version.reason or "its content is not kept")
    if not force:
        _refuse_conflict(aim, history, old)
    if not aim.exists:
        return Remove()
    return _bring_back(aim, history, old)


def content_of(aim: Aim, history: History) -> bytes | None:
    """The bytes of the state; None where there is no file, or they are not kept. Raises: unknown_version."""
    number = aim.version.version
    return history.content_before(number) if aim.side == "before" else history.content_after(number)


def _is_reached(aim: Aim, old: Old) -> bool:
    if not aim.exists or not old.exists:
        return aim.exists == old.exists
    return aim.sha256 is not None and old.size == aim.size_bytes and old.sha256() == aim.sha256


def _bring_back(aim: Aim, history: History, old: Old) -> Plan:
    number = aim.version.version
    trashed = history.trashed(number) if aim.side == "before" and not old.exists else None
    if trashed is not None:
        if trashed.size_bytes > limits.SHA256_MAX_BYTES:
            return Retrieve(number, trashed)
        data = history.trash.read(trashed.name)
        if data is not None:
            return Retrieve(number, trashed, data)
    content = content_of(aim, history)
    if content is None:
        raise _not_kept(aim, "what was kept of it is gone, or too large to replace a file that has its name by now")
    return Replace(content, history.mode_at(number, before=aim.side == "before"))


def _not_kept(aim: Aim, reason: str) -> Fault:
    return Fault(
        Slug.HISTORY_UNAVAILABLE,
        f"{display.name(aim.path)} cannot go back to its state {aim.side} version {aim.version.version}: {reason}. "
        "Nothing was changed. file_history lists the other versions of it.",
        next_call=_look(aim, "list"),
        restorable=False,
        reason=reason,
    )


def _elsewhere(aim: Aim) -> Fault:
    return Fault(
        Slug.CONFLICT,
        f"{display.name(aim.path)} is a symbolic link by now, or lies behind one, so restoring it would change another "
        "file. Nothing was changed. Take the link away first, or write the content elsewhere: file_history with "
        'mode="read", this version and content=true shows it.',
    )


def _refuse_conflict(aim: Aim, history: History, old: Old) -> None:
    """Raises: conflict where the disk is not the newest version, or somebody else made that."""
    last = history.last(aim.path)
    if last is not None and not _is_left(last, old):
        raise _conflict(
            aim, f"a program outside picoclawd changed it since version {last.version}", {"changed_by": OUTSIDE}
        )
    others = aim.others_after
    if others is not None and others.action == "external":
        raise _conflict(aim, f"a program outside picoclawd changed it (version {others.version})", _who(others))
    if others is not None:
        client = f" of {others.client!r}" if others.client else ""
        task = f" for task {others.task_id}" if others.task_id else ""
        who = f"session {others.session_id}{client} changed it with {others.tool}{task} (version {others.version})"
        raise _conflict(aim, f"{who} after the task did", _who(others))


def _is_left(last: Version, old: Old) -> bool:
    """Whether the file is as its last version left it; of one whose outcome nobody knows, also as it found it."""
    if _is(old, last.size_bytes, last.sha256_after):
        return True
    return last.state == "unknown" and _is(old, last.size_before_bytes, last.sha256_before)


def _is(old: Old, size_bytes: int | None, sha256: str | None) -> bool:
    if size_bytes is None or not old.exists:
        return size_bytes is None and not old.exists
    return old.size == size_bytes and sha256 in (None, old.sha256())


def _who(version: Version) -> dict[str, Any]:
    if version.action == "external":
        return {"changed_by": OUTSIDE, "version": version.version}
    by = {"session_id": version.session_id, "client": version.client, "tool": version.tool}
    return {"changed_by": by, "version": version.version}


def _conflict(aim: Aim, what: str, data: dict[str, Any]) -> Fault:
    return Fault(
        Slug.CONFLICT,
        f"{display.name(aim.path)}: {what}, and restoring would undo that, too. Nothing was changed. Look at it with "
        'file_history and mode="read"; to restore all the same, pass force: true (what is there now is recorded '
        "first).",
        next_call=_look(aim, "read"),
        **data,
    )


def _look(aim: Aim, mode: Literal["list", "read"]) -> NextCall:
    name, path_bytes = display.data_name(aim.path)
    where = {"path": name} if path_bytes is None else {"path_bytes": path_bytes}
    return NextCall("file_history", {"mode": mode, **where})
