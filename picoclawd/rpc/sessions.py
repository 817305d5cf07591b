"""session.* and task.*: who a connection is, and what it is working on."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.rpc.rows import Answer, Guest, House, NoParams, Row
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


def _open(house: House, guest: Guest, params: OpenParams) -> Answer:
    sessions, feed = house.workspace.sessions, house.workspace.feed
    if params.resume is UNSET:
        token = sessions.open(guest.session, params.client, params.kind)
        kind = "session.opened"
    else:
        checked_label("client", params.client)
        guest.session, token = sessions.resume(guest.session, params.resume, params.kind)
        kind = "session.resumed"
    actor = guest.actor
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
    return {**_info(house, guest, NoParams()), "resume": token}


def _info(house: House, guest: Guest, params: NoParams) -> Answer:
    actor = guest.actor
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


def _close(house: House, guest: Guest, params: NoParams) -> Answer:
    closed = guest.session
    guest.session = house.workspace.sessions.close(closed)
    return {"closed": closed.session_id}


async def _begin(house: House, guest: Guest, params: BeginParams) -> Answer:
    workspace = house.workspace
    task_id = None if params.task_id is UNSET else params.task_id
    if task_id is not None:
        await workspace.know_owner(task_id)
    before = workspace.tasks.current(guest.session.session_id)
    task = workspace.tasks.begin(guest.actor, params.objective, task_id)
    if before is not None and before.task_id != task.task_id:
        workspace.confirmations.end_task(guest.session.session_id)
    return _row(task)


def _end(house: House, guest: Guest, params: EndParams) -> Answer:
    task = house.workspace.tasks.end(guest.actor, None if params.task_id is UNSET else params.task_id)
    house.workspace.confirmations.end_task(guest.session.session_id)
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
