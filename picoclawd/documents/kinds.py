"""Tell by its content which reader a document is for: a reader is added here first. `speech.kinds` tells recordings."""

from enum import StrEnum

import msgspec

from picoclawd.speech.kinds import recording
from picoclawd.text import encodings


class Kind(StrEnum):
    """What a file is, as far as its first bytes tell: each has one reader."""

    PDF = "pdf"
    OFFICE = "office"  # a zip container of Office Open XML: which program's, its reader finds out
    OLE = "ole"  # the container of Office up to 2003, and of encrypted files since
    IMAGE = "image"
    TABLE = "table"
    READABLE = "readable"  # a text that is asked to be rendered


class Mark(msgspec.Struct, frozen=True):
    """Bytes at a place near the start, and what begins with them, in words."""

    place: int
    magic: bytes
    kind: Kind
    words: str
    likely: str = ""  # the module that its reader will most likely turn to

    @property
    def readers(self) -> tuple[str, ...]:
        """The modules to import for it: its reader, and what that will need."""
        return (self.kind.value, self.likely) if self.likely else (self.kind.value,)


_PICTURE_BRANDS = (b"avif", b"avis", b"heic", b"heix", b"hevc", b"mif1", b"msf1")  # in the box that MP4 has, too
PDF = Mark(0, b"%PDF-", Kind.PDF, "PDF document")  # may begin with 8 KiB that look like text
# How binary files begin that hold a document. The first that fits counts.
MARKS: tuple[Mark, ...] = (
    Mark(0, b"\x89PNG\r\n\x1a\n", Kind.IMAGE, "PNG image"),
    Mark(0, b"\xff\xd8\xff", Kind.IMAGE, "JPEG image"),
    Mark(0, b"GIF8", Kind.IMAGE, "GIF image"),
    Mark(8, b"WEBP", Kind.IMAGE, "WebP image"),
    Mark(0, b"BM", Kind.IMAGE, "BMP image"),
    Mark(0, b"II*\0", Kind.IMAGE, "TIFF image"),
    Mark(0, b"MM\0*", Kind.IMAGE, "TIFF image"),
    Mark(0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Kind.OLE, "Office document in the format of 2003, or encrypted"),
    *(Mark(4, b"ftyp" + brand, Kind.IMAGE, "HEIF or AVIF image") for brand in _PICTURE_BRANDS),
)
OFFICE = Mark(0, b"PK\x03\x04", Kind.OFFICE, "Office document")
# Names of parts, which say that a zip container is Office's, and most likely what. The reader decides by all of them.
_OFFICE_PARTS = (
    (b"word/", msgspec.structs.replace(OFFICE, likely="docx")),
    (b"ppt/", msgspec.structs.replace(OFFICE, likely="pptx")),
    (b"[Content_Types].xml", OFFICE),
    (b"_rels/.rels", OFFICE),
)
TABLE = Mark(0, b"", Kind.TABLE, "table")
_TABLE_NAMES = (b".csv", b".tsv")


def sniff(head: bytes, name: bytes) -> Mark | None:
    """What a file is that begins with `head` (limits.BINARY_SNIFF_BYTES of it); None for text and for unknown bytes.

    The content decides; the name only tells tables from other text.
    """
    if head.startswith(PDF.magic):
        return PDF
    if not encodings.is_binary(head):
        return TABLE if name.lower().endswith(_TABLE_NAMES) else None
    return sniff_binary(head)


def sniff_binary(head: bytes) -> Mark | None:
    """What a file is that is known to be no text."""
    for mark in MARKS:
        if head.startswith(mark.magic, mark.place):
            return mark
    if head.startswith(OFFICE.magic):
        return next((mark for part, mark in _OFFICE_PARTS if part in head), None)
    return None


def is_readable(head: bytes) -> bool:
    """Whether read_files can read a file that is no text and begins so."""
    return sniff_binary(head) is not None or recording(head) is not None
