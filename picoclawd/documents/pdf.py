"""Read PDF documents by page: their text, and a page without any as a picture. The only user of pypdfium2."""

import importlib
from typing import Any, BinaryIO

import pypdfium2

from picoclawd.documents.units import Found, Picture, Taker, Unreadable, Wanted

_NO_TEXT = "[this page has no text: read it alone, with limit 1, to see it as an image]"
_AS_IMAGE = "[this page has no text: it is in `image`]"
_DAMAGED = "[this page is damaged]"
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_SECURITY = 5  # FPDF_ERR_SECURITY
_POINTS_PER_INCH = 72
_RENDER_DPI = 150  # what print is read at; the longest side bounds it


def read(source: BinaryIO, wanted: Wanted) -> Found:
    """Read pages. The picture is of the first page wanted, where that has no text. Raises: Unreadable."""
    document = _open(source)
    total = len(document)
    taker = Taker(wanted)
    picture: Picture | None = None
    for start, stop in wanted.windows:
        for number in range(start, min(stop, total + 1)):
            if taker.is_full:
                break
            text = _text(document, number)
            if text is None and number == wanted.first:
                raise Unreadable(f"its page tree is damaged: it declares {total} pages, but page {number} is not there")
            if text is None:
                taker.take(number, _DAMAGED)
                continue
            if not text and number == wanted.first:
                picture = _rendered(document, number)
            taker.take(number, text or (_NO_TEXT if picture is None or number != wanted.first else _AS_IMAGE))
    return Found("pdf", "page", total, tuple(taker.units), taker.is_short, picture=picture)


def _open(source: BinaryIO) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in (_PASSWORD, _SECURITY) or "assword" in str(error):
            raise Unreadable("it is encrypted: it opens with a password only") from error
        raise Unreadable("it is damaged or cut off: no PDF reader finds its pages") from error


def _text(document: pypdfium2.PdfDocument, number: int) -> str | None:
    """The page's text; None where there is no such page."""
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return None
    try:
        textpage = page.get_textpage()
        try:
            text: str = textpage.get_text_bounded()
        finally:
            textpage.close()
    finally:
        page.close()
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").strip()


def _rendered(document: pypdfium2.PdfDocument, number: int) -> Picture | None:
    image: Any = importlib.import_module("picoclawd.documents.image")  # 40 ms, and most pages have text
    page = document[number - 1]
    try:
        longest = max(page.get_size())
        if longest <= 0:
            return None
        scale = min(_RENDER_DPI / _POINTS_PER_INCH, image.LONGEST_PX / longest)
        picture: Picture = image.encode(page.render(scale=scale).to_pil().convert("RGB"), prefer_png=False)
        return picture
    finally:
        page.close()
