"""approvals.* and editor.*: what only the person beside the agents may do."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.files.policy import Access
from picoclawd.files.threads import Lane
from picoclawd.rpc.rows import Answer, Caller, House, NoParams, Row
from picoclawd.text import display
from picoclawd.tools._spec import PathBytesParam


class AnswerParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of approvals.answer."""

    id: str
    digest: Annotated[str, msgspec.Meta(description="The request's, as approvals.list shows it.")]
    answer: Annotated[
        Literal["once", "task", "deny"],
        msgspec.Meta(description='"task": this session and this method, until its task ends or 30 minutes have gone.'),
    ]
    via: (
        Annotated[
            Literal["elicitation"],
            msgspec.Meta(description="Recorded: the person answered in an MCP host, which passed it on."),
        ]
        | UnsetType
    ) = UNSET


class EditorParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of editor.dirty and editor.clean."""

    path: str = ""
    path_bytes: PathBytesParam | UnsetType = UNSET


def _list(house: House, caller: Caller, params: NoParams) -> Answer:
    return {"pending": house.workspace.confirmations.pending(caller.actor)}


def _answer(house: House, caller: Caller, params: AnswerParams) -> Answer:
    via = None if params.via is UNSET else params.via
    return house.workspace.confirmations.answer(caller.actor, params.id, params.digest, params.answer, via)


async def _dirty(house: House, caller: Caller, params: EditorParams) -> Answer:
    real = await _real(house, params)
    house.workspace.editors.dirty(caller.actor, caller.guest, real)
    return {"path": display.data_name(real)[0], "dirty": True}


async def _clean(house: House, caller: Caller, params: EditorParams) -> Answer:
    real = await _real(house, params)
    house.workspace.editors.clean(caller.actor, caller.guest, real)
    return {"path": display.data_name(real)[0], "dirty": False}


async def _real(house: House, params: EditorParams) -> bytes:
    """The file's real path, also of one that does not exist yet."""
    workspace = house.workspace
    path = workspace.parse(params.path, None if params.path_bytes is UNSET else params.path_bytes)
    foreseen = await workspace.threads.run(Lane.READ, workspace.rooted.foresee, path, Access.READ_OR_ASK)
    return foreseen.real


ROWS = (
    Row("approvals.list", "What waits for a person's answer.", NoParams, _list, operator_only=True),
    Row("approvals.answer", "Answer a request.", AnswerParams, _answer, operator_only=True),
    Row(
        "editor.dirty",
        "Say that an editor has unsaved text of a file.",
        EditorParams,
        _dirty,
        operator_only=True,
        in_lane=True,
    ),
    Row("editor.clean", "Say that it has none any more.", EditorParams, _clean, operator_only=True, in_lane=True),
)
