"""Texts of many files joined into bundles of some 256 KiB, so that one call of a matcher searches hundreds of files.

A bundle never changes but for which of its files are still as they were: one that is not is dead there, and its text
lives on elsewhere. What is joined is the text as a search sees it: without a BOM, `\\n` for `\\r\\n`, and a newline at
its end, so that no line reaches from one file into the next.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from picoclawd.index.pattern import Encoding, SearchPattern
from picoclawd.index.pieces import LINE_MAX_BYTES
from picoclawd.index.trust import Facts
from picoclawd.limits import KIB
from picoclawd.text.lines import BOM

BUNDLE_BYTES = 256 * KIB  # smaller ones cost calls, larger ones make a trigram say less
ONE_CALL_BYTES = BUNDLE_BYTES  # 0.2 s at worst, for the patterns that suit bundles: nothing can stop a call
FILES_MAX = 4096  # of small files: what one call may find is bounded too


def joinable(data: bytes, encoding: Encoding) -> bytes | None:
    """A file's text as it is joined; None for one that must be searched alone: not UTF-8, or with a very long line."""
    if encoding is Encoding.OTHER:
        return None
    text = data.removeprefix(BOM)
    is_open = text != b"" and not text.endswith(b"\n")
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").removesuffix(b"\r")
    if is_open:  # also where the last line was nothing but a carriage return
        text += b"\n"
    return None if _has_long_line(text) else text


def _has_long_line(text: bytes) -> bool:
    place = 0
    while len(text) - place > LINE_MAX_BYTES:
        newline = text.rfind(b"\n", place, place + LINE_MAX_BYTES + 1)
        if newline < 0:
            return True
        place = newline + 1
    return False


@dataclass(frozen=True, slots=True)
class Joinable:
    """A text that can be joined, and the facts of its file that prove it."""

    path: bytes
    text: bytes
    facts: Facts


class Bundle:
    """The joined texts of some files: for each its path, what a stat of it gave, and whether it is alive."""

    __slots__ = ("alive", "dead", "encoding", "facts", "paths", "starts", "text")

    def __init__(self, files: Iterable[Joinable]) -> None:
        kept = list(files)
        self.paths = tuple(each.path for each in kept)
        self.facts = tuple(each.facts for each in kept)
        self.text = b"".join([each.text for each in kept])
        self.encoding = Encoding.ASCII if self.text.isascii() else Encoding.UTF8
        self.starts = array("L", [0])
        for each in kept:
            self.starts.append(self.starts[-1] + len(each.text))
        self.alive = bytearray(b"\1" * len(kept))
        self.dead = 0

    @property
    def is_large(self) -> bool:
        """Whether one call of a matcher would be too long: such a file is joined only to have its trigrams known."""
        return len(self.text) > ONE_CALL_BYTES

    @property
    def files(self) -> int:
        """How many files it holds, dead ones too."""
        return len(self.paths)

    def kill(self, index: int) -> None:
        """A file is no longer what is held of it here."""
        if self.alive[index]:
            self.alive[index] = 0
            self.dead += 1

    def text_of(self, index: int) -> bytes:
        """The text of one file."""
        return self.text[self.starts[index] : self.starts[index + 1]]

    def living(self) -> Iterator[int]:
        """The indexes of the files that are alive."""
        return (index for index, alive in enumerate(self.alive) if alive)

    def tally(self, pattern: SearchPattern, anchors: Sequence[SearchPattern] = ()) -> list[tuple[int, int]]:
        """The living files with matching lines, and how many these are; see `SearchPattern.tally`."""
        return self._living(pattern.tally(self.text, self.starts, anchors))

    def tally_dense(self, literal: bytes) -> list[tuple[int, int]]:
        """The same for a text that is on very many lines; see `dense.tally_dense`."""
        from picoclawd.index.dense import tally_dense  # numpy: the daemon starts without it

        return self._living(tally_dense(self.text, self.starts, literal))

    def _living(self, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return found if not self.dead else [(index, count) for index, count in found if self.alive[index]]


def pack(texts: Iterable[Joinable], bundle_bytes: int = BUNDLE_BYTES) -> Iterator[Bundle]:
    """Join texts in the order given. The last bundle may be small."""
    batch: list[Joinable] = []
    size = 0
    for each in texts:
        if batch and (size + len(each.text) > bundle_bytes or len(batch) >= FILES_MAX):
            yield Bundle(batch)
            batch, size = [], 0
        batch.append(each)
        size += len(each.text)
    if batch:
        yield Bundle(batch)
