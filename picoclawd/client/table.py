"""Print rows for people: a table with a heading, each row on one line, escaped; and colour by who did it."""

import zlib

from picoclawd.client import output

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    Row = dict[str, Any]

_GAP = "  "
_LAST_MIN = 12  # characters that the last column keeps on a narrow terminal: a row may rather wrap
_WHO = ("36", "35", "32", "33", "34", "96", "95", "92")  # no red: nobody is an error
_DIM = "2"
OUTSIDE = "outside"


class Column:
    """A heading and what stands below it; `who`, where given, names whose colour the cell has."""

    __slots__ = ("heading", "right", "text", "who")

    def __init__(
        self,
        heading: str,
        text: "Callable[[Row], str]",
        *,
        right: bool = False,
        who: "Callable[[Row], str] | None" = None,
    ) -> None:
        self.heading = heading
        self.text = text
        self.right = right
        self.who = who


def show(rows: "Sequence[Row]", columns: "Sequence[Column]", as_json: bool, nothing: str) -> None:
    """Print rows as a table, or with `as_json` as NDJSON; where there are none, `nothing` goes to stderr."""
    if as_json:
        output.show_lines(rows)
    elif rows:
        output.show_rows(lines(rows, columns, output.wants_colour(), output.width()))
    else:
        output.complain(nothing)


def lines(rows: "Sequence[Row]", columns: "Sequence[Column]", colour: bool, width: int | None) -> "Iterable[str]":
    """The table's lines. The last column is cut to what `width` leaves; None cuts nothing."""
    cells = [[output.one_line(column.text(row)) for column in columns] for row in rows]
    wide = [max(len(cell) for cell in (column.heading, *found)) for column, *found in zip(columns, *cells, strict=True)]
    if width is not None:
        wide[-1] = max(_LAST_MIN, width - sum(wide[:-1]) - len(_GAP) * (len(wide) - 1))
    yield _joined([column.heading for column in columns], columns, wide, [None] * len(columns)).rstrip()
    for row, found in zip(rows, cells, strict=True):
        painted = [column.who(row) if colour and column.who is not None else None for column in columns]
        yield _joined(found, columns, wide, painted).rstrip()


def paint(text: str, who: str) -> str:
    """`text` in the colour of whoever it is, the same in every row and run; programs outside are dim."""
    colour = _DIM if who == OUTSIDE else _WHO[zlib.crc32(who.encode("utf-8", "replace")) % len(_WHO)]
    return f"\x1b[{colour}m{text}\x1b[0m"


def _joined(
    cells: "Sequence[str]", columns: "Sequence[Column]", wide: "Sequence[int]", painted: "Sequence[str | None]"
) -> str:
    parts = []
    for index, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        is_last = index == len(columns) - 1
        text = _cut(cell, wide[index]) if is_last else cell
        padding = " " * (0 if is_last else wide[index] - len(text))
        who = painted[index]
        shown = text if who is None else paint(text, who)
        parts.append(padding + shown if column.right else shown + padding)
    return _GAP.join(parts)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
