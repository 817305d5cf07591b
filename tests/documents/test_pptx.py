"""PPTX by slide, with notes."""

import io
import re
import zipfile

from tests.documents import made
from tests.documents.reading import read

SLIDES = [("One", "first body", "say hello"), ("Two", "second body", ""), ("Three", "line\nline", "say bye")]


def test_a_slide_is_its_title_its_text_and_its_notes() -> None:
    found = read("pptx", made.pptx(SLIDES))
    assert found.units == (
        (1, "# One\nfirst body\nNotes: say hello"),
        (2, "# Two\nsecond body"),
        (3, "# Three\nline\nline\nNotes: say bye"),
    )
    assert (found.format, found.unit, found.total) == ("pptx", "slide", 3)


def test_slides_are_read_by_number() -> None:
    found = read("pptx", made.pptx(SLIDES), (2, 3))
    assert found.units == ((2, "# Two\nsecond body"),)
    assert found.total == 3


def test_notes_that_are_a_box_of_their_own_are_read_too() -> None:
    """As LibreOffice writes them, where nothing says that the box is the notes'."""
    data = made.pptx([("Title", "body", "say hello")])
    name = "ppt/notesSlides/notesSlide1.xml"
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        notes = packed.read(name)
    unmarked = re.sub(rb'<p:ph type="body"[^>]*/>', b"", notes)
    assert unmarked != notes
    ((_number, text),) = read("pptx", made.rezipped(data, {name: unmarked})).units
    assert text == "# Title\nbody\nNotes: say hello"
