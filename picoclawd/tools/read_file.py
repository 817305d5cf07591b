"""read_file: a page of one file, by bytes or by numbered lines."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, BinaryIO, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files.paths import WsPath
from picoclawd.text import display, pages
from picoclawd.text.pages import BytePage, LinePage
from picoclawd.tools._names import names_of
from picoclawd.tools._reads import editor_notice, note_read
from picoclawd.tools._spec import (
    READS,
    AtHand,
    Call,
    FileRows,
    FileText,
    PathBytesParam,
    PathParam,
    Result,
    Settings,
    tool,
)
from picoclawd.workspace.artifacts import OWN_DIRECTORY
from picoclawd.workspace.read import Reading, reading_of

T = TypeVar("T")
Mode = Literal["bytes", "lines"]
Positive = Annotated[int, msgspec.Meta(ge=1)]

_BYTE_ARGUMENTS = ("offset", "length")
_LINE_ARGUMENTS = ("start_line", "max_lines")
_HEAD_ROOM_CHARS = 600  # what a header and its hints take at the most, of a page that must fit inline
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class ReadFileSettings(Settings, frozen=True, kw_only=True):
    """tools.read_file.*"""

    mode: Annotated[Mode, msgspec.Meta(description="How files are read where a call does not say.")] = "bytes"
    max_read_file_size: Annotated[
        int, msgspec.Meta(ge=1, le=64 * limits.MIB, description="Bytes of one page, and the default length.")
    ] = 65_536
    max_lines: Annotated[int, msgspec.Meta(ge=1, description="Lines of one page in line mode.")] = 2000
    max_line_length: Annotated[
        int, msgspec.Meta(ge=1, le=limits.MIB, description="Characters shown of one line in line mode.")
    ] = 2000


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of read_file."""

    path: PathParam
    path_bytes: PathBytesParam | UnsetType = UNSET
    mode: (
        Annotated[
            Mode, msgspec.Meta(description='"bytes" for a range of bytes, "lines" for numbered lines (`N|text`).')
        ]
        | UnsetType
    ) = UNSET
    offset: Annotated[int, msgspec.Meta(ge=0, description="Byte mode: where to start. Default 0.")] | UnsetType = UNSET
    length: Annotated[int, msgspec.Meta(ge=1, description="Byte mode: how many bytes at most.")] | UnsetType = UNSET
    start_line: (
        Annotated[int, msgspec.Meta(ge=1, description="Line mode: first line, from 1. Default 1.")] | UnsetType
    ) = UNSET
    max_lines: Annotated[int, msgspec.Meta(ge=1, description="Line mode: how many lines at most.")] | UnsetType = UNSET
    encoding: (
        Annotated[Literal["base64"], msgspec.Meta(description="Operators, byte mode: the bytes in data.base64.")]
        | UnsetType
    ) = UNSET


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What a page is and how to go on. `next` is the next offset or line, null at the end."""

    path: str
    path_bytes: str | UnsetType = UNSET
    resolved_path: str
    size: int
    mtime_ns: int
    sha256: str | None
    offset: int | UnsetType = UNSET
    length: int | UnsetType = UNSET
    start_line: int | UnsetType = UNSET
    end_line: int | UnsetType = UNSET
    file_bytes: int | UnsetType = UNSET
    output_bytes: int | UnsetType = UNSET
    cut_line: int | UnsetType = UNSET
    next: int | None
    eof: bool
    lossy: bool
    unstable: bool
    base64: str | UnsetType = UNSET


def _check(settings: ReadFileSettings, params: dict[str, Any]) -> None:
    """Refuse pagination arguments of the other mode, naming the right ones."""
    mode = params.get("mode", settings.mode)
    own, other = (_LINE_ARGUMENTS, _BYTE_ARGUMENTS) if mode == "lines" else (_BYTE_ARGUMENTS, _LINE_ARGUMENTS)
    for name in (*other, "limit"):
        if name in params:
            right = own[other.index(name)] if name in other else own[1]
            raise Fault(
                Slug.WRONG_MODE_ARGUMENT,
                f"read_file: `{name}` is no argument of {mode} mode. Use `{own[0]}` and `{own[1]}` "
                f'(here: `{right}`), or pass mode="{"bytes" if mode == "lines" else "lines"}".',
                path=f"$.{name}",
                use=right,
            )


def _order(settings: ReadFileSettings) -> tuple[str, ...]:
    if settings.mode == "lines":
        return ("path", *_LINE_ARGUMENTS, "mode", *_BYTE_ARGUMENTS)
    return ("path", *_BYTE_ARGUMENTS, "mode", *_LINE_ARGUMENTS)


def _at_hand(call: Call[ReadFileSettings], params: Params) -> AtHand | None:
    """The page of a small file that is in memory."""
    page = _page(call, params)
    file = call.workspace.reader.at_hand(page.path)
    if file is not None and call.workspace.editors.mark(file.real) is not None:
        return None  # what is said of an editor must not be kept with the answer
    return None if file is None else AtHand(file, lambda: page.finish(reading_of(file, page.extract)))


@tool(
    title="Read a file",
    hints=READS,
    params=Params,
    data=Data,
    settings=ReadFileSettings,
    positional=_order,
    check=_check,
    at_hand=_at_hand,
    omit_base64=False,
)
async def read_file(call: Call[ReadFileSettings], params: Params) -> Result:
    """Read one page of a text file.

    Use it before changing a file, and to look at what a search found. Byte mode (the default) takes `offset` and
    `length`; line mode (`mode: "lines"`) takes `start_line` and `max_lines` and shows each row as `N|text`. The
    number and the bar are not in the file: strip them before you reuse a row in edit_file. The header says how to
    get the next page. Secrets are shown as [FILTERED]: never write that marker back into a file. To find
    something, search instead of reading files one after the other.
    """
    page = _page(call, params)
    reading = await call.workspace.reader.read(page.path, page.extract)
    note_read(call, reading)
    result = page.finish(reading)
    notice = editor_notice(call, reading.real)
    return replace(result, head=f"{notice}\n{result.head}") if notice else result


@dataclass(frozen=True, slots=True)
class _Page(Generic[T]):
    """A page to be read: what to take out of the file, and how to word it."""

    path: WsPath
    extract: Callable[[BinaryIO, int], T]
    finish: Callable[[Reading[T]], Result]


def _page(call: Call[ReadFileSettings], params: Params) -> _Page[Any]:
    path = call.workspace.parse(params.path, _given(params.path_bytes))
    mode: Mode = params.mode if params.mode is not UNSET else call.settings.mode
    return _lines_page(call, params, path) if mode == "lines" else _bytes_page(call, params, path)


def _bytes_page(call: Call[ReadFileSettings], params: Params, path: WsPath) -> _Page[tuple[BytePage, bytes]]:
    offset = 0 if params.offset is UNSET else params.offset
    wanted = call.settings.max_read_file_size if params.length is UNSET else params.length
    length = min(wanted, call.settings.max_read_file_size, _inline_bytes(call, path))

    def extract(source: BinaryIO, size: int) -> tuple[BytePage, bytes]:
        start = max(0, offset - pages.EDGE_BYTES)
        head = source.read(limits.BINARY_SNIFF_BYTES)
        source.seek(start)
        window = source.read(offset - start + length + pages.EDGE_BYTES)
        return pages.byte_page(window, start, size, offset, length), head

    def finish(reading: Reading[tuple[BytePage, bytes]]) -> Result:
        page, head = reading.found
        data = Data(
            **names_of(path, reading.real),
            **_facts(reading),
            offset=page.offset,
            length=len(page.data),
            next=None if page.eof else page.end,
            eof=page.eof,
            lossy=page.lossy,
            base64=_base64(call, params, page),
        )
        text = page.data.decode("utf-8", "replace")
        if page.offset == 0:
            text = text.removeprefix("\ufeff")
        segment = FileText(text, page.before.decode("utf-8", "replace"), page.after.decode("utf-8", "replace"))
        header = _byte_header(path, reading, page, offset) + _kind_note(head) + "\n\n"
        return Result(data, head=header, body=(segment,), keep_inline=_own(path))

    return _Page(path, extract, finish)


def _byte_header(path: WsPath, reading: Reading[tuple[BytePage, bytes]], page: BytePage, asked: int) -> str:
    parts = [f"{display.name(_base_name(path))}: {reading.size} bytes"]
    if page.data:
        parts.append(f"range {page.offset}-{page.end - 1}")
    elif reading.size:
        parts.append(f"offset {asked} is past the end")
    if page.data and page.offset != asked:
        parts.append(f"offset {asked} lies inside a character, so the page starts at its first byte")
    if page.lossy:
        parts.append("not UTF-8: invalid bytes are shown as U+FFFD")
    if reading.unstable:
        parts.append("the file changed while it was read")
    end = "[end of file]" if page.eof else f"[truncated: call again with offset={page.end}]"
    return ", ".join(parts) + " " + end


def _lines_page(call: Call[ReadFileSettings], params: Params, path: WsPath) -> _Page[LinePage | None]:
    settings = call.settings
    start_line = 1 if params.start_line is UNSET else params.start_line
    wanted = settings.max_lines if params.max_lines is UNSET else params.max_lines
    budget = min(settings.max_read_file_size, _inline_bytes(call, path))
    if params.encoding is not UNSET:
        raise Fault(
            Slug.WRONG_MODE_ARGUMENT, 'read_file: `encoding` is for byte mode: pass mode="bytes".', path="$.encoding"
        )

    def extract(source: BinaryIO, size: int) -> LinePage | None:
        _refuse_binary(source, path)
        return pages.line_page(source, start_line, min(wanted, settings.max_lines), budget, settings.max_line_length)

    def finish(reading: Reading[LinePage | None]) -> Result:
        page = reading.found or LinePage((), start_line, 0, 0, None, None, lossy=False)
        data = Data(
            **names_of(path, reading.real),
            **_facts(reading),
            start_line=page.start_line,
            end_line=page.end_line,
            file_bytes=page.file_bytes,
            output_bytes=page.output_bytes,
            cut_line=UNSET if page.cut_line is None else page.cut_line,
            next=page.next_line,
            eof=page.next_line is None,
            lossy=page.lossy,
        )
        rows = tuple((f"{row.line_no}|", row.text, row.rest, pages.CUT_MARK if row.cut else "") for row in page.rows)
        header = _line_header(path, reading, page) + "\n\n"
        return Result(data, head=header, body=(FileRows(rows),), keep_inline=_own(path))

    return _Page(path, extract, finish)


def _line_header(path: WsPath, reading: Reading[LinePage | None], page: LinePage) -> str:
    parts = [display.name(_base_name(path))]
    if page.rows:
        parts.append(f"lines {page.start_line}-{page.end_line}")
    elif page.start_line > 1:
        parts.append(f"line {page.start_line} is past the end")
    parts += [f"file_bytes {page.file_bytes}", f"output_bytes {page.output_bytes}"]
    if page.cut_line is not None:
        parts.append(f"line {page.cut_line} is longer than the byte budget and was cut in its middle")
    if page.lossy:
        parts.append("not UTF-8: invalid bytes are shown as U+FFFD")
    if reading.unstable:
        parts.append("the file changed while it was read")
    end = "[end of file]" if page.next_line is None else f"[truncated: call again with start_line={page.next_line}]"
    return ", ".join(parts) + " " + end


def _refuse_binary(source: BinaryIO, path: WsPath) -> None:
    head = source.read(limits.BINARY_SNIFF_BYTES)
    source.seek(0)
    if b"\0" in head:
        raise Fault(
            Slug.BINARY_FILE,
            f"{path.given} is no text{_kind_note(head)}, so it has no lines to number. "
            'Read its bytes with mode="bytes".',
            next_call=NextCall("read_file", {"path": path.given, "mode": "bytes"}),
        )


def _kind_note(head: bytes) -> str:
    if head.startswith(_UTF16_MARKS):
        return " [UTF-16 text: bytes are shown as they are]"
    return " [binary: a NUL byte in the first 8 KiB]" if b"\0" in head else ""


def _facts(reading: Reading[Any]) -> dict[str, Any]:
    return {
        "size": reading.size,
        "mtime_ns": reading.stamp.mtime_ns,
        "sha256": reading.sha256,
        "unstable": reading.unstable,
    }


def _base64(call: Call[ReadFileSettings], params: Params, page: BytePage) -> str | UnsetType:
    if params.encoding is UNSET:
        return UNSET
    if not call.actor.is_operator:
        raise Fault(
            Slug.OPERATOR_ONLY,
            "read_file: `encoding` is for operators: base64 cannot be redacted. Leave it out.",
            path="$.encoding",
        )
    return base64.b64encode(page.data[: limits.BASE64_MAX_BYTES]).decode()


def _inline_bytes(call: Call[ReadFileSettings], path: WsPath) -> int:
    """A page of a spilled result must fit inline, or reading it would spill again."""
    if not _own(path) or call.actor.is_operator:
        return limits.EDIT_MAX_BYTES
    return max(1, call.inline_chars - _HEAD_ROOM_CHARS)


def _own(path: WsPath) -> bool:
    return path.relative is not None and path.relative.split(b"/", 1)[0] == OWN_DIRECTORY


def _base_name(path: WsPath) -> bytes:
    return path.absolute.rsplit(b"/", 1)[-1]


def _given(path_bytes: str | UnsetType) -> str | None:
    return None if path_bytes is UNSET else path_bytes
