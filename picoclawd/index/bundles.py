"""Texts of many files joined into bundles of some 256 KiB, so that one call of a matcher searches hundreds of files.

What is joined is the text as a search sees it: without a BOM, `\\n` for `\\r\\n`, and a newline at
its end, so that no line reaches from one file into the next.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from picoclawd.index.groups import Group
from picoclawd.index.pattern import Encoding, encoding_of
from picoclawd.index.pieces import LINE_MAX_BYTES
from picoclawd.index.scan import is_binary
from picoclawd.index.trust import Facts
from picoclawd.limits import KIB
from picoclawd.text.lines import BOM

BUNDLE_BYTES = 256 * KIB  # smaller ones cost calls, larger ones make a trigram say less
ONE_CALL_BYTES = BUNDLE_BYTES  # 0.2 s at worst, for the patterns that suit bundles: nothing can stop a call
FILES_MAX = 4096  # of small files: what one call may find is bounded too

# Takes a text, and where its files start and the last one ends; gives which files have matching lines, and how many.
Count = Callable[[bytes, Sequence[int]], list[tuple[int, int]]]


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


class Joinable(msgspec.Struct, frozen=True):
    """A text that can be joined, and the facts of its file that prove it."""

    path: bytes
    text: bytes
    facts: Facts


def joinables(files: Sequence[Joinable]) -> tuple[list[Joinable], list[bytes]]:
    """Make texts that can be joined of files' bytes; give the paths of those that must be searched alone besides."""
    whole = b"".join([each.text for each in files])
    if whole.isascii() and b"\r" not in whole and b"\0" not in whole and len(whole) <= LINE_MAX_BYTES:
        # As most are: nothing is to be looked at in each but its end.
        return [each if each.text.endswith(b"\n") else _ended(each) for each in files], []
    joined: list[Joinable] = []
    alone: list[bytes] = []
    for each in files:
        text = None if is_binary(each.text) else joinable(each.text, encoding_of(each.text))
        if text is None:
            alone.append(each.path)
        else:
            joined.append(Joinable(each.path, text, each.facts))
    return joined, alone


def _ended(file: Joinable) -> Joinable:
    return Joinable(file.path, file.text + b"\n" if file.text else b"", file.facts)


class Bundle(Group):
    """The joined texts of some files."""

    __slots__ = ("encoding", "starts", "text")

    def __init__(self, files: Iterable[Joinable]) -> None:
        kept = list(files)
        super().__init__(tuple(each.path for each in kept), tuple(each.facts for each in kept))
        self.text = b"".join([each.text for each in kept])
        self.encoding = Encoding.ASCII if self.text.isascii() else Encoding.UTF8
        self.starts = array("L", [0])
        for each in kept:
            self.starts.append(self.starts[-1] + len(each.text))

    @property
    def is_large(self) -> bool:
        """Whether one call of a matcher would be too long."""
        return len(self.text) > ONE_CALL_BYTES

    def text_of(self, index: int) -> bytes:
        """The text of one file."""
        return self.text[self.starts[index] : self.starts[index + 1]]

    def tally(self, count: Count, stop: Callable[[], bool]) -> list[tuple[int, int]]:
        """The files with matching lines, dead ones too, and how many these are.

        `count` is asked of a text and of where its files start, which `SearchPattern.tally` tells more of: of one that
        is too long for one call piece by piece, with a look at `stop` between.
        """
        if not self.is_large:
            return count(self.text, self.starts)
        found: dict[int, int] = {}
        for index in range(self.files):
            for piece in _pieces(self.text, self.starts[index], self.starts[index + 1]):
                if stop():
                    return list(found.items())
                for _file, lines in count(piece, (0, len(piece))):
                    found[index] = found.get(index, 0) + lines
        return list(found.items())


def _pieces(text: bytes, start: int, end: int) -> Iterator[bytes]:
    """A file's lines, as many at once as one call may take. No line of a text that is joined is longer."""
    while start < end:
        cut = end if end - start <= ONE_CALL_BYTES else text.rfind(b"\n", start, start + ONE_CALL_BYTES + 1) + 1
        yield text[start:cut]
        start = cut


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
