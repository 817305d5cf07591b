"""The four ways to say an edit: what edit_file takes, and each way as a function of the old file."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files.paths import WsPath
from picoclawd.text import patch, replace, targets, v4a
from picoclawd.text.targets import FILE_MAX_BYTES, TARGETS_MAX
from picoclawd.tools._spec import Call, IfMatchParam, PathBytesParam, PathParam, Settings
from picoclawd.tools._write import guard_of, refuse_mask
from picoclawd.workspace import freshness
from picoclawd.workspace.change import Request
from picoclawd.workspace.freshness import Fresh
from picoclawd.workspace.plans import Old

Form = Literal["old_text", "patch", "targets", "content"]

_FORMS: dict[Form, tuple[str, ...]] = {
    "old_text": ("old_text", "new_text"),
    "patch": ("patch",),
    "targets": ("targets",),
    "content": ("content",),
}
_MODES: dict[str, tuple[Form, ...]] = {"write": ("content",), "patch": ("targets", "patch", "old_text")}
_ELSEWHERE = {
    "remove": "edit_file removes nothing: call remove_file with this `path`.",
    "restore": "edit_file restores nothing: call restore_file with a `version` or a `task_id`.",
}
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class EditFileSettings(Settings, frozen=True, kw_only=True):
    """tools.edit_file.*"""

    freshness: Annotated[
        Literal["content", "mtime", "anchors", "off"],
        msgspec.Meta(description="How the forms that need an earlier read judge that it is still good."),
    ] = "content"


class TargetParam(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One text to replace, located in the file as it was before any of them."""

    old_string: Annotated[str, msgspec.Meta(description="Exact text; must occur once, unless replace_all.")]
    new_string: Annotated[str, msgspec.Meta(description="What takes its place; empty deletes exactly old_string.")]
    replace_all: Annotated[bool, msgspec.Meta(description="Replace every occurrence.")] = False


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of edit_file."""

    path: PathParam
    old_text: (
        Annotated[str, msgspec.Meta(description="Exact text to replace; must occur exactly once.")] | UnsetType
    ) = UNSET
    new_text: Annotated[str, msgspec.Meta(description="What takes its place; empty deletes.")] | UnsetType = UNSET
    patch: Annotated[str, msgspec.Meta(description="A V4A patch for this one file.")] | UnsetType = UNSET
    targets: (
        Annotated[
            list[TargetParam],
            msgspec.Meta(min_length=1, max_length=TARGETS_MAX, description="Several texts to replace, all or none."),
        ]
        | UnsetType
    ) = UNSET
    content: (
        Annotated[str, msgspec.Meta(description="The whole file: creates it, or replaces it wholesale.")] | UnsetType
    ) = UNSET
    mode: (
        Annotated[
            Literal["write", "patch"],
            msgspec.Meta(description='"write" goes with `content`, "patch" with the others; may be left out.'),
        ]
        | UnsetType
    ) = UNSET
    path_bytes: PathBytesParam | UnsetType = UNSET
    if_match: IfMatchParam | UnsetType = UNSET


def check(settings: EditFileSettings, params: dict[str, Any]) -> None:
    """Refuse what is none of the forms, with words that lead to one."""
    mode = params.get("mode")
    if isinstance(mode, str) and mode in _ELSEWHERE:
        raise _wrong(_ELSEWHERE[mode], "$.mode")
    for name in ("row", "insert_string"):
        if name in params:
            raise _wrong(
                f"edit_file takes no `{name}`: rows move while a file is edited. To insert, give a target whose "
                "new_string repeats its old_string with the new lines before or after it.",
                f"$.{name}",
            )
    path = params.get("path")
    if isinstance(path, str) and not path.strip() and "path_bytes" not in params:
        raise _wrong("edit_file: `path` is blank: name the file.", "$.path")
    given = [form for form, names in _FORMS.items() if any(name in params for name in names)]
    incomplete = given == ["old_text"] and not all(name in params for name in _FORMS["old_text"])
    if len(given) != 1 or incomplete:
        raise _wrong(_one_form(given), "$")
    if isinstance(mode, str) and given[0] not in _MODES.get(mode, given):
        raise _wrong(
            f'edit_file: mode="{mode}" does not go with `{given[0]}`: leave `mode` out, it follows from the form.',
            "$.mode",
        )


def _one_form(given: list[Form]) -> str:
    said = "`old_text` and `new_text` go together." if given else "None was given."
    if len(given) > 1:
        said = f"{' and '.join(f'`{form}`' for form in given)} were given."
    return (
        "edit_file takes exactly one of four forms: `old_text` with `new_text` (an exact text that occurs once), "
        f"`targets` (several of them), `patch` (a V4A patch), or `content` (the whole file). {said}"
    )


def _wrong(message: str, path: str) -> Fault:
    return Fault(Slug.INVALID_PARAMS, message, path=path)


@dataclass(frozen=True, slots=True)
class Edited:
    """The file after the edit. `beside` is what else changed since the session's read, where that was let through."""

    after: bytes
    beside: Fresh = field(default_factory=Fresh)


class Edit(msgspec.Struct, frozen=True):
    """One edit as a function of the old file, which raises what speaks against it."""

    form: Form
    apply: Callable[[Old], Edited]


def edit_of(call: Call[EditFileSettings], params: Params, request: Request) -> Edit:
    """The edit that the call wants. A patch is parsed here, before anything is opened."""
    path = request.path
    if params.patch is not UNSET:
        parsed = _parsed(call, params.patch, path)
        return Edit("patch", lambda old: _changed(path, old, lambda data: patch.apply(data, parsed)))
    if params.targets is not UNSET:
        wanted = [targets.Target(each.old_string, each.new_string, each.replace_all) for each in params.targets]
        return Edit("targets", lambda old: _targeted(call, request, old, wanted))
    if params.content is not UNSET:
        content = params.content.encode()
        _refuse_large(path, len(content), "the new content has")
        return Edit("content", lambda old: _replaced(call, request, old, content))
    old_text = "" if params.old_text is UNSET else params.old_text
    new_text = "" if params.new_text is UNSET else params.new_text
    return Edit(
        "old_text", lambda old: _changed(path, old, lambda data: replace.replace_once(data, old_text, new_text))
    )


def _parsed(call: Call[EditFileSettings], text: str, path: WsPath) -> v4a.Patch:
    parsed = v4a.parse(text)
    if parsed.path is not None and call.workspace.parse(parsed.path).absolute != path.absolute:
        raise Fault(
            Slug.PATCH_REJECTED,
            f"the patch says `*** Update File: {parsed.path}`, but the call names {path.given}. "
            "edit_file edits the one file of `path`: make them agree, or leave the header out.",
        )
    return parsed


def _targeted(call: Call[EditFileSettings], request: Request, old: Old, wanted: list[targets.Target]) -> Edited:
    _refuse_missing(request.path, old)
    _refuse_large(request.path, old.size, "it has")
    anchors = [target.old_string.encode("utf-8", "surrogatepass") for target in wanted]
    fresh = freshness.check(guard_of(call, request, old, call.settings.freshness, anchors), old)
    return Edited(_changed(request.path, old, lambda data: targets.apply_targets(data, wanted)).after, fresh)


def _replaced(call: Call[EditFileSettings], request: Request, old: Old, content: bytes) -> Edited:
    if old.exists:
        _refuse_large(request.path, old.size, "it has")
        freshness.check(guard_of(call, request, old, call.settings.freshness), old)
        refuse_mask(request.path.given, old.data, content)
    return Edited(content)


def _changed(path: WsPath, old: Old, edit: Callable[[bytes], bytes]) -> Edited:
    _refuse_missing(path, old)
    if old.data.startswith(_UTF16_MARKS):
        raise Fault(
            Slug.UNSUPPORTED_FORMAT,
            f"{path.given} is UTF-16 text, which edit_file does not change. Convert it to UTF-8 first.",
        )
    after = edit(old.data)
    refuse_mask(path.given, old.data, after)
    return Edited(after)


def _refuse_missing(path: WsPath, old: Old) -> None:
    if not old.exists:
        raise Fault(
            Slug.NOT_FOUND,
            f"failed to edit file: file not found\n{path.given} does not exist. Create it with write_file.",
            next_call=NextCall("write_file", {"path": path.given}),
        )


def _refuse_large(path: WsPath, size_bytes: int, has: str) -> None:
    if size_bytes > FILE_MAX_BYTES:
        raise Fault(
            Slug.TOO_LARGE,
            f"{path.given}: {has} {size_bytes} bytes; `targets` and `content` are for files of at most "
            f"{FILE_MAX_BYTES // limits.MIB} MiB. Use `old_text` with `new_text`, or write_file.",
            size=size_bytes,
            limit=FILE_MAX_BYTES,
        )
