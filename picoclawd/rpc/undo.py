"""history.undo: a person takes back all that a task, a session, or the last minutes changed."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, Slug
from picoclawd.files.threads import Lane
from picoclawd.history.query import Filter
from picoclawd.rpc.rows import Answer, Caller, House, Row
from picoclawd.tools._call import view_of
from picoclawd.tools._render import Renderer
from picoclawd.tools._restored import answer_of
from picoclawd.tools._spec import PathBytesParam
from picoclawd.workspace import recorded
from picoclawd.workspace.moments import moment_ns
from picoclawd.workspace.restoring import Goal, Wish


class UndoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of history.undo: whose changes; `path` narrows them to one file."""

    task_id: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    from_: (
        Annotated[str, msgspec.Meta(description="All since this local time: a date, a date and a time, ISO 8601.")]
        | UnsetType
    ) = msgspec.field(default=UNSET, name="from")
    path: str | UnsetType = UNSET
    path_bytes: PathBytesParam | UnsetType = UNSET
    force: Annotated[bool, msgspec.Meta(description="Undo also where somebody else changed the file since.")] = False


async def _undo(house: House, caller: Caller, params: UndoParams) -> Answer:
    workspace = house.workspace
    wish = Wish(
        session=caller.session,
        method="history.undo",
        params=msgspec.to_builtins(params),
        cancelled=caller.exchange.cancelled,
        op=caller.exchange.meta.get("op"),
        force=params.force,
        dry_run=caller.exchange.meta.get("dry_run") is True,
    )
    goal = await _goal(house, caller, params)
    done = await workspace.restorer.restore(wish, goal)
    for each in done:
        workspace.reader.forget(each.path)
    text, data = answer_of(done, Renderer(view_of(caller.session, workspace)), dry_run=wish.dry_run)
    return {"content": f"Undo({goal.name.decode('utf-8', 'replace')})\n{text}", "display": None, "data": data}


async def _goal(house: House, caller: Caller, params: UndoParams) -> Goal:
    """What is to be undone. Raises: invalid_params, unknown_session, unknown_task."""
    workspace = house.workspace
    given = [each for each in (params.task_id, params.session_id, params.from_) if each is not UNSET]
    if len(given) != 1:
        raise Fault(Slug.INVALID_PARAMS, "history.undo takes one of `task_id`, `session_id` and `from`.", path="$")
    path = None
    if params.path is not UNSET or params.path_bytes is not UNSET:
        path_bytes = None if params.path_bytes is UNSET else params.path_bytes
        path = workspace.parse("" if params.path is UNSET else params.path, path_bytes)
    if params.task_id is not UNSET:
        return await workspace.restorer.of_task(caller.session.session_id, params.task_id, path)
    paths = None
    if path is not None:
        paths = [await workspace.threads.run(Lane.READ, recorded.name_at, workspace.rooted, path)]
    if params.session_id is not UNSET:
        wanted, name = Filter(paths, session_id=params.session_id), f"session {params.session_id}"
    else:
        assert params.from_ is not UNSET
        wanted, name = Filter(paths, from_ns=moment_ns(params.from_, "from")), f"all since {params.from_}"
    goal = await workspace.restorer.of_changes(wanted, name.encode("utf-8", "replace"))
    if not goal.aims and params.session_id is not UNSET:
        raise Fault(
            Slug.UNKNOWN_SESSION,
            "no change of a session of this id is recorded: it changed nothing, or its time to be kept is over.",
        )
    return goal


ROWS = (
    Row(
        "history.undo",
        "Take back all that a task or a session changed, or all since a time.",
        UndoParams,
        _undo,
        operator_only=True,
        mutating=True,
    ),
)
