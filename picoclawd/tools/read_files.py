"""read_files: numbered rows of one or several files in one call, and the pages, slides and pictures of documents."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import msgspec
import trio
from msgspec import UNSET

from picoclawd import limits
from picoclawd.documents import charset
from picoclawd.documents.kinds import Mark
from picoclawd.errors import Fault, Slug
from picoclawd.files.paths import WsPath
from picoclawd.speech import kinds
from picoclawd.speech.kinds import Recording
from picoclawd.text import display, encodings, rows
from picoclawd.text.rows import Row, RowPage
from picoclawd.tools._failure import failure_of
from picoclawd.tools._heard import hear
from picoclawd.tools._names import names_of
from picoclawd.tools._read_contents import Content, Document, Speech, Text, document_of, mark_of, windows_of
from picoclawd.tools._read_files import Data, FileData, FileParam, Image, Params
from picoclawd.tools._reads import editor_notice, note_read
from picoclawd.tools._relevance import WITHHELD, Check
from picoclawd.tools._spec import READS, Call, Cleaner, Deferred, Plain, Result, Settings, tool
from picoclawd.workspace.crew import Crew
from picoclawd.workspace.documents import wanted_of
from picoclawd.workspace.questions import Question, Target
from picoclawd.workspace.read import Confirmed, Reading, Sensitive

_ROOM_OPERATOR_CHARS = limits.MIB  # an operator's answer is not spilled, but it must stay one message
_ROOM_MIN_CHARS = 200  # of one file's rows, however many files share the room
_FOOT_CHARS = 400  # what `_foot` takes at the most
_NAME_MAX_CHARS = 200  # of a name in `content`; `data` has it whole
_UNSHOWN_NAMED_MAX = 20  # of the rows that did not fit: enough for the next call

_IMAGES_MAX_BYTES = 8 * limits.MIB  # of base64 in one answer: it must stay one message


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
    with. Documents are read too: PDF by page, PPTX by slide, DOCX by block (a paragraph or a table's row), CSV and TSV
    by record; offset and limit count these. A picture comes as an image, a recording (audio or video) as its
    transcript. Files come in the order asked; one that cannot be read is a line that says why, and the others are
    still read. The same path may come more than once. Secrets are shown as [FILTERED]: never write that marker back
    into a file. To find something, search instead of reading files one after the other.
    """
    room = _ROOM_OPERATOR_CHARS if call.actor.is_operator else call.inline_chars
    parts = await _Readings(call, params.files, room).all()
    return Deferred(lambda cleaner: _result(parts, room, cleaner))


class _Part(msgspec.Struct, frozen=True):
    """A file's part of the answer: rows of a text or a transcript, or units of a document."""

    path: WsPath
    entry: FileParam
    reading: Reading[Any]
    content: Content
    notice: str

    @property
    def page(self) -> RowPage:
        return self.content.page


class _Seen(msgspec.Struct, frozen=True):
    """A document or a recording that is still to be read. `confirmed` is a person's word, where one was needed."""

    path: WsPath
    entry: FileParam
    reading: Reading[Any]
    what: Mark | Recording
    confirmed: Confirmed | None


class _Failed(msgspec.Struct, frozen=True):
    """A file that was not read."""

    entry: FileParam
    fault: Fault


class _Withheld(msgspec.Struct, frozen=True):
    """A file that the decision model found unrelated to the task: no read."""

    entry: FileParam
    path: WsPath
    real: bytes


_Entry = _Part | _Failed | _Withheld


class _Readings:
    """The files of one call: texts are read one after the other, documents and recordings beside that."""

    def __init__(self, call: Call[Settings], entries: Sequence[FileParam], room: int) -> None:
        self._call = call
        self._entries = entries
        self._room = room
        self._check = Check(call)
        self._parts: list[_Entry | _Seen] = []

    async def all(self) -> list[_Entry]:
        """Read them all. Raises: cancelled."""
        call, entries = self._call, self._entries
        async with call.workspace.documents.crew() as crew, trio.open_nursery() as nursery:
            for index, entry in enumerate(entries):
                if call.cancelled():
                    break
                if index:
                    call.progress(index, len(entries), "files read")
                part = await self._look(entry)
                self._parts.append(part)
                if isinstance(part, _Seen):
                    nursery.start_soon(self._finish, crew, part, index)
        done = [part for part in self._parts if not isinstance(part, _Seen)]
        stopped = any(isinstance(part, _Failed) and part.fault.slug is Slug.CANCELLED for part in done)
        if stopped or len(done) < len(entries):
            raise Fault(Slug.CANCELLED, "cancelled: the remaining files were not read.")
        return done

    async def _look(self, entry: FileParam) -> _Entry | _Seen:
        """Read a text; of anything else find out what it is."""
        call = self._call
        try:
            path = call.workspace.parse(entry.path, None if entry.path_bytes is UNSET else entry.path_bytes)
            extract = _extractor(entry, path, self._room, self._check)
            reading, confirmed = await _read_confirmed(call, entry, path, extract)
            if isinstance(reading.found, Mark | Recording):
                return _Seen(path, entry, reading, reading.found, confirmed)
            return await self._judged(path, entry, reading, reading.found, reading.found.head)
        except Fault as fault:
            return _Failed(entry, fault)

    async def _finish(self, crew: Crew, seen: _Seen, index: int) -> None:
        """Read a document or a recording, and put what came of it in the place of what was seen of it."""
        try:
            if isinstance(seen.what, Mark):
                self._parts[index] = await self._read_document(crew, seen, seen.what)
            else:
                self._parts[index] = await self._listen(seen, seen.what, index)
        except Fault as fault:
            self._parts[index] = _Failed(seen.entry, fault)

    async def _read_document(self, crew: Crew, seen: _Seen, mark: Mark) -> _Entry:
        wanted = wanted_of(seen.path, windows_of(seen.entry), self._room)
        documents = self._call.workspace.documents
        found = await documents.read(crew, seen.path, mark, seen.reading.stamp, wanted, seen.confirmed)
        head = self._check.head_of(text.encode("utf-8", "replace") for _, text in found.units)
        content = document_of(found, wanted, seen.entry, self._room)
        return await self._judged(seen.path, seen.entry, seen.reading, content, head)

    async def _listen(self, seen: _Seen, recording: Recording, index: int) -> _Entry:
        call, entry = self._call, seen.entry

        def tell(how_far: str) -> None:
            call.progress(index, len(self._entries), f"{entry.path}: {how_far}")

        heard = await hear(call, seen.path, recording, tell)
        chunks = heard.found.rows
        content = Speech(_page(chunks, entry, self._room), heard.found)
        return await self._judged(seen.path, entry, heard, content, self._check.head_of(chunks))

    async def _judged(
        self, path: WsPath, entry: FileParam, reading: Reading[Any], content: Content, head: bytes
    ) -> _Entry:
        """The file's part, unless the decision model withholds it."""
        call = self._call
        if entry.around is UNSET and await self._check.withholds(reading, path.absolute, head):
            return _Withheld(entry, path, reading.real)
        note_read(call, reading)
        return _Part(path, entry, reading, content, editor_notice(call, reading.real))


_Extracted = Text | Mark | Recording


async def _read_confirmed(
    call: Call[Settings], entry: FileParam, path: WsPath, extract: Callable[[BinaryIO, int], _Extracted]
) -> tuple[Reading[_Extracted], Confirmed | None]:
    """Read one file; of a sensitive one a person is asked first, whatever the policy for other calls is."""
    reader = call.workspace.reader
    try:
        return await reader.read(path, extract), None
    except Fault as fault:
        sensitive = await reader.examine(path) if fault.slug is Slug.PROTECTED_PATH else None
        if sensitive is None:
            raise
        confirmed = await _confirmed(call, entry, sensitive)
        return await reader.read(path, extract, confirmed), confirmed


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
            waits=call.waits,
        )

    granted = await call.workspace.confirmations.wait(question(sensitive.target))
    return lambda target: granted.check_again(question(target))


def _extractor(entry: FileParam, path: WsPath, max_chars: int, check: Check) -> Callable[[BinaryIO, int], _Extracted]:
    def extract(source: BinaryIO, size: int) -> _Extracted:
        start = source.read(limits.BINARY_SNIFF_BYTES)
        recording = kinds.recording(start)
        if recording is not None:
            return recording
        mark = mark_of(start, entry, path)
        if mark is not None:
            return mark
        encoding = encodings.detect(source, charset.guess)
        head = check.head_of(encodings.utf8_chunks(source, encoding))
        return Text(_page(encodings.utf8_chunks(source, encoding), entry, max_chars), encoding, head)

    return extract


def _page(chunks: Iterable[bytes], entry: FileParam, max_chars: int) -> RowPage:
    if entry.around is not UNSET:
        return rows.around(iter(chunks), entry.around, entry.context, max_chars)
    return rows.page(iter(chunks), entry.offset, entry.limit, max_chars)


def _result(parts: Sequence[_Entry], room: int, cleaner: Cleaner) -> Result:
    titles = [_title(part.entry) if len(parts) > 1 else "" for part in parts]
    fixed = sum(len(title) + len(_fixed_text(part)) + len("\n\n") for title, part in zip(titles, parts, strict=True))
    needs = [part.page.cost + _FOOT_CHARS if isinstance(part, _Part) else 0 for part in parts]
    blocks: list[str] = []
    files: list[FileData] = []
    images_room = _IMAGES_MAX_BYTES
    for part, title, share in zip(parts, titles, rows.shares(needs, room - fixed), strict=True):
        if not isinstance(part, _Part):
            blocks.append(title + _fixed_text(part))
            files.append(_failure(part) if isinstance(part, _Failed) else _withheld(part))
        else:
            page = _shown(part.page, max(_ROOM_MIN_CHARS, share - _FOOT_CHARS), cleaner)
            image, images_room = _image(part, images_room)
            notes = (page.text(), _foot(part, page), _fixed_text(part), _no_image(part, image))
            blocks.append(title + "\n".join(filter(None, notes)))
            files.append(_file_data(part, page, image))
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
    notes = [part.notice] if part.notice else []
    notes += part.content.notes
    if part.reading.unstable:
        notes.append("[the file changed while it was read]")
    return "\n".join(notes)


def _foot(part: _Part, page: RowPage) -> str:
    """How to go on, and why there is less than was asked for."""
    notes = []
    units = part.content.units
    if page.next_offset is not None:
        unshown = ", ".join(map(str, page.unshown[:_UNSHOWN_NAMED_MAX]))
        again = f"around=[{unshown}]" if unshown else f"offset={page.next_offset}"
        notes.append(f"[{units} {page.rows[0].line_no}-{page.end} of {page.total}; call again with {again} for more]")
    if page.cut_row is not None:
        notes.append(part.content.cut_note(page.cut_row))
    if not page.total:
        notes += part.content.empty_note
    elif not page.rows and not page.anchors:
        notes.append(f"[offset {page.start} is past the end: the last {part.content.unit} is {page.total}]")
    elif page.anchors and page.anchors[-1] > page.total:
        notes.append(f"[{part.content.unit}s asked for are past the end: the last {part.content.unit} is {page.total}]")
    return "\n".join(notes)


def _image(part: _Part, room_bytes: int) -> tuple[Image | None, int]:
    """The part's image if there is still room for it, and what room is left."""
    image = part.content.image if isinstance(part.content, Document) else None
    if image is None or len(image.base64) > room_bytes:
        return None, room_bytes
    return image, room_bytes - len(image.base64)


def _no_image(part: _Part, image: Image | None) -> str:
    is_left_out = isinstance(part.content, Document) and part.content.image is not None and image is None
    return "[its picture is left out, there are too many: read it alone]" if is_left_out else ""


def _file_data(part: _Part, page: RowPage, image: Image | None) -> FileData:
    content, reading = part.content, part.reading
    return FileData(
        **names_of(part.path, reading.real),
        format=content.format,
        encoding=content.encoding_name,
        start=page.rows[0].line_no if page.rows else page.start,
        end=page.end,
        total=page.total,
        next_offset=page.next_offset,
        eof=page.eof,
        cut_row=UNSET if page.cut_row is None else page.cut_row,
        lossy=content.is_lossy or UNSET,
        unstable=reading.unstable or UNSET,
        quality="draft" if isinstance(content, Speech) and content.heard.transcript.draft else UNSET,
        sha256=reading.sha256,
        image=image,
    )


def _failure(part: _Failed) -> FileData:
    return FileData(path=part.entry.path, path_bytes=part.entry.path_bytes, error=failure_of(part.fault))


def _withheld(part: _Withheld) -> FileData:
    return FileData(**names_of(part.path, part.real), withheld=True)
