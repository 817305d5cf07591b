"""file_history: what tools changed, when, for what, and what the files held."""

from msgspec import UNSET

from picoclawd.files.paths import WsPath
from picoclawd.tools._history_list import listed
from picoclawd.tools._history_params import Data, Params, check, paths
from picoclawd.tools._history_read import compared
from picoclawd.tools._spec import READS, Call, Deferred, Result, Settings, tool


@tool(
    title="History of files",
    hints=READS,
    params=Params,
    data=Data,
    settings=Settings,
    paths=paths,
    check=check,
    rows_field="versions",
    omit_base64=False,
)
async def file_history(call: Call[Settings], params: Params) -> Result | Deferred:
    """Recorded versions of the files that tools changed: when, by whom, for what, and what they held.

    mode=list (the default) lists changes, newest first; narrow it with `path` (one or a list), `task_id`, `from` and
    `to`; a footer names the `before` for older ones. mode=read compares the newest version of each `path` that a tool
    made, or one `version`, with the disk now: `drifted` says that something else changed the file since, and the diff
    shows what; with `content: true` it shows what the file held. restore_file takes the version numbers. Changes by
    other programs are recorded, as `external`, when a tool next changes the file. Secrets are shown as [FILTERED].
    """
    given = _given(call, params)
    if params.mode == "read":
        return await compared(call, params, given or ())
    return await listed(call, params, given)


def _given(call: Call[Settings], params: Params) -> list[WsPath] | None:
    """The paths that the call names; None where it names none. Raises: invalid_path."""
    if params.path_bytes is not UNSET:
        return [call.workspace.parse("", params.path_bytes)]
    if params.path is UNSET:
        return None
    given = [params.path] if isinstance(params.path, str) else params.path
    return [call.workspace.parse(each) for each in given]
