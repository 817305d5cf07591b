"""What read_files found in one file: the rows of a text, or the units of a document."""

import base64
from typing import ClassVar

import msgspec
from msgspec import UNSET

from picoclawd.documents import kinds
from picoclawd.documents.kinds import Kind, Mark
from picoclawd.documents.units import Found, Wanted
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files import paths
from picoclawd.files.paths import WsPath
from picoclawd.text import encodings, rows
from picoclawd.text.rows import Row, RowPage
from picoclawd.tools._heard import Heard
from picoclawd.tools._read_files import FileParam, Image

_HEADED = frozenset({"page", "slide", "cell"})  # units of several lines, each with a line above it that names it
_READABLE = Mark(0, b"", Kind.READABLE, "text")


class Text(msgspec.Struct, frozen=True):
    """What was taken out of a text. `head` is its beginning, where the decision model is to be asked."""

    page: RowPage
    encoding: encodings.Encoding
    head: bytes = b""
    format: ClassVar[str] = "text"
    unit: ClassVar[str] = "row"
    units: ClassVar[str] = "lines"

    @property
    def encoding_name(self) -> str:
        """The codec's name."""
        return self.encoding.name

    @property
    def is_lossy(self) -> bool:
        """Whether some bytes are not of the encoding."""
        return self.encoding.lossy

    @property
    def notes(self) -> list[str]:
        """What is to be known of it, a line each."""
        notes = [f"[decoded from {self.encoding.name}]"] if self.encoding.name != "utf-8" else []
        return [*notes, "[not UTF-8 throughout: invalid bytes are shown as U+FFFD]"] if self.is_lossy else notes

    @property
    def empty_note(self) -> list[str]:
        """What is said where there is nothing in it."""
        return ["[the file is empty]"]

    def cut_note(self, number: int) -> str:
        """What is said of the row that alone does not fit."""
        return f'[row {number} alone does not fit: read_file with mode="bytes" shows all of it]'


class Document(msgspec.Struct, frozen=True):
    """What a worker took out of a document."""

    found: Found
    page: RowPage
    image: Image | None

    @property
    def format(self) -> str:
        """The format, in a word."""
        return self.found.format

    @property
    def unit(self) -> str:
        """What one of its units is called."""
        return self.found.unit

    @property
    def units(self) -> str:
        """What several are called."""
        return f"{self.found.unit}s"

    @property
    def encoding_name(self) -> str | None:
        """The codec's name, of a table and of what was rendered from text."""
        return self.found.encoding

    @property
    def is_lossy(self) -> bool:
        """Whether some bytes are not of the encoding: said in the notes."""
        return False

    @property
    def notes(self) -> list[str]:
        """What is to be known of it, a line each."""
        name = self.found.encoding
        return [*([] if name in (None, "utf-8") else [f"[decoded from {name}]"]), *self.found.notes]

    @property
    def empty_note(self) -> list[str]:
        """What is said where there is nothing in it."""
        return ["[there is no text in it]"]

    def cut_note(self, number: int) -> str:
        """What is said of the unit that alone does not fit."""
        return f"[{self.unit} {number} alone does not fit: the rest of it is not shown]"


class Speech(msgspec.Struct, frozen=True):
    """What is said in a recording."""

    page: RowPage
    heard: Heard
    unit: ClassVar[str] = "row"
    units: ClassVar[str] = "lines"
    encoding_name: ClassVar[str | None] = None
    is_lossy: ClassVar[bool] = False

    @property
    def format(self) -> str:
        """The format, in a word."""
        return self.heard.kind.format

    @property
    def notes(self) -> list[str]:
        """What is to be known of it, a line each."""
        return self.heard.notes

    @property
    def empty_note(self) -> list[str]:
        """Nothing: the notes say that nobody speaks."""
        return []

    def cut_note(self, number: int) -> str:
        """What is said of the row that alone does not fit."""
        return f"[row {number} alone does not fit: the rest of it is not shown]"


Content = Text | Document | Speech


def mark_of(head: bytes, entry: FileParam, path: WsPath) -> Mark | None:
    """Which reader a file is for that begins with `head`; None for text that is shown by row.

    Raises: binary_file.
    """
    as_bytes = NextCall("read_file", {"path": path.given, "mode": "bytes"})
    mark = kinds.sniff(head, paths.split(path.absolute)[1])
    if mark is kinds.TABLE and entry.around is not UNSET:
        return None  # rows that a search found: lines of the file
    if mark is not None:
        return mark
    if encodings.is_binary(head):
        raise Fault(
            Slug.BINARY_FILE,
            f"{path.given} is no text (a NUL byte in the first 8 KiB), so it has no rows. "
            'Read its bytes with read_file and mode="bytes".',
            next_call=as_bytes,
        )
    return _READABLE if entry.as_ == "readable" else None


def windows_of(entry: FileParam) -> tuple[tuple[int, int], ...]:
    """The units that are asked for: (first, past the last), ascending and apart."""
    if entry.around is UNSET:
        return ((entry.offset, entry.offset + entry.limit),)
    return tuple((each.start, each.stop) for each in rows.windows(sorted(set(entry.around)), entry.context))


def document_of(found: Found, wanted: Wanted, entry: FileParam, max_chars: int) -> Document:
    """A document's units as rows that fit, and its picture as it is sent."""
    page = RowPage(
        rows=tuple(Row(number, text, heading=_heading(found, number)) for number, text in found.units),
        start=wanted.first,
        total=found.total,
        anchors=() if entry.around is UNSET else tuple(sorted(set(entry.around))),
        is_short=found.is_short,
    )
    return Document(found, rows.fit(page, max_chars), _image(found))


def _heading(found: Found, number: int) -> str:
    return f"[{found.unit} {number} of {found.total}]" if found.unit in _HEADED else ""


def _image(found: Found) -> Image | None:
    picture = found.picture
    if picture is None:
        return None
    encoded = base64.b64encode(picture.data).decode()
    return Image(mime=picture.mime, width=picture.width, height=picture.height, base64=encoded)
