"""What read_files takes and gives."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.text import rows
from picoclawd.tools._failure import Failure
from picoclawd.tools._spec import PathBytesParam, PathParam

FILES_MAX = 64  # in one call: more would leave each a handful of rows
ANCHORS_MAX = 1000  # of one file: more are not looked at one by one


class FileParam(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file, and which part of it."""

    path: PathParam = ""
    path_bytes: PathBytesParam | UnsetType = UNSET
    offset: Annotated[int, msgspec.Meta(ge=1, description="First row, page, slide or block, from 1.")] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, description="Rows, pages, slides or blocks at most.")] = rows.LIMIT
    around: (
        Annotated[
            list[Annotated[int, msgspec.Meta(ge=1)]],
            msgspec.Meta(
                min_length=1,
                max_length=ANCHORS_MAX,
                description="Rows to see with the rows around them; offset and limit are then ignored.",
            ),
        ]
        | UnsetType
    ) = UNSET
    context: Annotated[
        int, msgspec.Meta(ge=0, description="Rows on each side of each row of `around`; 0 = those rows alone.")
    ] = rows.CONTEXT
    as_: Annotated[
        Literal["text", "readable"],
        msgspec.Meta(description='"readable" renders HTML, SVG and notebooks instead of showing their rows.'),
    ] = msgspec.field(default="text", name="as")


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of read_files."""

    files: Annotated[
        list[FileParam], msgspec.Meta(min_length=1, max_length=FILES_MAX, description="What to read, in order.")
    ]


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """A picture, made small enough to look at."""

    mime: str
    width: int
    height: int
    base64: str


class FileData(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of one file: rows (pages, slides, ...) `start` to `end` of `total`, from 1. Null if it failed."""

    path: str
    path_bytes: str | UnsetType = UNSET
    resolved_path: str | None = None
    format: (
        Annotated[str, msgspec.Meta(description="text, csv, pdf, docx, pptx, png, html, audio, video, ...")] | None
    ) = None
    encoding: str | None = None
    start: int | None = None
    end: int | None = None
    total: int | None = None
    next_offset: int | None = None
    eof: bool | None = None
    cut_row: int | UnsetType = UNSET
    lossy: bool | UnsetType = UNSET
    unstable: bool | UnsetType = UNSET
    quality: Literal["draft"] | UnsetType = UNSET
    withheld: bool | UnsetType = UNSET
    sha256: str | None = None
    image: Image | None = None
    error: Failure | None = None


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """One row for each file asked for, in the same order."""

    files: list[FileData]
    rows_cut: int | UnsetType = UNSET
