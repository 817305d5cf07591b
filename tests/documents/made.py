"""Documents made for tests: by the libraries themselves, and by hand where the file is to be hostile."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from tests.conftest import require

_CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def pdf(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A PDF document of these objects, the first of which is its catalog."""
    require("pypdfium2")
    out, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    end = b"trailer << /Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end


def pdf_pages(texts: Sequence[str]) -> bytes:
    """A PDF document with a line of text a page; "" is a page without any."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * index) for index in range(len(texts)))
    objects = [_CATALOG, b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(texts)), _FONT]
    for index, text in enumerate(texts):
        drawn = b"BT /F1 24 Tf 72 700 Td (%s) Tj ET" % text.encode() if text else b"1 0 0 rg 72 700 99 99 re f"
        objects += [_page(5 + 2 * index), b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn)]
    return pdf(objects)


def pdf_of_stream(packed: bytes) -> bytes:
    """A PDF document of one page, whose content is a packed stream."""
    stream = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed)
    return pdf([_CATALOG, b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>", _FONT, _page(5), stream])


def pdf_encrypted() -> bytes:
    """A PDF document that opens with a password only."""
    handler = b"<< /Filter /Standard /V 1 /R 2 /P -44 /O <%s> /U <%s> >>" % (b"41" * 32, b"42" * 32)
    pages = b"<< /Type /Pages /Kids [] /Count 0 >>"
    return pdf([_CATALOG, pages, handler], b"/Encrypt 3 0 R /ID [<00><00>] ")


def pdf_page_loop() -> bytes:
    """A PDF document whose page tree contains itself."""
    top = b"<< /Type /Pages /Kids [3 0 R 3 0 R] /Count 1000000 >>"
    return pdf([_CATALOG, top, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Parent 2 0 R /Count 500000 >>"])


def _page(content: int) -> bytes:
    resources = b"/Resources << /Font << /F1 3 0 R >> >>"
    return b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R %s >>" % (content, resources)


def docx(fill: Any = lambda document: document.add_paragraph("one paragraph")) -> bytes:
    """A DOCX document, filled by a function of python-docx's document."""
    require("docx")
    import docx as library

    document: Any = library.Document()
    fill(document)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def pptx(slides: Sequence[tuple[str, str, str]]) -> bytes:
    """A PPTX presentation of (title, body, notes) a slide."""
    require("pptx")
    import pptx as library

    presentation: Any = library.Presentation()
    for title, body, notes in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def rezipped(data: bytes, parts: Mapping[str, bytes]) -> bytes:
    """The same container with these parts replaced or added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, content in parts.items():
            new.writestr(name, content)
    return out.getvalue()


def with_lying_size(data: bytes, name: bytes, size: int) -> bytes:
    """The same container, whose directory declares another size for a part."""
    out = bytearray(data)
    entry = out.rfind(name) - 46  # its record in the central directory: 46 bytes, then the name
    assert out[entry : entry + 4] == b"PK\x01\x02"
    struct.pack_into("<I", out, entry + 24, size)
    return bytes(out)


def png(width: int, height: int, rows: int | None = None) -> bytes:
    """A PNG image; with fewer `rows` than `height` one that is cut off."""
    require("PIL")
    packed = zlib.compress((b"\0" + b"\x7f" * (3 * width)) * (height if rows is None else rows))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def picture(mode: str, size: tuple[int, int], name: str, **options: Any) -> bytes:
    """An image that Pillow makes: of this mode and size, in this format."""
    require("PIL")
    from PIL import Image

    out = io.BytesIO()
    Image.new(mode, size).save(out, name, **options)
    return out.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
