"""read_files: numbered rows of one or several files in one call."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import msgspec
from msgspec import UNSET

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files.paths import WsPath
from picoclawd.speech import kinds
from picoclawd.speech.kinds import Recording
from picoclawd.text import display, encodings, rows
from picoclawd.text.rows import Row, RowPage
from picoclawd.tools._failure import failure_of
from picoclawd.tools._heard import Heard, hear
from picoclawd.tools._names import names_of
from picoclawd.tools._read_files import Data, FileData, FileParam, Params
from picoclawd.tools._reads import editor_notice, note_read
from picoclawd.tools._relevance import WITHHELD, Check
from picoclawd.tools._spec import READS, Call, Cleaner, Deferred, Plain, Result, Settings, tool
from picoclawd.workspace.questions import Question, Target
from picoclawd.workspace.read import Confirmed, Reading, Sensitive

_ROOM_OPERATOR_CHARS = limits.MIB  # an operator's answer is not spilled, but it must stay one message
_ROOM_MIN_CHARS = 200  # of one file's rows, however many files share the room
_FOOT_CHARS = 400  # what `_foot` takes at the most
_NAME_MAX_CHARS = 200  # of a name in `content`; `data` has it whole
_UNSHOWN_NAMED_MAX = 20  # of the rows that did not fit: enough for the next call

_PDF = b"%PDF-"  # may begin with 8 KiB that look like text
# How binary files begin that hold a document.
_DOCUMENTS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "PNG image"),
    (0, b"\xff\xd8\xff", "JPEG image"),
    (0, b"GIF8", "GIF image"),
    (8, b"WEBP", "WebP image"),
    (4, b"ftyp", "HEIF or AVIF image"),
)
_OFFICE = (b"[Content_Types].xml", b"word/", b"ppt/")


def _check(settings: Settings, params: dict[str, Any]) -> None:
    """Refuse an entry that names no file, before any is read."""
    files = params.get("files")
    for index, entry in enumerate(files if isinstance(files, list) else []):
        if isinstance(entry, dict) and not ("path" in entry or "path_bytes" in entry):
            raise Fault(
                Slug.INVALID_PARAMS, f"read_files: files[{index}] names no `path`.", path=f"$.files[{index}].path"
            )


def _paths(params: dict[str, Any]) -> tuple[object, ...]:
    """Every file's path: a read comes after the writes to any of them that were sent before it."""
    return tuple(entry.get("path_bytes") or entry.get("path") or "" for entry in params["files"])


@tool(
    title="Read files",
    hints=READS,
    params=Params,
    data=Data,
    settings=Settings,
    paths=_paths,
    check=_check,
    rows_field="files",
    omit_base64=False,
)
async def read_files(call: Call[Settings], params: Params) -> Deferred:
    """Read one or several files in one call, as numbered rows.

    Use it before changing a file with edit_file, and to look at what a search found: pass its row numbers as `around`
    to see them with the rows beside them. Each row is shown as `<row>`, a tab, and the line; number and tab are not in
    the file, so strip them before you reuse a row as an anchor. A page that was cut ends with the offset to go on
    with. A recording (audio or video) comes as its transcript. Files come in the order asked; one that cannot be read
    is a line that says why, and the others are still read. The same path may come more than once. Secrets are shown as
    [FILTERED]: never write that marker back into a file. To find something, search instead of reading files one after
    the other.
    """
    room = _ROOM_OPERATOR_CHARS if call.actor.is_operator else call.inline_chars
    parts: list[_Entry] = []
    check = Check(call)
    for index, entry in enumerate(params.files):
        if call.cancelled():
            raise Fault(Slug.CANCELLED, "cancelled: the remaining files were not read.")
        if index:
            call.progress(index, len(params.files), "files read")

        def tell(how_far: str, index: int = index, path: str = entry.path) -> None:
            call.progress(index, len(params.files), f"{path}: {how_far}")

        parts.append(await _part(call, entry, room, _Aids(check, tell)))
    return Deferred(lambda cleaner: _result(parts, room, cleaner))


@dataclass(frozen=True, slots=True)
class _Found:
    """What was taken out of a text."""

    page: RowPage
    encoding: encodings.Encoding
    head: bytes
    heard: Heard | None = None


@dataclass(frozen=True, slots=True)
class _Aids:
    """What goes along from file to file: the decision model, and whom to tell how far a file is."""

    check: Check
    tell: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Part:
    """A file's part of the answer."""

    path: WsPath
    entry: FileParam
    reading: Reading[_Found]
    notice: str

    @property
    def page(self) -> RowPage:
        return self.reading.found.page


@dataclass(frozen=True, slots=True)
class _Failed:
    """A file that was not read."""

    entry: FileParam
    fault: Fault


@dataclass(frozen=True, slots=True)
class _Withheld:
    """A file that the decision model found unrelated to the task: no read."""

    entry: FileParam
    path: WsPath
    real: bytes


_Entry = _Part | _Failed | _Withheld


async def _part(call: Call[Settings], entry: FileParam, room: int, aids: _Aids) -> _Entry:
    try:
        path = call.workspace.parse(entry.path, None if entry.path_bytes is UNSET else entry.path_bytes)
        reading = await _read_confirmed(call, entry, path, room, aids)
        if entry.around is UNSET and await aids.check.withholds(reading, path.absolute, reading.found.head):
            return _Withheld(entry, path, reading.real)
        note_read(call, reading)
        return _Part(path, entry, reading, editor_notice(call, reading.real))
    except Fault as fault:
        if fault.slug is Slug.CANCELLED:
            raise
        return _Failed(entry, fault)


async def _read_confirmed(
    call: Call[Settings], entry: FileParam, path: WsPath, room: int, aids: _Aids
) -> Reading[_Found]:
    """Read one file; of a sensitive one a person is asked first, whatever the policy for other calls is."""
    reader, extract = call.workspace.reader, _extractor(entry, path, room, aids.check)
    try:
        reading = await reader.read(path, extract)
    except Fault as fault:
        sensitive = await reader.examine(path) if fault.slug is Slug.PROTECTED_PATH else None
        if sensitive is None:
            raise
        reading = await reader.read(path, extract, await _confirmed(call, entry, sensitive))
    if not isinstance(reading.found, Recording):
        return _with(reading, reading.found)
    heard = await hear(call, path, reading.found, aids.tell)
    chunks = heard.found.rows
    page = _page(chunks, entry, room)
    return _with(heard, _Found(page, encodings.Encoding("utf-8"), aids.check.head_of(chunks), heard.found))


def _with(reading: Reading[Any], found: _Found) -> Reading[_Found]:
    return msgspec.structs.replace(reading, found=found)


async def _confirmed(call: Call[Settings], entry: FileParam, sensitive: Sensitive) -> Confirmed:
    """A person's word that this very file may be read."""

    def question(target: Target) -> Question:
        return Question(
            actor=call.actor,
            method=call.tool,
            params={"files": [msgspec.to_builtins(entry)]},
            target=target,
            reason=sensitive.reason,
            task=call.task,
            always=True,
        )

    granted = await call.workspace.confirmations.wait(question(sensitive.target))
    return lambda target: granted.check_again(question(target))


def _extractor(
    entry: FileParam, path: WsPath, max_chars: int, check: Check
) -> Callable[[BinaryIO, int], _Found | Recording]:
    def extract(source: BinaryIO, size: int) -> _Found | Recording:
        start = source.read(limits.BINARY_SNIFF_BYTES)
        recording = kinds.recording(start)
        if recording is not None:
            return recording
        _refuse_no_text(start, entry, path)
        encoding = encodings.detect(source)
        head = check.head_of(encodings.utf8_chunks(source, encoding))
        return _Found(_page(encodings.utf8_chunks(source, encoding), entry, max_chars), encoding, head)

    return extract


def _page(chunks: Iterable[bytes], entry: FileParam, max_chars: int) -> RowPage:
    if entry.around is not UNSET:
        return rows.around(iter(chunks), entry.around, entry.context, max_chars)
    return rows.page(iter(chunks), entry.offset, entry.limit, max_chars)


def _refuse_no_text(head: bytes, entry: FileParam, path: WsPath) -> None:
    """The place where readers for documents are chosen, by what the content is: so far there is none."""
    as_bytes = NextCall("read_file", {"path": path.given, "mode": "bytes"})
    document = _document(head)
    if document is not None:
        raise Fault(
            Slug.READER_NOT_INSTALLED,
            f"{path.given} is a {document}, and this daemon has no reader for it. "
            'read_file with mode="bytes" shows its bytes.',
            next_call=as_bytes,
        )
    if encodings.is_binary(head):
        raise Fault(
            Slug.BINARY_FILE,
            f"{path.given} is no text (a NUL byte in the first 8 KiB), so it has no rows. "
            'Read its bytes with read_file and mode="bytes".',
            next_call=as_bytes,
        )
    if entry.as_ == "readable":
        raise Fault(Slug.UNSUPPORTED_FORMAT, f"{path.given} is shown as text only: leave `as` out to get its rows.")


def _document(head: bytes) -> str | None:
    """What kind of document begins so; None for text, also where a text's words are some format's mark."""
    if head.startswith(_PDF):
        return "PDF document"
    if not encodings.is_binary(head):
        return None
    for place, magic, name in _DOCUMENTS:
        if head.startswith(magic, place):
            return name
    if head.startswith(b"PK\x03\x04") and any(name in head for name in _OFFICE):
        return "Office document"
    return None


def _result(parts: Sequence[_Entry], room: int, cleaner: Cleaner) -> Result:
    titles = [_title(part.entry) if len(parts) > 1 else "" for part in parts]
    fixed = sum(len(title) + len(_fixed_text(part)) + len("\n\n") for title, part in zip(titles, parts, strict=True))
    needs = [part.page.cost + _FOOT_CHARS if isinstance(part, _Part) else 0 for part in parts]
    blocks: list[str] = []
    files: list[FileData] = []
    for part, title, share in zip(parts, titles, rows.shares(needs, room - fixed), strict=True):
        if not isinstance(part, _Part):
            blocks.append(title + _fixed_text(part))
            files.append(_failure(part) if isinstance(part, _Failed) else _withheld(part))
        else:
            page = _shown(part.page, max(_ROOM_MIN_CHARS, share - _FOOT_CHARS), cleaner)
            is_silent = part.reading.found.heard is not None and not page.total
            foot = "" if is_silent else _foot(page)
            blocks.append(title + "\n".join(filter(None, (page.text(), foot, _fixed_text(part)))))
            files.append(_file_data(part, page))
    content = "\n\n".join(blocks)
    return Result(Data(files=files), body=(Plain(content),), keep_inline=len(content) <= room)


def _shown(page: RowPage, budget_chars: int, cleaner: Cleaner) -> RowPage:
    """The rows that fit, as their reader may see them. They are masked before they are cut for good: a cut could hide
    what a secret is known by, and a notice may be longer than what it stands for."""
    small = rows.fit(page, budget_chars)
    whole = "\n".join(row.text + row.rest for row in small.rows)
    if cleaner.clean(whole) == whole:
        return small
    return rows.fit(replace(small, rows=tuple(_cleaned(row, cleaner) for row in small.rows)), budget_chars)


def _cleaned(row: Row, cleaner: Cleaner) -> Row:
    if not row.rest:
        return replace(row, text=cleaner.clean(row.text))
    text, _, end = cleaner.clean_line(row.text + row.rest, 0, len(row.text))
    return replace(row, text=text[:end], rest=text[end:])


def _title(entry: FileParam) -> str:
    name = display.name(entry.path.encode("utf-8", "replace")) if entry.path_bytes is UNSET else entry.path_bytes
    return f"== {name if len(name) <= _NAME_MAX_CHARS else '…' + name[-_NAME_MAX_CHARS:]} ==\n"


def _fixed_text(part: _Entry) -> str:
    """What an entry says whatever room there is: why it failed, or what is to be known of the text."""
    if isinstance(part, _Failed):
        return f"[{part.fault.slug.value}] {' '.join(part.fault.message.splitlines())}"
    if isinstance(part, _Withheld):
        return WITHHELD
    encoding, notes = part.reading.found.encoding, [part.notice] if part.notice else []
    if encoding.name != "utf-8":
        notes.append(f"[decoded from {encoding.name}]")
    if encoding.lossy:
        notes.append("[not UTF-8 throughout: invalid bytes are shown as U+FFFD]")
    if part.reading.unstable:
        notes.append("[the file changed while it was read]")
    if part.reading.found.heard is not None:
        notes += part.reading.found.heard.notes
    return "\n".join(notes)


def _foot(page: RowPage) -> str:
    """How to go on, and why there is less than was asked for."""
    notes = []
    if page.next_offset is not None:
        unshown = ", ".join(map(str, page.unshown[:_UNSHOWN_NAMED_MAX]))
        again = f"around=[{unshown}]" if unshown else f"offset={page.next_offset}"
        notes.append(f"[lines {page.rows[0].line_no}-{page.end} of {page.total}; call again with {again} for more]")
    if page.cut_row is not None:
        notes.append(f'[row {page.cut_row} alone does not fit: read_file with mode="bytes" shows all of it]')
    if not page.total:
        notes.append("[the file is empty]")
    elif not page.rows and not page.anchors:
        notes.append(f"[offset {page.start} is past the end: the last row is {page.total}]")
    elif page.anchors and page.anchors[-1] > page.total:
        notes.append(f"[rows asked for are past the end: the last row is {page.total}]")
    return "\n".join(notes)


def _file_data(part: _Part, page: RowPage) -> FileData:
    found, reading = part.reading.found, part.reading
    heard = found.heard
    return FileData(
        **names_of(part.path, reading.real),
        format=heard.kind.format if heard else "text",
        encoding=None if heard else found.encoding.name,
        start=page.rows[0].line_no if page.rows else page.start,
        end=page.end,
        total=page.total,
        next_offset=page.next_offset,
        eof=page.eof,
        cut_row=UNSET if page.cut_row is None else page.cut_row,
        lossy=found.encoding.lossy or UNSET,
        unstable=reading.unstable or UNSET,
        quality="draft" if heard and heard.transcript.draft else UNSET,
        sha256=reading.sha256,
    )


def _withheld(part: _Withheld) -> FileData:
    return FileData(**names_of(part.path, part.real), withheld=True)


def _failure(part: _Failed) -> FileData:
    return FileData(path=part.entry.path, path_bytes=part.entry.path_bytes, error=failure_of(part.fault))
