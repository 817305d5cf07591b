"""CSV and TSV by row."""

import codecs
import csv
import io

from hypothesis import example, given
from hypothesis import strategies as st

from tests.documents.reading import read

ROWS = "name,qty\n" + "".join(f"item{number},{number}\n" for number in range(1, 5001))


def test_the_header_is_row_1_and_rows_stand_as_in_the_file() -> None:
    found = read("table", ROWS.encode(), (1, 2), (4000, 4002), name="t.csv")
    assert found.units == ((1, "name,qty"), (4000, "item3999,3999"), (4001, "item4000,4000"))
    assert (found.format, found.unit, found.total, found.encoding) == ("csv", "row", 5001, "utf-8")


def test_a_record_may_reach_over_several_lines() -> None:
    found = read("table", b'a,b\r\n1,"two\nlines, ""quoted"""\r\n3,4\r\n', name="t.csv")
    assert found.units == ((1, "a,b"), (2, '1,"two\nlines, ""quoted"""'), (3, "3,4"))


def test_tabs_and_semicolons_are_told() -> None:
    assert read("table", b"a\tb\n1\t2\n3\t4\n", name="t.tsv").format == "tsv"
    found = read("table", b"a;b\n1;2\n3;4\n", name="t.csv")
    assert (found.format, found.notes) == ("csv", ("[columns are parted by ';']",))


def test_other_encodings_are_decoded() -> None:
    wide = codecs.BOM_UTF16_LE + 'a,"é"\n1,2\n'.encode("utf-16-le")
    found = read("table", wide, name="t.csv")
    assert found.units == ((1, 'a,"é"'), (2, "1,2"))
    assert found.encoding == "utf-16-le"


def test_a_quote_that_is_never_closed_makes_lines_of_rows() -> None:
    found = read("table", b'a,"unclosed\n' + b"1,2\n" * 100_000, (100_001, 100_002), name="t.csv")
    assert found.units == ((100_001, "1,2"),)
    assert "do not pair" in found.notes[-1]


def test_a_page_ends_where_there_is_enough() -> None:
    found = read("table", ROWS.encode(), max_chars=100, name="t.csv")
    assert found.is_short
    assert found.total == 5001
    assert len(found.units) < 20


@given(st.lists(st.lists(st.text('ab",; \n', max_size=6), min_size=2, max_size=3), min_size=1, max_size=8))
@example([["", ";"], [";;", ";"]])
def test_pages_joined_equal_the_whole_whatever_is_quoted(records: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["x", "y"], *records])
    found = read("table", out.getvalue().encode(), name="t.csv")
    assert found.total == len(records) + 1
    assert "".join(text + "\n" for _, text in found.units) == out.getvalue()
    single = [read("table", out.getvalue().encode(), (n, n + 1), name="t.csv").units for n in range(1, found.total + 1)]
    assert tuple(units[0] for units in single) == found.units
