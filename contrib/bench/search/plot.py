"""Draw cost against tree size as an SVG, on logarithmic axes; by hand, without scripts or fonts of its own."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 860, 500
LEFT, RIGHT, TOP, BOTTOM = 72, 620, 48, 440  # the frame; the legend is beside it
COLOURS = ("#1b6ca8", "#c0392b", "#2e7d32", "#8e44ad")  # at least 4.5 to 1 on white


@dataclass(frozen=True)
class Line:
    """One line of the plot: the cost in ms at each tree size in files."""

    label: str
    colour: str
    dashed: bool
    points: tuple[tuple[int, float], ...]


def svg(title: str, lines: Sequence[Line]) -> str:
    """The whole picture."""
    sizes = sorted({files for line in lines for files, _ms in line.points})
    costs = [ms for line in lines for _files, ms in line.points]
    axes = _Axes(sizes[0], sizes[-1], min(costs), max(costs))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="13" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text((LEFT + RIGHT) / 2, 26, title, "middle", size=16),
        *axes.drawn(sizes),
        *(part for line in lines for part in _line(line, axes)),
        *_legend(lines),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Axes:
    """Both axes: whole decades of milliseconds upwards, the sizes measured to the right."""

    def __init__(self, smallest: float, largest: float, cheapest: float, dearest: float) -> None:
        self._x = (math.log10(smallest), math.log10(max(largest, smallest * 1.01)))
        self.decades = (math.floor(math.log10(cheapest)), math.floor(math.log10(dearest)) + 1)

    def at(self, files: float, ms: float) -> tuple[float, float]:
        """Where a point is drawn."""
        low, high = self._x
        bottom, top = self.decades
        x = LEFT + 20 + (RIGHT - LEFT - 40) * (math.log10(files) - low) / (high - low)
        return x, BOTTOM - (BOTTOM - TOP) * (math.log10(ms) - bottom) / (top - bottom)

    def drawn(self, sizes: Sequence[int]) -> Iterator[str]:
        """Grid, marks and their texts."""
        for exponent in range(self.decades[0], self.decades[1] + 1):
            y = self.at(sizes[0], 10.0**exponent)[1]
            yield f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="#ddd"/>'
            yield _text(
                LEFT - 8, y + 4, f"{10**exponent / 1e3:g} s" if exponent >= 3 else f"{10.0**exponent:g} ms", "end"
            )
        for files in sizes:
            x = self.at(files, 1)[0]
            yield f'<path d="M{x:.1f} {TOP}V{BOTTOM + 5}" stroke="#ddd"/>'
            yield _text(x, BOTTOM + 22, f"{files:,}", "middle")
        yield f'<rect x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}" fill="none" stroke="#666"/>'
        yield _text((LEFT + RIGHT) / 2, HEIGHT - 16, "files in the tree", "middle")


def _line(line: Line, axes: _Axes) -> Iterator[str]:
    places = [axes.at(files, ms) for files, ms in line.points]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    yield f'<path d="M{path}" fill="none" {_stroke(line)}/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{line.colour}"/>'


def _legend(lines: Sequence[Line]) -> Iterator[str]:
    for index, line in enumerate(lines):
        y = TOP + 14 + 24 * index
        yield f'<path d="M{RIGHT + 18} {y}h34" {_stroke(line)}/>'
        yield _text(RIGHT + 60, y + 4, line.label, "start")


def _stroke(line: Line) -> str:
    dashes = ' stroke-dasharray="6 4"' if line.dashed else ""
    return f'stroke="{line.colour}" stroke-width="2"{dashes}'


def _text(x: float, y: float, text: str, anchor: str, size: int = 13) -> str:
    safe = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{safe}</text>'
