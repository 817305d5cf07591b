"""Which reader a file is for."""

import pytest

from picoclawd import limits
from picoclawd.documents.kinds import Kind, is_readable, sniff
from tests.documents import made


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"%PDF-1.7\n", Kind.PDF),
        (b"\x89PNG\r\n\x1a\n\0\0", Kind.IMAGE),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0", Kind.IMAGE),
        (b"RIFF\x10\0\0\0WEBPVP8 ", Kind.IMAGE),
        (b"\0\0\0\x18ftypavif", Kind.IMAGE),
        (b"PK\x03\x04\x14\0\0\0\x08\0[Content_Types].xml", Kind.OFFICE),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", Kind.OLE),
    ],
)
def test_the_content_decides_whatever_the_name_is(head: bytes, kind: Kind) -> None:
    for name in (b"data.dat", b"notes.txt", b"rows.csv"):
        mark = sniff(head, name)
        assert mark is not None
        assert mark.kind is kind


def test_the_reader_of_an_office_document_is_told_what_it_will_most_likely_need() -> None:
    found = [sniff(data[: limits.BINARY_SNIFF_BYTES], b"x") for data in (made.docx(), made.pptx([("a", "b", "c")]))]
    assert [mark and mark.readers for mark in found] == [("office", "docx"), ("office", "pptx")]
    plain = sniff(b"PK\x03\x04\x14\0\0\0\x08\0[Content_Types].xml", b"x")
    assert plain is not None
    assert plain.readers == ("office",)


def test_the_name_tells_a_table_from_other_text() -> None:
    mark = sniff(b"a,b\n1,2\n", b"Rows.CSV")
    assert mark is not None
    assert mark.kind is Kind.TABLE
    assert sniff(b"a,b\n1,2\n", b"rows.txt") is None
    assert sniff(b'{"json": true}\n', b"fake.png") is None


@pytest.mark.parametrize(
    "head", [b"", b"BM is a text", b"ID3 tags, explained", b"\0\0\0\0", b"PK\x03\x04\0\0plain.txt"]
)
def test_a_text_and_unknown_bytes_are_no_document(head: bytes) -> None:
    assert sniff(head, b"x") is None


def test_recordings_are_no_documents_and_are_read_all_the_same() -> None:
    for head in (b"RIFF\x10\0\0\0WAVEfmt ", b"\0\0\0\x18ftypisom"):
        assert sniff(head, b"x") is None
        assert is_readable(head)
    assert not is_readable(b"\0\0\0\0")
