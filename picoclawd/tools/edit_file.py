"""edit_file: change one file, in one of four forms, and show the diff."""

import itertools
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd import limits
from picoclawd.files.paths import WsPath
from picoclawd.text import diff, display
from picoclawd.text.diff import DiffLine
from picoclawd.tools._edit_forms import EditFileSettings, Form, Params, check, edit_of
from picoclawd.tools._names import names_of
from picoclawd.tools._spec import WRITES, Call, FileText, OwnText, Plain, Result, Segment, tool
from picoclawd.tools._write import request_for
from picoclawd.workspace.change import Changed
from picoclawd.workspace.plans import Keep, Old, Plan, Replace

_ACTIONS: dict[str, Literal["created", "modified", "unchanged"]] = {
    "created": "created",
    "replaced": "modified",
    "unchanged": "unchanged",
}


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What the edit did to the file."""

    path: str
    path_bytes: str | UnsetType = UNSET
    resolved_path: str
    action: Literal["created", "modified", "unchanged"]
    form: Form
    size: int
    bytes_written: int
    sha256: str | None
    version: int | None
    diff_truncated: bool
    hardlinks: int
    restorable: bool
    reason: str | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET


@tool(
    title="Edit a file",
    hints=WRITES,
    params=Params,
    data=Data,
    settings=EditFileSettings,
    check=check,
)
async def edit_file(call: Call[EditFileSettings], params: Params) -> Result:
    """Change part of a file, or all of it; the answer shows the diff.

    One of four forms. `old_text` with `new_text`: the file's exact text, whitespace included, that occurs exactly once,
    so take enough lines around the change. `targets`: several such texts at once, each located in the file as it is
    now, none inside another, all or none. `content`: the whole file, new or in place of the old. `patch`: V4A hunks
    that start with `@@`, with lines that begin with a space (context), `-` (removed) or `+` (added); hunks with
    only `+` lines must end with `*** End of File`. `targets`, and `content` over a file that exists, need an earlier
    read_files or read_file of the file as it is now. Strip row numbers (`12|`, or before a tab) from shown rows. To
    insert, repeat the old text in the new; an empty new text deletes. One file a call; to add at the end use
    append_file, to remove a file remove_file. In JSON write `\\n` for a newline and `\\\\n` for a backslash followed
    by n.
    """
    request = request_for(call, params.path, params.path_bytes, params.if_match, "edit")
    edit = edit_of(call, params, request)
    shown = _Shown(None, ())

    def compute(old: Old) -> Plan:
        nonlocal shown
        edited = edit.apply(old)
        small = diff.small_enough(old.data) and diff.small_enough(edited.after)
        lines = diff.unified(_diff_name(request.path), old.data, edited.after) if small else None
        shown = _Shown(lines, edited.beside.changed)
        return Keep() if old.exists and edited.after == old.data else Replace(edited.after)

    changed = await call.workspace.changer.change(request, compute)
    call.workspace.reader.forget(request.path)
    return _result(call, request.path, edit.form, changed, shown)


class _Shown(msgspec.Struct, frozen=True):
    """What is shown of an edit: its diff, None of a file that is too large, and what else changed since the read."""

    lines: tuple[DiffLine, ...] | None
    beside: tuple[DiffLine, ...]


def _result(call: Call[EditFileSettings], path: WsPath, form: Form, changed: Changed, shown: _Shown) -> Result:
    title = _title(call, path, changed)
    lines = shown.lines
    body: list[Segment] = [Plain(title)]
    truncated = lines is None
    display_body: tuple[Segment, ...] = (Plain(title),)
    if lines is None:
        body.append(Plain("\nThe file is too large to show a diff: call read_file to look at the place."))
    elif lines:
        for_model, truncated = _windowed(lines, limits.DIFF_MODEL_MAX_CHARS)
        # The person's room is the larger one: what fits the model's is the same for both.
        for_person = _windowed(lines, limits.DIFF_DISPLAY_MAX_CHARS)[0] if truncated else for_model
        body += [Plain("\n"), *for_model]
        display_body = (Plain(title + "\n"), *for_person)
    if shown.beside:
        text = "\n".join(row.text for row in shown.beside)
        body += [Plain("\nElse, since you read the file, this was changed by others:\n"), FileText(text)]
    data = Data(
        **names_of(path, changed.real),
        action=_ACTIONS[changed.action],
        form=form,
        size=changed.size,
        bytes_written=changed.bytes_written,
        sha256=changed.sha256,
        version=changed.version,
        diff_truncated=truncated,
        hardlinks=changed.hardlinks,
        restorable=changed.restorable,
        reason=changed.reason or UNSET,
        dry_run=call.dry_run or UNSET,
    )
    return Result(data, body=tuple(body), display=display_body)


def _title(call: Call[EditFileSettings], path: WsPath, changed: Changed) -> str:
    given = display.name(path.given.encode("utf-8", "surrogateescape"))
    done = "created" if changed.action == "created" else "edited"
    would = "create" if changed.action == "created" else "edit"
    title = f"{f'Would {would} file' if call.dry_run else f'File {done}'}: {given}"
    return title + "\nNothing changed: the new text equals the old." if changed.action == "unchanged" else title


def _windowed(lines: tuple[DiffLine, ...], max_chars: int) -> tuple[list[Segment], bool]:
    """The diff as segments, bounded: context is file text, what was added and removed is the call's own."""
    kept, truncated = diff.bounded(lines, max_chars)
    segments: list[Segment] = []
    for kind, run in itertools.groupby(kept, key=lambda line: line.kind):
        text = ("\n" if segments else "") + "\n".join(line.text for line in run)
        match kind:
            case "context":
                segments.append(FileText(text))
            case "header":
                segments.append(Plain(text))
            case _:
                segments.append(OwnText(text))
    return segments, truncated


def _diff_name(path: WsPath) -> str:
    shown = path.absolute if path.relative is None else path.relative
    return display.name(shown)
