"""edit_file: replace one exact text in a file, or apply a V4A patch to it."""

import itertools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files.paths import WsPath
from picoclawd.text import diff, display, patch, replace, v4a
from picoclawd.text.diff import DiffLine
from picoclawd.tools._names import names_of
from picoclawd.tools._spec import (
    WRITES,
    Call,
    FileText,
    IfMatchParam,
    OwnText,
    PathBytesParam,
    PathParam,
    Plain,
    Result,
    Segment,
    Settings,
    tool,
)
from picoclawd.tools._write import refuse_mask, request_for
from picoclawd.workspace.change import Changed, Keep, Old, Plan, Replace

Form = Literal["old_text", "patch"]

_FORMS: dict[Form, tuple[str, ...]] = {"old_text": ("old_text", "new_text"), "patch": ("patch",)}
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class EditFileSettings(Settings, frozen=True, kw_only=True):
    """tools.edit_file.*"""

    freshness: Annotated[
        Literal["content", "mtime", "anchors", "off"],
        msgspec.Meta(description="How the forms that need an earlier read judge that it is still good."),
    ] = "content"


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of edit_file."""

    path: PathParam
    old_text: (
        Annotated[str, msgspec.Meta(description="Exact text to replace; must occur exactly once.")] | UnsetType
    ) = UNSET
    new_text: Annotated[str, msgspec.Meta(description="What takes its place; empty deletes.")] | UnsetType = UNSET
    patch: Annotated[str, msgspec.Meta(description="A V4A patch for this one file.")] | UnsetType = UNSET
    path_bytes: PathBytesParam | UnsetType = UNSET
    if_match: IfMatchParam | UnsetType = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What the edit did to the file."""

    path: str
    path_bytes: str | UnsetType = UNSET
    resolved_path: str
    action: Literal["modified", "unchanged"]
    form: Form
    size: int
    bytes_written: int
    sha256: str | None
    version: int | None
    diff_truncated: bool
    hardlinks: int
    restorable: bool
    dry_run: bool | UnsetType = UNSET


def _check(settings: EditFileSettings, params: dict[str, Any]) -> None:
    given = [form for form, names in _FORMS.items() if any(name in params for name in names)]
    incomplete = given == ["old_text"] and not all(name in params for name in _FORMS["old_text"])
    if len(given) != 1 or incomplete:
        raise Fault(
            Slug.INVALID_PARAMS,
            "edit_file takes exactly one of two forms: `old_text` with `new_text` (an exact text that occurs once), or "
            "`patch` (a V4A patch). "
            + (
                "Both were given."
                if len(given) > 1
                else "`old_text` and `new_text` go together."
                if given
                else "Neither was given."
            ),
            path="$",
        )


@tool(
    title="Edit a file",
    hints=WRITES,
    params=Params,
    data=Data,
    settings=EditFileSettings,
    check=_check,
)
async def edit_file(call: Call[EditFileSettings], params: Params) -> Result:
    """Change part of an existing file; the answer shows the diff.

    Either `old_text` with `new_text`: old_text must be the file's exact text, whitespace included, and occur exactly
    once, so take enough lines around the change. Strip row numbers (`12|`) from rows that read_file showed. To
    insert, repeat old_text in new_text; an empty new_text deletes. Or `patch`, in V4A form: hunks that start with
    `@@`, with lines that begin with a space (context), `-` (removed) or `+` (added); hunks with only `+` lines must
    end with `*** End of File`. One file a call; to create a file use write_file, to add at the end append_file. In
    JSON write `\\n` for a newline and `\\\\n` for a backslash followed by n.
    """
    request = request_for(call, params.path, params.path_bytes, params.if_match, "edit")
    form, edit = _edit(params, request.path, call)
    diffs: list[tuple[DiffLine, ...] | None] = []

    def compute(old: Old) -> Plan:
        after = _edited(request.path, old, edit)
        small = diff.small_enough(old.data) and diff.small_enough(after)
        diffs[:] = [diff.unified(_diff_name(request.path), old.data, after) if small else None]
        return Keep() if after == old.data else Replace(after)

    changed = await call.workspace.changer.change(request, compute)
    call.workspace.reader.forget(request.path)
    return _result(call, request.path, form, changed, diffs[0])


def _edit(params: Params, path: WsPath, call: Call[EditFileSettings]) -> tuple[Form, Callable[[bytes], bytes]]:
    """The edit as a pure function. A patch is parsed here, before anything is opened."""
    if params.patch is not UNSET:
        parsed = v4a.parse(params.patch)
        if parsed.path is not None and call.workspace.parse(parsed.path).absolute != path.absolute:
            raise Fault(
                Slug.PATCH_REJECTED,
                f"the patch says `*** Update File: {parsed.path}`, but the call names {path.given}. "
                "edit_file edits the one file of `path`: make them agree, or leave the header out.",
            )
        return "patch", lambda data: patch.apply(data, parsed)
    old_text = "" if params.old_text is UNSET else params.old_text
    new_text = "" if params.new_text is UNSET else params.new_text
    return "old_text", lambda data: replace.replace_once(data, old_text, new_text)


def _edited(path: WsPath, old: Old, edit: Callable[[bytes], bytes]) -> bytes:
    if not old.exists:
        raise Fault(
            Slug.NOT_FOUND,
            f"failed to edit file: file not found\n{path.given} does not exist. Create it with write_file.",
            next_call=NextCall("write_file", {"path": path.given}),
        )
    if old.data.startswith(_UTF16_MARKS):
        raise Fault(
            Slug.UNSUPPORTED_FORMAT,
            f"{path.given} is UTF-16 text, which edit_file does not change. Convert it to UTF-8 first.",
        )
    after = edit(old.data)
    refuse_mask(path.given, old.data, after)
    return after


def _result(
    call: Call[EditFileSettings], path: WsPath, form: Form, changed: Changed, lines: tuple[DiffLine, ...] | None
) -> Result:
    given = display.name(path.given.encode("utf-8", "surrogateescape"))
    title = f"{'Would edit file' if call.dry_run else 'File edited'}: {given}"
    if changed.action == "unchanged":
        title += "\nNothing changed: the new text equals the old."
    body: list[Segment] = [Plain(title)]
    truncated = lines is None
    shown: tuple[Segment, ...] = (Plain(title),)
    if lines is None:
        body.append(Plain("\nThe file is too large to show a diff: call read_file to look at the place."))
    elif lines:
        for_model, truncated = _windowed(lines, limits.DIFF_MODEL_MAX_CHARS)
        for_person, _cut = _windowed(lines, limits.DIFF_DISPLAY_MAX_CHARS)
        body += [Plain("\n"), *for_model]
        shown = (Plain(title + "\n"), *for_person)
    data = Data(
        **names_of(path, changed.real),
        action="unchanged" if changed.action == "unchanged" else "modified",
        form=form,
        size=changed.size,
        bytes_written=changed.bytes_written,
        sha256=changed.sha256,
        version=changed.version,
        diff_truncated=truncated,
        hardlinks=changed.hardlinks,
        restorable=changed.restorable,
        dry_run=call.dry_run or UNSET,
    )
    return Result(data, body=tuple(body), display=shown)


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
