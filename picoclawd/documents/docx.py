"""Read DOCX documents by block, in document order: a block is a paragraph or a row of a table. Uses python-docx."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import docx
from docx.oxml.ns import qn

from picoclawd.documents.units import Found, Taker, Wanted

_TEXT, _TAB, _BREAK, _RETURN, _HYPHEN = (qn(f"w:{name}") for name in ("t", "tab", "br", "cr", "noBreakHyphen"))
_PARAGRAPH, _TABLE, _ROW, _CELL = (qn(f"w:{name}") for name in ("p", "tbl", "tr", "tc"))
_CONTROL, _CONTROL_CONTENT = qn("w:sdt"), qn("w:sdtContent")
_PARTS = {_TAB: "\t", _BREAK: "\n", _RETURN: "\n", _HYPHEN: "-"}
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # says again what its sibling says
_PROPERTIES, _RUN_TABS = qn("w:pPr"), qn("w:tabs")
_HEADING_LEVELS = 6


def read(source: BinaryIO, wanted: Wanted) -> Found:
    """Read blocks. Raises whatever python-docx raises for damage."""
    document: Any = docx.Document(source)
    styles = {style.style_id: style.name or "" for style in document.styles}
    taker = Taker(wanted)
    total = 0
    for block in _blocks(document.element.body):
        # Empty paragraphs are distance, no text; all must be made to know which are empty, so as to count.
        text = _row(block) if block.tag == _ROW else _paragraph(block, styles)
        if text.strip():
            total += 1
            taker.offer(total, lambda text=text: text)  # type: ignore[misc]
    return Found("docx", "block", total, tuple(taker.units), taker.is_short)


def _blocks(parent: Any) -> Iterator[Any]:
    for child in parent:
        if child.tag == _PARAGRAPH:
            yield child
        elif child.tag == _TABLE:
            yield from _rows(child)
        elif child.tag == _CONTROL:
            for content in child.iterchildren(_CONTROL_CONTENT):
                yield from _blocks(content)


def _rows(table: Any) -> Iterator[Any]:
    for child in table:
        if child.tag == _ROW:
            yield child
        elif child.tag == _CONTROL:
            for content in child.iterchildren(_CONTROL_CONTENT):
                yield from _rows(content)


def _row(row: Any) -> str:
    """The cells of a row; a table within a cell is text of that cell."""
    cells = [cell for cell in row.iter(_CELL) if next(cell.iterancestors(_ROW)) is row]
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |" if cells else ""


def _cell(cell: Any) -> str:
    return " / ".join(filter(None, (_text(paragraph).strip() for paragraph in cell.iter(_PARAGRAPH))))


def _paragraph(paragraph: Any, styles: dict[str, str]) -> str:
    text = _text(paragraph)
    if not text.strip():
        return ""
    style = styles.get(paragraph.style or "", "")
    kind, _, level = style.partition(" ")
    if style == "Title":
        return f"# {text}"
    if kind.lower() == "heading" and level.isdigit():
        return f"{'#' * min(int(level), _HEADING_LEVELS)} {text}"
    return f"- {text}" if style.startswith("List") else text


def _text(paragraph: Any) -> str:
    """The text as it stands with every change accepted: what was deleted has another tag."""
    parts = []
    for node in paragraph.iter(_TEXT, *_PARTS):
        if node.tag == _TEXT and not _is_repeated(node, paragraph):
            parts.append(node.text or "")
        elif node.tag in _PARTS and node.getparent().tag != _RUN_TABS:
            parts.append(_PARTS[node.tag])
    return "".join(parts)


def _is_repeated(node: Any, paragraph: Any) -> bool:
    for ancestor in node.iterancestors():
        if ancestor is paragraph:
            return False
        if ancestor.tag == _FALLBACK:
            return True
    return False
