"""session.* and task.*: who a connection is, and what it is working on."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.rpc.rows import Answer, Caller, House, NoParams, Row
from picoclawd.text import display
from picoclawd.workspace.actors import Kind
from picoclawd.workspace.sessions import checked_label
from picoclawd.workspace.tasks import Task


class OpenParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of session.open."""

    client: Annotated[str, msgspec.Meta(description="Who is calling, for people to read.")] = ""
    kind: Annotated[Kind, msgspec.Meta(description='"agent" or "subagent": binds honest hosts only.')] = Kind.AGENT
    resume: Annotated[str, msgspec.Meta(description="The token of an earlier session.")] | UnsetType = UNSET


class BeginParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of task.begin."""

    objective: Annotated[str, msgspec.Meta(description="What the task is after, in the words a person would use.")]
    task_id: Annotated[str, msgspec.Meta(description="A name of your own for it.")] | UnsetType = UNSET


class EndParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of task.end."""

    task_id: Annotated[str, msgspec.Meta(description="The task that runs now. Default: that.")] | UnsetType = UNSET


def _open(house: House, caller: Caller, params: OpenParams) -> Answer:
    sessions, feed = house.workspace.sessions, house.workspace.feed
    if params.resume is UNSET:
        token = sessions.open(caller.session, params.client, params.kind)
        kind = "session.opened"
    else:
        checked_label("client", params.client)
        caller.guest.session, token = sessions.resume(caller.session, params.resume, params.kind)
        kind = "session.resumed"
    actor = caller.actor
    feed.tell(
        kind,
        {
            "session_id": actor.session_id,
            "client": actor.client,
            "kind": actor.kind.value,
            "role": actor.role.value,
            "pid": actor.peer_pid,
        },
    )
    return {**_info(house, caller, NoParams()), "resume": token}


def _info(house: House, caller: Caller, params: NoParams) -> Answer:
    actor = caller.actor
    task = house.workspace.tasks.current(actor.session_id)
    return {
        "session_id": actor.session_id,
        "client": actor.client,
        "kind": actor.kind.value,
        "role": actor.role.value,
        "workspace": display.data_name(house.workspace.root)[0],
        "task_id": None if task is None else task.task_id,
        "limits": house.facts.request_limits,
        "tools": sorted(house.toolbox.names),
    }


def _close(house: House, caller: Caller, params: NoParams) -> Answer:
    closed = caller.session
    caller.guest.session = house.workspace.sessions.close(closed)
    return {"closed": closed.session_id}


async def _begin(house: House, caller: Caller, params: BeginParams) -> Answer:
    workspace = house.workspace
    task_id = None if params.task_id is UNSET else params.task_id
    if task_id is not None:
        await workspace.know_owner(task_id)
    before = workspace.tasks.current(caller.session.session_id)
    task = workspace.tasks.begin(caller.actor, params.objective, task_id)
    if before is not None and before.task_id != task.task_id:
        workspace.confirmations.end_task(caller.session.session_id)
    return _row(task)


def _end(house: House, caller: Caller, params: EndParams) -> Answer:
    task = house.workspace.tasks.end(caller.actor, None if params.task_id is UNSET else params.task_id)
    house.workspace.confirmations.end_task(caller.session.session_id)
    return _row(task)


def _row(task: Task) -> Answer:
    return {"task_id": task.task_id, "objective": task.objective}


ROWS = (
    Row("session.open", "Name the client, and get a token that resumes the session.", OpenParams, _open),
    Row("session.info", "Who this connection is taken for.", NoParams, _info),
    Row("session.close", "End the session; its token opens nothing any more.", NoParams, _close),
    Row(
        "task.begin",
        "Say what the session is working on: its changes belong together from now on.",
        BeginParams,
        _begin,
    ),
    Row("task.end", "End the task.", EndParams, _end),
)
