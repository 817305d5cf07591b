"""restore_file: take a file back to a recorded version, or all files that a task touched to before it."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, Slug
from picoclawd.files.paths import WsPath
from picoclawd.files.threads import Lane
from picoclawd.text.calls import call_line
from picoclawd.tools._restored import FileData, file_data, text_of
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
        waits=call.waits,
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
    title = call_line(call.tool, call.given, goal.name)
    text = f"{title}\n{text_of(done, cleaner, dry_run=call.dry_run)}"
    data = Data(files=[file_data(each) for each in done], dry_run=call.dry_run or UNSET)
    return Result(data, body=(Plain(text),), display=(Plain(text),))
