"""One search pattern over the lines of a text: count the lines that match, or give the place of each.

Many lines are searched at once, and a line is looked at alone only where that could make a difference.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

Span = tuple[int, int]
# Takes a text and where to start and end in it; gives the leftmost match first, (-1, -1) where there is none.
Find = Callable[[bytes, int, int], list[Span]]

# What would see past its line when many lines are matched at once: the ends of the text, `^` and `$` made to mean
# these, and \C, which is any byte, also a newline. A false alarm costs only speed.
_SEES_PAST_LINE = re.compile(r"(?<!\\)(?:\\\\)*\\[AzC]|\(\?[a-zA-Z]*-[a-zA-Z]*m")
BUNDLE_COST = 120  # instructions: a bundle takes at most 0.2 s of RE2's slowest engine, which is rarely met
_NOT_LITERAL = frozenset(".+*?()|[^${\n")
_CONTROLS = {"a": "\a", "f": "\f", "r": "\r", "t": "\t", "v": "\v"}


class Encoding(Enum):
    """What the bytes of a text are."""

    ASCII = "ascii"
    UTF8 = "utf-8"
    OTHER = "other"


def encoding_of(data: bytes) -> Encoding:
    """Tell what `data` is: 8 GB/s where it is ASCII, 3 GB/s elsewhere."""
    if data.isascii():
        return Encoding.ASCII
    try:
        data.decode()
    except UnicodeDecodeError:
        return Encoding.OTHER
    return Encoding.UTF8


class SearchPattern:
    r"""A pattern for the lines of files; made by `matcher.compile_search`, safe to share between threads.

    The methods take a `text` up to `end`: whole lines, each but perhaps the last ending at `\n`, without a BOM and
    without the `\r` of a `\r\n`; an empty text is one empty line. `end` before the end of the text means that the last
    line goes on there but is not looked at: `$` does not match at the cut. `encoding` of the text, or of the file it
    is from, spares finding out.

    A line that is not UTF-8 matches also if the pattern does as Latin-1, where the pattern is ASCII and names no
    character by number: `caf.` matches `caf\xe9`, `café` does not.

    `literal` is the text that the pattern is, where it is no more than text. `cost` is RE2's program size: the work
    for a byte is at most in proportion to it.
    """

    __slots__ = ("_latin", "_line_by_line", "_utf8", "cost", "literal", "multiline", "source")

    def __init__(self, source: str, utf8: Find, latin: Find | None, *, cost: int, multiline: bool) -> None:
        self.source = source
        self.cost = cost
        self.multiline = multiline
        self.literal = None if multiline else required_literal(source)
        self._utf8 = utf8
        self._latin = latin
        self._line_by_line = not multiline and _SEES_PAST_LINE.search(source) is not None

    def count(self, text: bytes, end: int, encoding: Encoding | None = None) -> int:
        """Count the lines that match. A matching line costs 1 to 2 us, any other no more than its bytes."""
        last = _last(text, end)
        if self._line_by_line or self._is_strange(text, encoding):
            return sum(1 for _ in self._hits_by_line(text, end, last))
        if self.literal == b"":
            return text.count(b"\n", 0, last) + 1
        # RE2 looks for a literal's first place with vectors, five times as fast as bytes.find, but costs more a call.
        pos = self._utf8(text, 0, last)[0][0]
        if pos < 0:
            return 0
        if self.literal is not None:
            return _count_literal(self.literal, text, pos, last)
        return _count(self._utf8, text, pos, last)

    def hits(self, text: bytes, end: int, encoding: Encoding | None = None) -> Iterator[Span]:
        """Give the first match on each matching line, as offsets in `text`, in order."""
        last = _last(text, end)
        if self._line_by_line or self._is_strange(text, encoding):
            return self._hits_by_line(text, end, last)
        return _hits(self._utf8, text, last)

    @property
    def suits_bundles(self) -> bool:
        """Whether texts of many files may be searched as one: no match sees past its line, and no text of theirs can
        hold one call for long."""
        return not self.multiline and not self._line_by_line and (self.literal is not None or self.cost <= BUNDLE_COST)

    def tally(
        self, text: bytes, starts: Sequence[int], anchors: "Sequence[SearchPattern]" = ()
    ) -> list[tuple[int, int]]:
        """Count the matching lines of each of several texts, joined into one: (which text, its count) where there are
        any. `starts` are where they begin, and last where they end; each ends in a newline; all are UTF-8.

        `anchors` are literals of which every matching line holds one (`anchors.choose`): only lines that do are looked
        at.
        """
        if anchors:
            return self._tally_anchored(text, starts, anchors)
        found: list[tuple[int, int]] = []
        last = len(text) - 1
        pos = self._utf8(text, 0, last)[0][0] if last >= 0 else -1
        while pos >= 0:
            index = bisect_right(starts, pos) - 1
            end = starts[index + 1]
            if self.literal:
                count = _count_literal(self.literal, text, pos, end - 1)
            else:
                count = _count(self._utf8, text, text.rfind(b"\n", 0, pos) + 1, end - 1)
            found.append((index, count))
            pos = self._utf8(text, end, last)[0][0] if end <= last else -1
        return found

    def matching(self, text: bytes, starts: Sequence[int]) -> list[int]:
        """Which of several texts, joined as for `tally`, have a matching line: cheaper where many lines of each do."""
        found: list[int] = []
        last = len(text) - 1
        pos = 0
        while pos <= last and (place := self._utf8(text, pos, last)[0][0]) >= 0:
            found.append(bisect_right(starts, place) - 1)
            pos = starts[found[-1] + 1]
        return found

    def _tally_anchored(
        self, text: bytes, starts: Sequence[int], anchors: "Sequence[SearchPattern]"
    ) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        index, end, count = -1, 0, 0
        utf8 = self._utf8
        for place in _anchored(text, [anchor._utf8 for anchor in anchors]):
            line_end = text.find(b"\n", place)
            if utf8(text, text.rfind(b"\n", 0, place) + 1, line_end)[0][0] < 0:
                continue
            if place >= end:
                if count:
                    found.append((index, count))
                index = bisect_right(starts, place) - 1
                end, count = starts[index + 1], 0
            count += 1
        if count:
            found.append((index, count))
        return found

    def spans(self, text: bytes, end: int, encoding: Encoding | None = None) -> Iterator[Span]:
        """Give every match in the text as a whole, in order, none overlapping another: for `multiline`.

        A text that is not UTF-8 is read as Latin-1 throughout, where the pattern can be.
        """
        find = self._latin if self._latin is not None and self._is_strange(text, encoding) else self._utf8
        pos = 0
        while pos <= end:
            start, stop = find(text, pos, end)[0]
            if start < 0:
                return
            yield start, stop
            pos = stop if stop > start else stop + 1

    def _is_strange(self, text: bytes, encoding: Encoding | None) -> bool:
        """Tell whether the text holds lines that are to be read as Latin-1 too."""
        if self._latin is None or encoding is Encoding.ASCII or encoding is Encoding.UTF8:
            return False
        return encoding_of(text) is Encoding.OTHER

    def _hits_by_line(self, text: bytes, end: int, last: int) -> Iterator[Span]:
        """As `hits`, each line taken out of its text and matched alone."""
        if not (self._line_by_line or self._may_match(text, last)):
            return
        pos = 0
        while True:
            newline = text.find(b"\n", pos, last)
            stop = last if newline < 0 else newline
            is_cut = newline < 0 and end < len(text)
            start, match_end = self._search_line(text[pos:] if is_cut else text[pos:stop], stop - pos)
            if start >= 0:
                yield pos + start, pos + match_end
            if newline < 0:
                return
            pos = newline + 1

    def _may_match(self, text: bytes, last: int) -> bool:
        return any(find is not None and find(text, 0, last)[0][0] >= 0 for find in (self._utf8, self._latin))

    def _search_line(self, line: bytes, end: int) -> Span:
        span = self._utf8(line, 0, end)[0]
        if span[0] < 0 and self._latin is not None and encoding_of(line[:end]) is Encoding.OTHER:
            return self._latin(line, 0, end)[0]
        return span


def required_literal(source: str) -> bytes | None:
    r"""Give the UTF-8 text that a valid pattern is, where it is nothing but one case-sensitive text, else None.

    Escapes of punctuation and of single control characters are understood; `\Q`, `\x41` and a newline, which no line
    holds, are not.
    """
    text: list[str] = []
    chars = iter(source)
    for char in chars:
        if char == "\\":
            escaped = next(chars, "")
            char = _CONTROLS.get(escaped, escaped)
            if escaped not in _CONTROLS and (escaped.isalnum() or escaped in ("", "\n")):
                return None
        elif char in _NOT_LITERAL:
            return None
        text.append(char)
    return "".join(text).encode()


def _anchored(text: bytes, finds: Sequence[Find]) -> Iterator[int]:
    """A place in each line where something is found, in order; every line ends in a newline."""
    last = len(text)
    places = [find(text, 0, last)[0][0] for find in finds]
    while True:
        there = [place for place in places if place >= 0]
        if not there:
            return
        place = min(there)
        yield place
        following = text.find(b"\n", place) + 1
        if not 0 < following < last:
            return
        for index, known in enumerate(places):
            if 0 <= known < following:
                places[index] = finds[index](text, following, last)[0][0]


def _last(text: bytes, end: int) -> int:
    """Where the last line's text ends: a newline at the end of the text begins no line."""
    return end - 1 if text.endswith(b"\n", 0, end) else end


def _count(find: Find, text: bytes, pos: int, last: int) -> int:
    """Count the matching lines from a place on."""
    count = 0
    while (stop := find(text, pos, last)[0][1]) >= 0:
        count += 1
        pos = text.find(b"\n", stop, last) + 1
        if pos == 0:
            break
    return count


def _count_literal(literal: bytes, text: bytes, pos: int, last: int) -> int:
    """Count the lines that hold `literal`, from the place of the first one on."""
    count = 0
    while pos >= 0:
        count += 1
        newline = text.find(b"\n", pos, last)
        if newline < 0:
            break
        pos = text.find(literal, newline, last)
    return count


def _hits(find: Find, text: bytes, last: int) -> Iterator[Span]:
    pos = 0
    while True:
        start, stop = find(text, pos, last)[0]
        if start < 0:
            return
        yield start, stop
        pos = text.find(b"\n", stop, last) + 1
        if pos == 0:
            return
