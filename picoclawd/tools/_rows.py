"""Rows of search results, for data and for content."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.text import display
from picoclawd.text.window import window
from picoclawd.tools._spec import Cleaner
from picoclawd.workspace.scope import Place
from picoclawd.workspace.search import LineHit


class BlockLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a block."""

    line: int
    text: str
    match: bool


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One result: a file, a file with its count, a line, or a block of lines."""

    path: str
    path_bytes: str | UnsetType = UNSET
    count: int | UnsetType = UNSET
    line: int | UnsetType = UNSET
    text: str | UnsetType = UNSET
    start_line: int | UnsetType = UNSET
    lines: list[BlockLine] | UnsetType = UNSET


def row_of(place: Place, path: bytes, *, block: list[tuple[int, str, bool]] | None = None, **members: Any) -> Row:
    """A result in `path`; `block` are the lines of a block: number, text, whether it matches."""
    name, path_bytes = display.data_name(place.shown(path))
    if block is not None:
        members["start_line"] = block[0][0]
        members["lines"] = [BlockLine(line=line_no, text=text, match=match) for line_no, text, match in block]
    return Row(path=name, path_bytes=UNSET if path_bytes is None else path_bytes, **members)


def shown_name(place: Place, path: bytes) -> str:
    """A path as it begins a row of content."""
    return display.name(place.shown(path))


def shown_lines(lines: Sequence[LineHit], cleaner: Cleaner, max_bytes: int) -> list[str]:
    """The texts of rows: masked first, so that no cut hides what a secret is known by, then cut around their match."""
    texts = [line.text.decode("utf-8", "replace") for line in lines]
    is_clean = cleaner.leaves(texts)
    shown: list[str] = []
    for line, text in zip(lines, texts, strict=True):
        start, end = line.match or (0, 0)
        if not text.isascii():
            start, end = (len(line.text[:place].decode("utf-8", "replace")) for place in (start, end))
        cleaned = (text, start, end) if is_clean else cleaner.clean_line(text, start, end)
        shown.append(window(*cleaned, max_bytes))
    return shown
