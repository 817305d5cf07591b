"""Read PPTX presentations by slide, notes included. The only user of python-pptx."""

from collections.abc import Iterator
from typing import Any, BinaryIO

import pptx

from picoclawd.documents.units import Found, Taker, Wanted


def read(source: BinaryIO, wanted: Wanted) -> Found:
    """Read slides. Raises whatever python-pptx raises for damage."""
    slides: Any = pptx.Presentation(source).slides
    total = len(slides)
    taker = Taker(wanted)
    for start, stop in wanted.windows:
        for number in range(start, min(stop, total + 1)):
            if not taker.is_full:
                taker.take(number, _slide(slides[number - 1]))
    return Found("pptx", "slide", total, tuple(taker.units), taker.is_short)


def _slide(slide: Any) -> str:
    lines = list(_lines(slide.shapes, slide.shapes.title))
    if slide.has_notes_slide:
        notes = "\n".join(_notes(slide.notes_slide))
        lines += [f"Notes: {notes}"] if notes else []
    return "\n".join(lines).replace("\v", "\n") or "[this slide has no text]"


def _notes(notes_slide: Any) -> Iterator[str]:
    """What was written where notes belong, and in boxes of its own, as LibreOffice has it; not the page's number."""
    frame = notes_slide.notes_text_frame
    if frame is not None and frame.text.strip():
        yield frame.text.strip()
    yield from _lines(shape for shape in notes_slide.shapes if not shape.is_placeholder)


def _lines(shapes: Any, title: Any = None) -> Iterator[str]:
    for shape in shapes:
        if getattr(shape, "has_table", False):
            yield from ("| " + " | ".join(cell.text for cell in row.cells) + " |" for row in shape.table.rows)
        elif shape.has_text_frame:
            text = shape.text_frame.text.strip()
            if text:
                is_title = title is not None and shape.shape_id == title.shape_id
                yield f"# {text}" if is_title else text
        elif hasattr(shape, "shapes"):
            yield from _lines(shape.shapes)
        elif getattr(shape, "has_chart", False):
            yield from _chart(shape.chart)


def _chart(chart: Any) -> Iterator[str]:
    if chart.has_title and chart.chart_title.has_text_frame:
        yield f"[chart: {chart.chart_title.text_frame.text}]"
    for plot in chart.plots:
        yield "| | " + " | ".join(str(category) for category in plot.categories) + " |"
        yield from (f"| {series.name} | " + " | ".join(map(str, series.values)) + " |" for series in plot.series)
