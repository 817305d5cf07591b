"""What file_history takes and gives."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, Slug
from picoclawd.history.query import PATHS_MAX
from picoclawd.tools._failure import Failure
from picoclawd.tools._spec import PathBytesParam, Settings

Action = Literal["create", "modify", "append", "delete", "restore", "external"]

READ_PATHS_MAX = 24  # files compared in one call: each is read whole
_LIST_ONLY = ("task_id", "from", "to", "before", "limit")
_READ_ONLY = ("version", "content")


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of file_history."""

    mode: Annotated[
        Literal["list", "read"],
        msgspec.Meta(description='"list": recorded changes, newest first; "read": a version against the disk.'),
    ] = "list"
    path: (
        Annotated[
            str | Annotated[list[str], msgspec.Meta(min_length=1, max_length=PATHS_MAX)],
            msgspec.Meta(description="One file, or a list of files; all where left out."),
        ]
        | UnsetType
    ) = UNSET
    path_bytes: PathBytesParam | UnsetType = UNSET
    task_id: (
        Annotated[str, msgspec.Meta(description='Only what this task changed; "current" is the one that runs now.')]
        | UnsetType
    ) = UNSET
    from_: (
        Annotated[str, msgspec.Meta(description="Changed at or after: a date, date and time (local), or ISO 8601.")]
        | UnsetType
    ) = msgspec.field(default=UNSET, name="from")
    to: Annotated[str, msgspec.Meta(description="Changed before: the same forms.")] | UnsetType = UNSET
    before: (
        Annotated[int, msgspec.Meta(ge=1, description="Only versions below this one: the next page.")] | UnsetType
    ) = UNSET
    limit: Annotated[int, msgspec.Meta(ge=1, description="Versions at most; 24, for operators 1000.")] | UnsetType = (
        UNSET
    )
    version: (
        Annotated[int, msgspec.Meta(ge=1, description="mode=read: this version, not the newest of the path.")]
        | UnsetType
    ) = UNSET
    content: Annotated[bool, msgspec.Meta(description="mode=read: what the file held then, in place of the diff.")] = (
        False
    )


class VersionData(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded change. Hashes and size are null where there was no file, or none was taken."""

    version: int
    path: str
    path_bytes: str | UnsetType = UNSET
    action: Action
    size: int | None
    sha256_before: str | None
    sha256_after: str | None
    tool: str | None
    session_id: str | None
    client: str | None
    task_id: str | None
    objective: str | None
    changed_at: str
    restorable: bool
    reason: str | None


class ComparedData(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a file against the disk. `drifted`: the disk is not what that version left; null where it could not
    be looked at, as all else where `error` says why."""

    path: str
    path_bytes: str | UnsetType = UNSET
    version: int | None = None
    action: Action | None = None
    changed_at: str | None = None
    size: int | None = None
    exists: bool | None = None
    drifted: bool | None = None
    restorable: bool | None = None
    reason: str | UnsetType = UNSET
    error: Failure | UnsetType = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """`versions` of mode=list, `files` of mode=read. `next_before` goes on with older versions."""

    mode: Literal["list", "read"]
    versions: list[VersionData] | UnsetType = UNSET
    next_before: int | UnsetType | None = UNSET
    files: list[ComparedData] | UnsetType = UNSET
    rows_cut: int | UnsetType = UNSET


def check(settings: Settings, params: dict[str, Any]) -> None:
    """Refuse what goes with the other mode, and a comparison of nothing."""
    mode = params.get("mode", "list")
    foreign, other = (_LIST_ONLY, "list") if mode == "read" else (_READ_ONLY, "read")
    for name in foreign:
        if params.get(name) not in (None, False, "false"):
            raise Fault(Slug.INVALID_PARAMS, f'file_history: `{name}` goes with mode="{other}".', path=f"$.{name}")
    if mode == "read" and not any(name in params for name in ("path", "path_bytes", "version")):
        raise Fault(
            Slug.INVALID_PARAMS,
            'file_history: mode="read" compares files with the disk: name them in `path`, or give a `version`.',
            path="$.path",
        )
    path = params.get("path")
    if mode == "read" and isinstance(path, list) and ("version" in params or len(path) > READ_PATHS_MAX):
        raise Fault(
            Slug.INVALID_PARAMS,
            f'file_history: mode="read" takes at most {READ_PATHS_MAX} paths, and with `version` a single one.',
            path="$.path",
        )


def paths(params: dict[str, Any]) -> tuple[object, ...]:
    """Every file that is named: a look at its history comes after the changes to it that were sent before."""
    path = params.get("path_bytes") or params.get("path") or ()
    return tuple(path) if isinstance(path, list) else (path,)
