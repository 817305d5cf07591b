"""history.undo: a person takes back all that a task, a session, or the last minutes changed."""

from typing import Annotated

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.rpc.history import Chosen, filter_of, path_of
from picoclawd.rpc.rows import Answer, Caller, House, Row
from picoclawd.tools._call import view_of
from picoclawd.tools._render import Renderer
from picoclawd.tools._restored import answer_of
from picoclawd.workspace.restoring import Goal, Wish


class UndoParams(Chosen, frozen=True, kw_only=True):
    """Parameters of history.undo."""

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
        waits=caller.exchange.waits,
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
    wanted = await filter_of(house, "history.undo", params)
    if wanted.task_id is not None:
        return await workspace.restorer.of_task(caller.session.session_id, wanted.task_id, path_of(house, params))
    name = f"all since {params.from_}" if wanted.session_id is None else f"session {wanted.session_id}"
    goal = await workspace.restorer.of_changes(wanted, name.encode("utf-8", "replace"))
    if not goal.aims and wanted.session_id is not None:
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
