"""PDF by page."""

import pytest

from picoclawd.documents.units import Unreadable
from tests.documents import made
from tests.documents.reading import read


def test_pages_are_read_by_number_and_joined_equal_the_whole() -> None:
    texts = [f"page {number} words" for number in range(1, 8)]
    data = made.pdf_pages(texts)
    assert read("pdf", data).units == tuple(enumerate(texts, 1))
    paged = [read("pdf", data, (number, number + 1)).units[0] for number in range(1, 8)]
    assert paged == list(enumerate(texts, 1))
    found = read("pdf", data, (3, 4), (6, 9))
    assert (found.format, found.unit, found.total) == ("pdf", "page", 7)
    assert [number for number, _ in found.units] == [3, 6, 7]


def test_reading_ends_where_there_is_enough() -> None:
    found = read("pdf", made.pdf_pages(["seven words are here on this page"] * 9), max_chars=80)
    assert found.is_short
    assert len(found.units) == 3
    assert found.total == 9


def test_a_page_without_text_is_a_picture_where_it_is_the_first_asked_for() -> None:
    data = made.pdf_pages(["words", "", ""])
    found = read("pdf", data, (2, 3))
    assert found.picture is not None
    assert found.picture.mime == "image/jpeg"
    assert max(found.picture.width, found.picture.height) <= 1568
    assert "`image`" in found.units[0][1]
    whole = read("pdf", data)
    assert whole.picture is None
    assert "read it alone" in whole.units[1][1]


def test_past_the_end_there_is_no_page() -> None:
    assert read("pdf", made.pdf_pages(["words"]), (5, 6)).units == ()


@pytest.mark.parametrize("cut", [b"%PDF-1.7\nwords", b"%PDF-1.7\n" + b"\0" * 5000])
def test_a_cut_off_document_is_said_to_be_damaged(cut: bytes) -> None:
    made.pdf_pages(["words"])
    with pytest.raises(Unreadable, match="damaged or cut off"):
        read("pdf", cut)


def test_an_encrypted_document_is_said_to_be_encrypted() -> None:
    with pytest.raises(Unreadable, match="password"):
        read("pdf", made.pdf_encrypted())


def test_a_page_tree_that_contains_itself_is_said_to_be_damaged() -> None:
    with pytest.raises(Unreadable, match="page tree is damaged"):
        read("pdf", made.pdf_page_loop())
