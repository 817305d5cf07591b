"""append_file: add text at the end of a file, in place."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.text import display
from picoclawd.tools._names import names_of
from picoclawd.tools._spec import ADDS, Call, IfMatchParam, PathBytesParam, PathParam, Plain, Result, Settings, tool
from picoclawd.tools._write import request_for
from picoclawd.workspace.plans import Append, Keep, Old, Plan


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of append_file."""

    path: PathParam
    content: Annotated[str, msgspec.Meta(description="What to add. No newline is added to it.")]
    path_bytes: PathBytesParam | UnsetType = UNSET
    if_match: IfMatchParam | UnsetType = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What was added, and the file's size afterwards."""

    path: str
    path_bytes: str | UnsetType = UNSET
    resolved_path: str
    action: str
    bytes_written: int
    size: int
    version: int | None
    restorable: bool
    reason: str | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET


@tool(title="Append to a file", hints=ADDS, params=Params, data=Data, settings=Settings)
async def append_file(call: Call[Settings], params: Params) -> Result:
    """Add text at the end of a file, which is created, with its directories, where it does not exist.

    Nothing else of the file is touched. No newline is added: end `content` with `\\n` yourself, and begin it with
    one where the file does not end in a newline. In JSON write `\\n` for a newline and `\\\\n` for a backslash
    followed by n.
    """
    request = request_for(call, params.path, params.path_bytes, params.if_match, "append to")
    addition = params.content.encode()

    def compute(old: Old) -> Plan:
        if old.exists and not addition:
            return Keep()
        return Append(addition, refuse_hardlinks=call.workspace.options.restrict)

    changed = await call.workspace.changer.change(request, compute)
    call.workspace.reader.forget(request.path)
    data = Data(
        **names_of(request.path, changed.real),
        action=changed.action,
        bytes_written=changed.bytes_written,
        size=changed.size,
        version=changed.version,
        restorable=changed.restorable,
        reason=changed.reason or UNSET,
        dry_run=call.dry_run or UNSET,
    )
    verb = "Would append to" if call.dry_run else "Appended to"
    return Result(data, body=(Plain(f"{verb} {display.name(request.path.given.encode('utf-8', 'surrogateescape'))}"),))
