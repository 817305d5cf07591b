import json
from typing import Any

import pytest

from picoclawd.client import output, table
from picoclawd.client.table import Column

COLUMNS = (
    Column("n", lambda row: str(row["n"]), right=True),
    Column("who", lambda row: str(row["who"]), who=lambda row: str(row["who"])),
    Column("text", lambda row: str(row["text"])),
)
ROWS: list[dict[str, Any]] = [{"n": 1, "who": "ada", "text": "short"}, {"n": 22, "who": "bo", "text": "x" * 40}]


def test_columns_are_as_wide_as_what_stands_in_them() -> None:
    assert list(table.lines(ROWS, COLUMNS, False, None)) == [
        " n  who  text",
        " 1  ada  short",
        f"22  bo   {'x' * 40}",
    ]


@pytest.mark.parametrize(("width", "kept"), [(30, 21), (10, 12)])
def test_the_last_column_is_cut_to_the_terminal(width: int, kept: int) -> None:
    *_, last = table.lines(ROWS, COLUMNS, False, width)
    assert last == f"22  bo   {'x' * (kept - 1)}…"


def test_a_cell_stays_on_its_line_and_steers_no_terminal() -> None:
    (_, line) = table.lines([{"n": 1, "who": "a\x1b[31m", "text": "b\nc\td\u202e"}], COLUMNS, False, None)
    assert line == "1  a\\x1b[31m  b\\nc\\td\\u202e"


def test_colour_is_by_who_and_leaves_the_columns_alone() -> None:
    plain = list(table.lines(ROWS, COLUMNS, False, None))
    coloured = list(table.lines(ROWS, COLUMNS, True, None))
    assert coloured[1] == plain[1].replace("ada", table.paint("ada", "ada"))
    assert table.paint("x", "ada") != table.paint("x", table.OUTSIDE)


def test_json_is_a_row_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    table.show(ROWS, COLUMNS, True, "nothing")
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == ROWS
    table.show([], COLUMNS, True, "nothing")
    assert capsys.readouterr() == ("", "")


def test_no_rows_are_said_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    table.show([], COLUMNS, False, "nothing")
    assert capsys.readouterr() == ("", "nothing\n")


def test_a_pipe_has_no_width_and_no_colour() -> None:
    assert output.width() is None
    assert not output.wants_colour()
