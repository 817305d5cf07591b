"""restore_file: take a file back to a recorded version, or all files that a task touched to before it."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, Slug
from picoclawd.files.paths import WsPath
from picoclawd.files.threads import Lane
from picoclawd.text import display
from picoclawd.text.calls import call_line
from picoclawd.tools._diffs import shown_diff
from picoclawd.tools._failure import ChangeFailure, change_failure_of
from picoclawd.tools._spec import (
    WRITES,
    Call,
    Cleaner,
    Deferred,
    PathBytesParam,
    Plain,
    Result,
    Settings,
    tool,
)
from picoclawd.tools._write import refuse_subagent
from picoclawd.workspace import recorded
from picoclawd.workspace.restoring import Goal, Restored, Wish

_ACTIONS: dict[str, Literal["created", "modified", "removed", "unchanged"]] = {
    "created": "created",
    "replaced": "modified",
    "removed": "removed",
    "unchanged": "unchanged",
}


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of restore_file."""

    version: (
        Annotated[
            int,
            msgspec.Meta(
                ge=1, description="From file_history: the file as it was right after it. Wins over `task_id`."
            ),
        ]
        | UnsetType
    ) = UNSET
    task_id: (
        Annotated[str, msgspec.Meta(description='Undo this whole task; "current" is the one that runs now.')]
        | UnsetType
    ) = UNSET
    path: Annotated[str, msgspec.Meta(description="With `task_id`: undo it in this file only.")] | UnsetType = UNSET
    path_bytes: PathBytesParam | UnsetType = UNSET
    force: Annotated[
        bool, msgspec.Meta(description="Restore also where somebody else changed the file since; that is recorded.")
    ] = False


class FileData(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file. `version` is the restore's own, which history lists."""

    path: str
    path_bytes: str | UnsetType = UNSET
    action: Literal["created", "modified", "removed", "unchanged", "failed"]
    version: int | None
    restorable: bool | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    error: ChangeFailure | UnsetType = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """One row for each file, by path."""

    files: list[FileData]
    dry_run: bool | UnsetType = UNSET
    rows_cut: int | UnsetType = UNSET


def _check(settings: Settings, params: dict[str, Any]) -> None:
    """Refuse a call that names no state."""
    if params.get("version") is None and params.get("task_id") is None:
        raise Fault(
            Slug.INVALID_PARAMS,
            "restore_file takes a `version` from file_history (the file as it was right after that change), or a "
            '`task_id` ("current" for the running task) to undo all that the task changed.',
            path="$",
        )


@tool(
    title="Restore files",
    hints=WRITES,
    params=Params,
    data=Data,
    settings=Settings,
    check=_check,
    rows_field="files",
)
async def restore_file(call: Call[Settings], params: Params) -> Deferred:
    """Bring a recorded version of a file back, or undo everything that a task changed.

    `version` (a row of file_history names it) is the state right after that change; the version of a removal brings
    the removed file back. `task_id` takes every file that the task touched to before its first change: changed ones
    back, created ones to the trash, removed ones back to their place; with `path` only that file. A file that cannot
    be restored is reported, the others are restored. A file that somebody else changed since is left alone unless
    you pass `force: true`. A restore is recorded, too, so it can be undone. A person confirms every call; an answer
    `confirmation_pending` means to repeat the very same call later. Not for subagents.
    """
    refuse_subagent(call)
    path = _path(call, params)
    goal = await _goal(call, params, path)
    wish = Wish(
        session=call.session,
        method=call.tool,
        params=call.given,
        cancelled=call.cancelled,
        task=call.task,
        op=call.op,
        force=params.force,
        dry_run=call.dry_run,
    )
    done = await call.workspace.restorer.restore(wish, goal)
    for each in done:
        call.workspace.reader.forget(each.path)
    if len(done) == 1 and done[0].fault is not None and (path is not None or params.version is not UNSET):
        raise done[0].fault
    return Deferred(lambda cleaner: _result(call, goal, done, cleaner))


def _path(call: Call[Settings], params: Params) -> WsPath | None:
    if params.path_bytes is not UNSET:
        return call.workspace.parse("", params.path_bytes)
    return None if params.path is UNSET else call.workspace.parse(params.path)


async def _goal(call: Call[Settings], params: Params, path: WsPath | None) -> Goal:
    workspace = call.workspace
    if params.version is UNSET:
        assert params.task_id is not UNSET  # `_check` saw to it
        return await workspace.restorer.of_task(call.session.session_id, params.task_id, path)
    goal = await workspace.restorer.of_version(params.version)
    if path is not None:
        name = await workspace.threads.run(Lane.READ, recorded.name_at, workspace.rooted, path)
        if name != goal.aims[0].path:
            raise Fault(
                Slug.INVALID_PARAMS,
                f"version {params.version} is not a version of {path.given}. Nothing was done. Leave `path` out, or "
                "take a version that file_history lists for this path.",
                path="$.version",
            )
    return goal


def _result(call: Call[Settings], goal: Goal, done: list[Restored], cleaner: Cleaner) -> Result:
    rows = [call_line(call.tool, call.given, goal.name)]
    if not done:
        rows.append("The task changed no file: there is nothing to undo.")
    for each in done:
        rows.append(_row(each, call.dry_run))
        if call.dry_run and each.sides is not None and each.fault is None:
            rows += filter(None, [shown_diff(cleaner, each.path.given, *each.sides)])
    text = "\n".join(rows)
    data = Data(files=[_file_data(each) for each in done], dry_run=call.dry_run or UNSET)
    return Result(data, body=(Plain(text),), display=(Plain(text),))


def _row(each: Restored, dry_run: bool) -> str:
    name = each.path.given
    if each.fault is not None:
        return f"[{each.fault.slug.value}] {name}: " + " ".join(each.fault.message.splitlines())
    assert each.changed is not None  # one of the two is always there
    action = _ACTIONS[each.changed.action]
    if action == "unchanged":
        return f"unchanged {name}: it is in that state already"
    if dry_run:
        return f"would be {action}: {name}"
    if each.changed.version is None or not each.changed.restorable:
        return f"{action} {name} (this cannot be undone: {each.changed.reason})"
    return f"{action} {name} (version {each.changed.version})"


def _file_data(each: Restored) -> FileData:
    relative = each.path.absolute if each.path.relative is None else each.path.relative
    name, path_bytes = display.data_name(relative)
    encoded = UNSET if path_bytes is None else path_bytes
    if each.changed is None or each.fault is not None:
        failure = UNSET if each.fault is None else change_failure_of(each.fault)
        return FileData(path=name, path_bytes=encoded, action="failed", version=None, error=failure)
    changed = each.changed
    recorded_now = changed.version is not None
    return FileData(
        path=name,
        path_bytes=encoded,
        action=_ACTIONS[changed.action],
        version=changed.version,
        restorable=changed.restorable if recorded_now else UNSET,
        reason=changed.reason or UNSET,
    )
