"""Parse a V4A patch for one file into hunks; where they belong is `patch`'s concern.

The grammar, in the order in which lines may come (`?` may be left out, `*` any number):

    *** Begin Patch?
    *** Update File: PATH?
    (@@ TEXT, then lines that start with a space, `-` or `+`, then *** End of File?)*
    *** End Patch?

Blank lines between these are formatting. TEXT is informational; several `@@` lines in a row open one hunk.
"""

from dataclasses import dataclass
from typing import Literal

from picoclawd.errors import Fault, Slug

Kind = Literal["context", "remove", "add"]

_KINDS: dict[str, Kind] = {" ": "context", "-": "remove", "+": "add"}
_ONE_FILE = "edit_file changes exactly one existing file"
_REFUSED = {
    "*** Add File": f"{_ONE_FILE}: create a file with write_file.",
    "*** Delete File": f"{_ONE_FILE}: it cannot delete one.",
    "*** Move to": f"{_ONE_FILE}: it cannot move or rename one. Leave this line out.",
}


@dataclass(frozen=True, slots=True)
class HunkLine:
    """One line of a hunk: what to do with it, and its UTF-8 text without prefix and ending."""

    kind: Kind
    text: bytes


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of lines to find and rewrite. `index` counts hunks from 1; `at_end` anchors it to the file's end."""

    index: int
    lines: tuple[HunkLine, ...]
    at_end: bool

    @property
    def source(self) -> list[bytes]:
        """The lines that the file must hold before: context and removed."""
        return [line.text for line in self.lines if line.kind != "add"]

    @property
    def result(self) -> list[bytes]:
        """The lines that stand there afterwards: context and added."""
        return [line.text for line in self.lines if line.kind != "remove"]


@dataclass(frozen=True, slots=True)
class Patch:
    """A parsed patch: the path of `*** Update File:` as written, if it was given, and at least one hunk."""

    path: str | None
    hunks: tuple[Hunk, ...]


def parse(text: str) -> Patch:
    """Parse a V4A patch.

    Directives count only as whole lines at column 0 (trailing blanks are ignored). A line of one space, or a truly
    empty line inside a hunk, is an empty context line; truly empty lines just before a directive, an `@@` or the
    end are formatting. A patch written with CRLF, that is in which each line of its hunks ends so, is read as if
    it had been written with LF; otherwise a `\\r` is part of its line.

    Raises:
        Fault: `patch_rejected`, with `patch_line` (1-based) where one line is at fault.
    """
    parser = _Parser()
    try:
        for line_no, row in enumerate(_rows(text), 1):
            parser.take(line_no, row)
    except UnicodeEncodeError:
        raise _rejection("The patch is not valid Unicode: it holds a lone surrogate.") from None
    return parser.finish()


def _rows(text: str) -> list[str]:
    rows = text.split("\n")
    inside = [row for row in rows[:-1] if row and not row.startswith(("***", "@@"))]
    if inside and all(row.endswith("\r") for row in inside):
        return [row.removesuffix("\r") for row in rows]
    return rows


def _rejection(message: str, line_no: int | None = None) -> Fault:
    if line_no is None:
        return Fault(Slug.PATCH_REJECTED, message)
    return Fault(Slug.PATCH_REJECTED, f"Patch line {line_no}: {message}", patch_line=line_no)


class _Parser:
    """Takes the patch's rows one by one; `open` is the hunk being read, `blanks` its empty lines yet undecided."""

    def __init__(self) -> None:
        self.path: str | None = None
        self.hunks: list[Hunk] = []
        self.open: list[HunkLine] | None = None
        self.blanks: list[HunkLine] = []
        self.begun = False
        self.ended = False

    def take(self, line_no: int, row: str) -> None:
        if row in ("", "\r"):
            self.blanks.append(HunkLine("context", row.encode()))
        elif self.ended:
            raise _rejection("text after `*** End Patch`. Send one patch, for one file, in a call.", line_no)
        elif row.startswith("***"):
            self.blanks.clear()
            self.directive(line_no, row.rstrip())
            self.begun = True
        elif row.startswith("@@"):
            self.start_hunk()
        else:
            self.content(line_no, row)

    def directive(self, line_no: int, row: str) -> None:
        name, _, value = row.partition(":")
        if name == "*** Update File":
            self.update(line_no, value.strip())
        elif row == "*** Begin Patch":
            self.begin(line_no)
        elif row == "*** End of File":
            self.end_of_file(line_no)
        elif row == "*** End Patch":
            self.close(at_end=False)
            self.ended = True
        else:
            unknown = "unknown directive. Content lines start with a space, `-` or `+`, before any `***` of their own."
            raise _rejection(_REFUSED.get(name, unknown), line_no)

    def begin(self, line_no: int) -> None:
        if self.begun or self.hunks or self.open is not None:
            raise _rejection("`*** Begin Patch` may come only once, as the first line.", line_no)

    def update(self, line_no: int, path: str) -> None:
        if self.path is not None:
            raise _rejection(f"a second `*** Update File:`. {_ONE_FILE}: make one call for each file.", line_no)
        if self.hunks or self.open is not None:
            raise _rejection("`*** Update File:` must come before the first hunk.", line_no)
        if not path:
            raise _rejection("`*** Update File:` names no path. Name the file, or leave the line out.", line_no)
        self.path = path

    def end_of_file(self, line_no: int) -> None:
        if self.open is None:
            raise _rejection("`*** End of File` must close a hunk, and here is none.", line_no)
        self.close(at_end=True)

    def start_hunk(self) -> None:
        self.blanks.clear()
        if self.open != []:
            self.close(at_end=False)
        self.open = []

    def content(self, line_no: int, row: str) -> None:
        if self.open is None:
            raise _rejection("this line is outside a hunk. Start each hunk with a line `@@`.", line_no)
        kind = _KINDS.get(row[0])
        if kind is None:
            raise _rejection(
                "a line of a hunk must start with a space (context), `-` (removed) or `+` (added). "
                "Put one in front, also of lines that are indented already.",
                line_no,
            )
        self.open += self.blanks
        self.blanks.clear()
        self.open.append(HunkLine(kind, row[1:].encode()))

    def close(self, *, at_end: bool) -> None:
        if self.open is None:
            return
        index = len(self.hunks) + 1
        if not self.open:
            raise Fault(Slug.PATCH_REJECTED, f"Hunk {index} of the patch has no lines after its `@@`.", hunk=index)
        self.hunks.append(Hunk(index, tuple(self.open), at_end))
        self.open = None

    def finish(self) -> Patch:
        self.close(at_end=False)
        if not self.hunks:
            raise _rejection(
                "The patch has no hunk. A hunk is a line `@@`, then lines that start with a space, `-` or `+`."
            )
        return Patch(self.path, tuple(self.hunks))
