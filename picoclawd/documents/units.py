"""What a reader is asked for and what it gives: a document's pages, slides, blocks or rows, from 1.

A worker imports this at each start: NamedTuple takes neither msgspec nor dataclasses, a third of its start.
"""

import base64
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from picoclawd import limits
from picoclawd.errors import Slug

TEXT_MAX_CHARS = limits.MIB  # of extracted text in one answer
IMAGE_MAX_BYTES = limits.BASE64_MAX_BYTES * 3 // 4  # of an encoded picture, so that its base64 is within the bound

Unit = Literal["page", "slide", "block", "row", "cell", "image"]


class Unreadable(Exception):
    """Why a document was not read. `reason` follows the words "<path>: " and holds no text of the file."""

    def __init__(self, reason: str, slug: Slug = Slug.UNSUPPORTED_FORMAT) -> None:
        super().__init__(reason)
        self.reason = reason
        self.slug = slug


class Wanted(NamedTuple):
    """Which units to read: `windows` are (first, past the last), ascending and apart; about `max_chars` of text."""

    windows: tuple[tuple[int, int], ...]
    max_chars: int = TEXT_MAX_CHARS
    name: str = ""  # the file's own name: where the content leaves a choice

    @property
    def first(self) -> int:
        """The first unit that is wanted."""
        return self.windows[0][0]

    def wants(self, number: int) -> bool:
        """Whether the unit of this number is wanted."""
        return any(start <= number < stop for start, stop in self.windows)


class Picture(NamedTuple):
    """An encoded picture, made small enough to look at."""

    mime: str
    width: int
    height: int
    data: bytes


class Found(NamedTuple):
    """What was read: `units` are (number, text), ascending. `is_short`: some of what was wanted did not fit."""

    format: str
    unit: Unit
    total: int
    units: tuple[tuple[int, str], ...]
    is_short: bool = False
    encoding: str | None = None
    notes: tuple[str, ...] = ()  # words of ours about it
    picture: Picture | None = None


class Taker:
    """Takes wanted units in order until there are enough characters of them."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.units: list[tuple[int, str]] = []
        self.chars = 0
        self.is_short = False

    def offer(self, number: int, text: Callable[[], str]) -> None:
        """Take the unit if it is wanted and there is room; its text is made only then."""
        if self.is_full or not self.wanted.wants(number):
            return
        self.take(number, text())

    def take(self, number: int, text: str) -> None:
        """Take a unit that is wanted; the one that passes the bound is cut there, and is the last."""
        room = self.wanted.max_chars - self.chars
        self.is_short = len(text) > room
        # A cut is shown by who shows the rows, which has less room than `max_chars`: it must see that there was more.
        self.units.append((number, text[: max(0, room) + limits.KIB]))
        self.chars += len(text)

    @property
    def is_full(self) -> bool:
        """Whether no more is taken."""
        return self.is_short

    def offer_all(self, texts: Iterable[str]) -> int:
        """Offer units that are at hand, from 1 on; how many there are."""
        total = 0
        for total, text in enumerate(texts, 1):
            self.offer(total, lambda text=text: text)  # type: ignore[misc]
        return total


def to_json(found: Found) -> dict[str, Any]:
    """What the worker sends."""
    picture = found.picture
    return {
        "format": found.format,
        "unit": found.unit,
        "total": found.total,
        "units": found.units,
        "is_short": found.is_short,
        "encoding": found.encoding,
        "notes": found.notes,
        "picture": None
        if picture is None
        else [picture.mime, picture.width, picture.height, base64.b64encode(picture.data).decode()],
    }


def from_json(data: dict[str, Any]) -> Found:
    """What the worker meant."""
    picture = data["picture"]
    return Found(
        format=data["format"],
        unit=data["unit"],
        total=data["total"],
        units=tuple((int(number), str(text)) for number, text in data["units"]),
        is_short=data["is_short"],
        encoding=data["encoding"],
        notes=tuple(data["notes"]),
        picture=None if picture is None else Picture(picture[0], picture[1], picture[2], base64.b64decode(picture[3])),
    )
