"""Print results of searches as rg prints them: headings and colour on a terminal, `path:line:text` into a pipe."""

import os
import sys

from picoclawd.client import discover, output

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from typing import Any

    Row = dict[str, Any]

_MAGENTA, _GREEN = "35", "32"  # as rg has them


class Style:
    """How rows look. `null`: names are raw bytes, each ended by a NUL byte, for `xargs -0`."""

    __slots__ = ("colour", "heading", "is_terminal", "null")

    def __init__(self, *, is_terminal: bool = False, colour: bool = False, heading: bool = False, null: bool = False):
        self.is_terminal = is_terminal
        self.colour = colour
        self.heading = heading
        self.null = null


def style_of(args: "argparse.Namespace") -> Style:
    """The style for this command line and where stdout leads; NO_COLOR and a dumb terminal turn `auto` off."""
    is_terminal = sys.stdout.isatty()
    colour = output.wants_colour(args.color)
    return Style(is_terminal=is_terminal, colour=colour, heading=is_terminal, null=args.null)


def path_here(path: str, workspace: str, here: str) -> str:
    """A path of the daemon's as the shell in the directory `here` takes it: the way back of `files.workspace_path`."""
    below = discover.within(here, workspace) if workspace and not path.startswith("/") else None
    return os.path.relpath(f"/{path}", f"/{below}") if below else path


class Printer:
    """Prints rows, page after page. Remembers where it stopped, for headings and for the `--` between blocks."""

    def __init__(self, style: Style, workspace: str, here: str) -> None:
        self._style = style
        self._workspace = workspace
        self._here = here
        self._file: str | None = None
        self._next_line = 0  # where a block would go on that follows the last one without a gap

    def show(self, rows: "list[Row]") -> None:
        """Print rows of any shape that a search answers with."""
        for row in rows:
            self._show(row)

    def _show(self, row: "Row") -> None:
        path = self._path(row)
        if "start_line" in row:
            self._block(path, row["lines"])
        elif "line" in row:
            self._begin(path)
            self._line(path, row["line"], row["text"], not row.get("context"))
        elif "count" in row:
            self._write(f"{self._name(path)}:{row['count']}\n")
        else:
            self._entry(path, row)

    def _block(self, path: str, lines: "list[Row]") -> None:
        goes_on = path == self._file and lines[0]["line"] == self._next_line
        first = self._file is None or (self._style.heading and path != self._file)
        if not goes_on and not first:
            self._write("--\n")
        self._begin(path)
        for line in lines:
            self._line(path, line["line"], line["text"], line["match"])
        self._next_line = lines[-1]["line"] + 1

    def _begin(self, path: str) -> None:
        """Print a heading where another file begins."""
        if self._style.heading and path != self._file:
            self._write(("" if self._file is None else "\n") + f"{self._name(path)}\n")
        self._file = path

    def _line(self, path: str, line_no: int, text: str, is_match: bool) -> None:
        mark = ":" if is_match else "-"
        prefix = "" if self._style.heading else f"{self._name(path)}{mark}"
        shown = output.escape(text) if self._style.is_terminal else text
        self._write(f"{prefix}{self._coloured(str(line_no), _GREEN)}{mark}{shown}\n")

    def _entry(self, path: str, row: "Row") -> None:
        if self._style.null:
            sys.stdout.flush()
            sys.stdout.buffer.write(os.fsencode(path) + b"\0")
            return
        mark = "/" if row.get("kind") == "dir" else ""
        ignored = " (ignored)" if row.get("ignored") else ""
        self._write(f"{self._name(path)}{mark}{ignored}\n")

    def _path(self, row: "Row") -> str:
        """The path for here; bytes that are no text as surrogateescape has them."""
        path = str(row["path"])
        if "path_bytes" in row:
            from picoclawd.text import display  # only names that are not UTF-8 need it: start-up time

            path = os.fsdecode(display.from_path_bytes(row["path_bytes"]))
        return path_here(path, self._workspace, self._here)

    def _name(self, path: str) -> str:
        """A path as one row shows it, with what is not printable escaped, into a pipe too: one name, one row."""
        if not path.isprintable():
            from picoclawd.text import display  # as above

            path = display.name(os.fsencode(path))
        return self._coloured(path, _MAGENTA)

    def _coloured(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._style.colour else text

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
