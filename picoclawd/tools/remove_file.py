"""remove_file: move one file to the trash, from where restore_file brings it back."""

import os
import stat

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files.handles import kind_of
from picoclawd.files.threads import Lane
from picoclawd.text import display
from picoclawd.text.calls import call_line
from picoclawd.tools._names import names_of
from picoclawd.tools._spec import WRITES, Call, IfMatchParam, PathBytesParam, PathParam, Plain, Result, Settings, tool
from picoclawd.tools._write import refuse_subagent, request_for
from picoclawd.workspace.change import Changed, Request
from picoclawd.workspace.plans import Old, Plan, Remove


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of remove_file."""

    path: PathParam
    path_bytes: PathBytesParam | UnsetType = UNSET
    if_match: IfMatchParam | UnsetType = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """Where the file went (null in a dry run), and the version that brings it back."""

    path: str
    path_bytes: str | UnsetType = UNSET
    resolved_path: str
    moved_to: str | None
    version: int | None
    restorable: bool
    reason: str | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET


@tool(title="Remove a file", hints=WRITES, params=Params, data=Data, settings=Settings)
async def remove_file(call: Call[Settings], params: Params) -> Result:
    """Move one file out of the way, into the trash; restore_file with the answered version brings it back.

    Only when removing is what was asked for: a person confirms every call, so it may take a while, and an answer
    `confirmation_pending` means to repeat the very same call later. Takes regular files: no directories, and of a
    symbolic link neither the link nor what it leads to. Not for subagents.
    """
    refuse_subagent(call)
    request = request_for(call, params.path, params.path_bytes, params.if_match, "remove")
    request = replace(request, confirm="removing a file is confirmed by a person")
    await call.workspace.threads.run(Lane.READ, _check, call, request)

    def compute(old: Old) -> Plan:
        _check(call, request)
        if not old.exists:
            raise _missing(request)
        return Remove()

    changed = await call.workspace.changer.change(request, compute)
    call.workspace.reader.forget(request.path)
    return _result(call, request, changed)


def _check(call: Call[Settings], request: Request) -> None:
    """Refuse what is no file: under the lock again, for a link may have come.

    Raises: not_found, not_a_file, history_unavailable, and what the policy says to the path.
    """
    given = request.path.given
    call.workspace.journal.required(given)
    try:
        entry = call.workspace.rooted.entry(request.path)
    except Fault as fault:
        raise _missing(request) if fault.slug is Slug.NOT_FOUND else fault from fault
    with entry:
        if entry.stat is None:
            raise _missing(request)
        mode = entry.stat.st_mode
        if stat.S_ISLNK(mode):
            raise _is_link(request, os.readlink(entry.name, dir_fd=entry.dir_fd))
        if not stat.S_ISREG(mode):
            what = kind_of(mode)
            advice = "Name the files in it, one a call." if stat.S_ISDIR(mode) else "Ask the person to remove it."
            raise Fault(Slug.NOT_A_FILE, f"{given} is a {what}: remove_file removes one file. {advice}", kind=what)


def _missing(request: Request) -> Fault:
    given = request.path.given
    return Fault(
        Slug.NOT_FOUND,
        f"failed to remove file: file not found\n{given} does not exist, so there is nothing to remove. "
        "file_history shows whether it was removed before.",
        next_call=NextCall("file_history", {"path": given}),
    )


def _is_link(request: Request, target: bytes) -> Fault:
    given, shown = request.path.given, display.name(target)
    return Fault(
        Slug.NOT_A_FILE,
        f"{given} is a symbolic link to {shown}, and history keeps files, not links: neither was removed. To remove "
        "the file, name it; to remove the link, ask the person.",
        kind="symbolic link",
        target=display.data_name(target)[0],
    )


def _result(call: Call[Settings], request: Request, changed: Changed) -> Result:
    trash = call.workspace.journal.required(request.path.given).trash
    moved_to = None if changed.moved_to is None else trash.path_of(changed.moved_to)
    data = Data(
        **names_of(request.path, changed.real),
        moved_to=None if moved_to is None else display.data_name(moved_to)[0],
        version=changed.version,
        restorable=changed.restorable or call.dry_run,
        reason=changed.reason or UNSET,
        dry_run=call.dry_run or UNSET,
    )
    line = call_line(call.tool, call.given, changed.real)
    text = f"{line}\n{_outcome(changed, moved_to)}"
    return Result(data, body=(Plain(text),), display=(Plain(text),))


def _outcome(changed: Changed, moved_to: bytes | None) -> str:
    if moved_to is None:
        return "Would move the file to the trash."
    where = f"Moved to {display.name(moved_to)}."
    if changed.version is None or not changed.restorable:
        return f"{where} restore_file cannot bring it back ({changed.reason}); the person can, from there."
    return f"{where} To bring it back: restore_file with version={changed.version}."
