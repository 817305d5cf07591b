"""Render HTML, SVG and notebooks as text, where a caller asks for that rather than for their rows."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, BinaryIO

from picoclawd import limits
from picoclawd.documents import charset
from picoclawd.documents.units import Found, Taker, Unreadable, Wanted
from picoclawd.errors import Slug
from picoclawd.text import encodings

SIZE_MAX_BYTES = 32 * limits.MIB  # of the file: it is held whole
_HIDDEN = frozenset({"script", "style", "template", "noscript", "metadata", "defs"})
_BLOCK = re.compile(
    "address|article|aside|blockquote|br|body|caption|dd|desc|details|div|dl|dt|fieldset|figcaption|figure|footer|form"
    "|h[1-6]|head|header|hr|html|li|main|nav|ol|p|pre|section|summary|table|tbody|text|tfoot|thead|title|tr|tspan|ul"
)
_CELLS = frozenset({"td", "th"})
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_OUTPUT_MAX_CHARS = 4096  # of one cell: progress bars and tables


def read(source: BinaryIO, wanted: Wanted) -> Found:
    """Read blocks of a page or a drawing, or cells of a notebook. Raises: Unreadable."""
    encoding = encodings.detect(source, charset.guess)
    source.seek(len(encoding.bom))
    data = source.read(SIZE_MAX_BYTES + 1)
    if len(data) > SIZE_MAX_BYTES:
        raise Unreadable(f"only files up to {SIZE_MAX_BYTES // limits.MIB} MiB are rendered", Slug.TOO_LARGE)
    text = data.decode(encoding.name, "replace")
    taker = Taker(wanted)
    name = _format(text, wanted.name.lower())
    if name == "notebook":
        total = taker.offer_all(_cells(text))
        return Found(name, "cell", total, tuple(taker.units), taker.is_short, encoding.name)
    total = taker.offer_all(_page_blocks(text))
    return Found(name, "block", total, tuple(taker.units), taker.is_short, encoding.name)


def _format(text: str, name: str) -> str:
    start = text[: 4 * limits.KIB].lower()
    if text.lstrip().startswith("{") and (name.endswith(".ipynb") or '"nbformat"' in text):
        return "notebook"
    if "<svg" in start and "<html" not in start:
        return "svg"
    if any(mark in start for mark in ("<html", "<!doctype html", "<body", "<head")) or name.endswith((".html", ".htm")):
        return "html"
    raise Unreadable("it is shown as text only: leave `as` out to get its rows")


class _Page(HTMLParser):
    """Gathers the text of a page by block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = []
        self._parts: list[str] = []
        self._hidden: str | None = None
        self._hidden_depth = 0
        self._is_pre = False
        self._mark = ""
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden is not None:
            self._hidden_depth += tag == self._hidden
            return
        if tag in _HIDDEN:
            self._hidden, self._hidden_depth = tag, 1
        elif tag in _CELLS:
            self._parts.append(" | " if "".join(self._parts).strip() else "")
        elif _BLOCK.fullmatch(tag):
            self.flush()
            self._begin(tag)
        elif tag == "img":
            self._parts.append(f"[image: {dict(attrs).get('alt')}]" if dict(attrs).get("alt") else "")
        elif tag == "a":
            self._links.append(dict(attrs).get("href") or "")

    def _begin(self, tag: str) -> None:
        self._is_pre = self._is_pre or tag == "pre"
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._mark = "#" * int(tag[1]) + " "
        elif tag == "li":
            self._mark = "- "

    def handle_endtag(self, tag: str) -> None:
        if self._hidden is not None:
            self._hidden_depth -= tag == self._hidden
            if self._hidden_depth == 0:
                self._hidden = None
        elif tag == "a" and self._links:
            link = self._links.pop()
            self._parts.append(f" ({link})" if link.startswith(("http://", "https://", "/")) else "")
        elif _BLOCK.fullmatch(tag):
            self.flush()
            if tag == "pre":
                self._is_pre = False

    def handle_data(self, data: str) -> None:
        if self._hidden is None:
            self._parts.append(data if self._is_pre else _BLANKS.sub(" ", data))

    def flush(self) -> None:
        """End the block."""
        text = "".join(self._parts)
        self._parts = []
        text = text.strip("\n") if self._is_pre else text.strip()
        if text.strip():
            self.blocks.append(self._mark + text)
            self._mark = ""


def _page_blocks(text: str) -> list[str]:
    page = _Page()
    page.feed(text)
    page.close()
    page.flush()
    return page.blocks


def _cells(text: str) -> Iterator[str]:
    try:
        notebook = json.loads(text)
    except ValueError as error:
        raise Unreadable("it is no notebook: its JSON is damaged or cut off") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("it is no notebook that is known here: it has no list of cells")
    for cell in cells:
        if isinstance(cell, dict):
            outputs = cell.get("outputs")
            results = [_output(output) for output in outputs if isinstance(output, dict)] if outputs else []
            shown = [f"[{cell.get('cell_type', 'cell')}]", _joined(cell.get("source")), *results]
            yield "\n".join(filter(None, shown))


def _output(output: dict[str, Any]) -> str:
    data = output.get("data")
    if output.get("output_type") == "error":
        text = f"{output.get('ename')}: {output.get('evalue')}"
    elif isinstance(data, dict):
        pictures = [mime for mime in data if mime.startswith("image/")]
        text = _joined(data.get("text/plain")) or "".join(f"[{mime}]" for mime in pictures)
    else:
        text = _joined(output.get("text"))
    cut = text[:_OUTPUT_MAX_CHARS].rstrip()
    return f"[output]\n{cut}{' …' if len(text) > _OUTPUT_MAX_CHARS else ''}" if cut else ""


def _joined(lines: object) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
