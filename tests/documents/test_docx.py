"""DOCX by block, in document order."""

from typing import Any

from tests.documents import made
from tests.documents.reading import read


def _fill(document: Any) -> None:
    document.add_heading("Report", 0)
    document.add_heading("First part", 1)
    document.add_paragraph("before the table")
    table = document.add_table(2, 2)
    for index, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {index}"
    document.add_paragraph("")
    document.add_paragraph("after it", style="List Bullet")
    document.add_paragraph().add_run("tab\tand\nbreak")


BLOCKS = (
    "# Report",
    "# First part",
    "before the table",
    "| cell 0 | cell 1 |",
    "| cell 2 | cell 3 |",
    "- after it",
    "tab\tand\nbreak",
)


def test_paragraphs_and_rows_of_tables_come_in_document_order() -> None:
    found = read("docx", made.docx(_fill))
    assert found.units == tuple(enumerate(BLOCKS, 1))
    assert (found.format, found.unit, found.total) == ("docx", "block", len(BLOCKS))


def test_a_page_of_blocks_knows_how_many_there_are() -> None:
    found = read("docx", made.docx(_fill), (4, 6))
    assert found.units == ((4, BLOCKS[3]), (5, BLOCKS[4]))
    assert found.total == len(BLOCKS)


def test_inserted_text_counts_and_deleted_text_does_not() -> None:
    def fill(document: Any) -> None:
        document.add_paragraph("MARK")

    word = b'w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = (
        b"<w:document xmlns:%s><w:body><w:p><w:r><w:t>kept </w:t></w:r>"
        b"<w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>"
        b"<w:sdt><w:sdtContent><w:p><w:r><w:t>in a control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        b"</w:body></w:document>" % word
    )
    found = read("docx", made.rezipped(made.docx(fill), {"word/document.xml": body}))
    assert found.units == ((1, "kept new"), (2, "in a control"))
