"""What find_files takes and gives."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.tools._skipped import Skipped
from picoclawd.workspace.scope import Consistency

Mode = Literal["list", "glob", "search"]
Output = Literal["files", "content"]


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One place to look at, and what to look for there."""

    dir: Annotated[str, msgspec.Meta(description="The directory. Default: the workspace.")] = "."
    pattern: (
        Annotated[str, msgspec.Meta(description="glob: file name pattern; search: RE2 regular expression.")] | UnsetType
    ) = UNSET
    file_pattern: Annotated[str, msgspec.Meta(description="search: only files whose name matches.")] | UnsetType = UNSET
    recursive: (
        Annotated[bool, msgspec.Meta(description="Also below. Default: false for list, true otherwise.")] | UnsetType
    ) = UNSET


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of find_files."""

    queries: Annotated[list[Query], msgspec.Meta(min_length=1, max_length=100, description="What to look for.")]
    mode: Annotated[Mode, msgspec.Meta(description="Inferred from the queries where it is left out.")] | UnsetType = (
        UNSET
    )
    output: Annotated[Output, msgspec.Meta(description='search: "files" (default) or "content".')] = "files"
    multiline: Annotated[bool, msgspec.Meta(description="search: match whole files, `.` crosses newlines.")] = False
    offset: Annotated[int, msgspec.Meta(ge=0, description="Results to skip.")] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, description="Results at most; 1000 is the most.")] = 256
    context: Annotated[int, msgspec.Meta(ge=0, description="search: lines around each match; 20 is the most.")] = 0
    consistency: (
        Annotated[Consistency, msgspec.Meta(description='"watched" is faster on large trees, and may lag.')] | UnsetType
    ) = UNSET


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One result: an entry, a file, a file with its count and first row numbers, or a line."""

    path: str
    path_bytes: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    ignored: bool | UnsetType = UNSET
    count: int | UnsetType = UNSET
    lines: list[int] | UnsetType = UNSET
    line: int | UnsetType = UNSET
    text: str | UnsetType = UNSET
    context: bool | UnsetType = UNSET
    error: str | UnsetType = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """The page. `total` is null where the search ended before it knew."""

    mode: Mode
    results: list[Found]
    total: int | None
    offset: int
    next_offset: int | None
    complete: bool
    consistency: Consistency
    dropped: int
    skipped: Skipped
    rows_cut: int | UnsetType = UNSET
