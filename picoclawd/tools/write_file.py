"""write_file: create a file, or rewrite it where that loses nothing, or where the caller says so."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.text import display, redact, syntax
from picoclawd.tools._names import names_of
from picoclawd.tools._spec import WRITES, Call, IfMatchParam, PathBytesParam, PathParam, Result, Settings, tool
from picoclawd.tools._write import guard_of, refuse_mask, request_for
from picoclawd.workspace import freshness
from picoclawd.workspace.change import Changed, Request
from picoclawd.workspace.freshness import Guard
from picoclawd.workspace.plans import Append, Keep, Old, Plan, Replace

Action = Literal["created", "overwritten", "appended", "unchanged"]

_ACTIONS: dict[str, Action] = {
    "created": "created",
    "replaced": "overwritten",
    "appended": "appended",
    "unchanged": "unchanged",
}


class WriteFileSettings(Settings, frozen=True, kw_only=True):
    """tools.write_file.*"""

    refuse_known_stale: Annotated[
        bool, msgspec.Meta(description="Refuse to overwrite a file that this session read and that changed since.")
    ] = True


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of write_file."""

    path: PathParam
    content: Annotated[
        str,
        msgspec.Meta(description="The whole content. JSON escaping: \\n is a newline, \\\\n a backslash and an n."),
    ]
    overwrite: Annotated[
        bool,
        msgspec.Meta(description="Replace an existing file, discarding what it holds. Not needed for new files."),
    ] = False
    path_bytes: PathBytesParam | UnsetType = UNSET
    if_match: IfMatchParam | UnsetType = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. `verified`: the bytes on disk were compared with the content."""

    success: bool
    action: Action
    path: str
    path_bytes: str | UnsetType = UNSET
    resolved_path: str
    bytes_written: int
    verified: bool
    sha256: str | None
    version: int | None
    hardlinks: int
    restorable: bool
    reason: str | UnsetType = UNSET
    syntax: Literal["ok"] | UnsetType = UNSET
    syntax_error: str | UnsetType = UNSET
    note: str | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET


@tool(title="Write a file", hints=WRITES, params=Params, data=Data, settings=WriteFileSettings)
async def write_file(call: Call[WriteFileSettings], params: Params) -> Result:
    """Create a file with its full content, directories included.

    Needs no flag for a new file, for identical content, and for content that only adds to the end of what is
    there. Anything else over an existing file is refused with `file_exists` until you pass `overwrite: true`, which
    discards the current contents. Prefer edit_file for a targeted change and append_file to add at the end, while
    they are enabled. In JSON write `\\n` for a newline and `\\\\n` for a backslash followed by n. `syntax_error` in
    the answer is advice: the file was written.
    """
    request = request_for(call, params.path, params.path_bytes, params.if_match, "write")
    content = params.content.encode()
    notes: list[str] = []

    def compute(old: Old) -> Plan:
        notes.clear()
        plan = _plan(call, params, request, content, old, guard_of(call, request, old))
        if isinstance(plan, Replace) and old.exists:
            notes.extend(_notes(old, content))
        return plan

    try:
        changed = await call.workspace.changer.change(request, compute)
    except Fault as fault:
        if fault.slug in (Slug.READ_BACK_FAILED, Slug.READ_BACK_MISMATCH):
            raise _unverified(fault, request, content) from fault
        raise
    call.workspace.reader.forget(request.path)
    return Result(_data(call, request, changed, content, notes))


def _plan(
    call: Call[WriteFileSettings], params: Params, request: Request, content: bytes, old: Old, guard: Guard
) -> Plan:
    if not old.exists:
        return Replace(content)
    # Only content at least as long as the file can be the same or begin with it: nothing else needs to be read.
    known = old.data if old.size <= len(content) else None
    if known == content:
        return Keep()
    if known is not None and content.startswith(known):
        refuse_mask(request.path.given, known, content)
        return Replace(content) if old.hardlinks > 1 else Append(content[len(known) :])
    if not params.overwrite:
        raise _exists(call, request, content, old)
    if call.settings.refuse_known_stale:
        freshness.check_overwrite(guard, old)
    if any(marker in params.content for marker in redact.MARKERS):
        refuse_mask(request.path.given, old.data, content)
    return Replace(content)


def _exists(call: Call[WriteFileSettings], request: Request, content: bytes, old: Old) -> Fault:
    others = [name for name in ("edit_file", "append_file") if name in call.enabled]
    recommended = others[0] if others else "overwrite"
    given = request.path.given
    advice = f"Use {' or '.join(others)} to keep what is there, or pass" if others else "Pass"
    return Fault(
        Slug.FILE_EXISTS,
        f"file already exists\n{given} holds {old.size} bytes, which are not the beginning of the new content. "
        f"{advice} overwrite=true, which discards its current contents.",
        next_call=NextCall(recommended, {"path": given}) if others else None,
        **names_of(request.path, old.real),
        recommended_action=recommended,
        available_actions=[*others, "overwrite"],
        existing_bytes=old.size,
        new_bytes=len(content),
        overwrite_required=True,
    )


def _notes(old: Old, content: bytes) -> list[str]:
    notes: list[str] = []
    if old.size <= 3 or content.startswith(b"\xef\xbb\xbf"):
        return notes
    if old.data.startswith(b"\xef\xbb\xbf"):
        notes.append("the file began with a byte order mark and does so no longer")
    return notes


def _unverified(fault: Fault, request: Request, content: bytes) -> Fault:
    return Fault(
        fault.slug,
        fault.message,
        outcome="unknown",
        success=False,
        **names_of(request.path, request.path.absolute),
        bytes_written=len(content),
        verified=False,
        message=fault.message,
        **{"action": "overwritten", **fault.data},
    )


def _data(call: Call[WriteFileSettings], request: Request, changed: Changed, content: bytes, notes: list[str]) -> Data:
    checked = syntax.check(display.data_name(changed.real)[0], content)
    return Data(
        success=True,
        action=_ACTIONS[changed.action],
        **names_of(request.path, changed.real),
        bytes_written=changed.bytes_written,
        verified=not call.dry_run,
        sha256=changed.sha256,
        version=changed.version,
        hardlinks=changed.hardlinks,
        restorable=changed.restorable,
        reason=changed.reason or UNSET,
        syntax="ok" if checked is syntax.Verdict.OK else UNSET,
        syntax_error=UNSET if isinstance(checked, syntax.Verdict) else checked.message,
        note="; ".join(notes) or UNSET,
        dry_run=call.dry_run or UNSET,
    )
