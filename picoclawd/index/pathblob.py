r"""Many paths as one text, `\n` between them, so that one pass of a matcher searches them all."""

from bisect import bisect_left

import msgspec

from picoclawd.index.matcher import LinePattern

_REPLACEMENT = "\ufffd"


class PathBlob(msgspec.Struct, frozen=True):
    r"""Paths in their order. A name that holds `\n` or is not UTF-8 stands in `text` with U+FFFD in its place.

    `odd` holds the true bytes of each such path with its index, ascending. Immutable.
    """

    text: bytes = b""
    count: int = 0
    odd: tuple[tuple[int, bytes], ...] = ()

    def lines(self) -> list[bytes]:
        """All paths, as their true bytes."""
        if not self.count:
            return []
        lines = self.text.split(b"\n")
        for index, path in self.odd:
            lines[index] = path
        return lines

    def real(self, index: int) -> bytes | None:
        """The true bytes of an odd path; None where line `index` of `text` is the path."""
        at = bisect_left(self.odd, (index, b""))
        return self.odd[at][1] if at < len(self.odd) and self.odd[at][0] == index else None

    def select(self, pattern: LinePattern, limit: int | None = None) -> list[bytes]:
        """The true bytes of the paths whose line matches, in order, at most `limit`."""
        return self._paths(pattern.lines(self.text, limit)) if self.count else []

    def find(self, literal: bytes, limit: int | None = None) -> list[bytes]:
        r"""The true bytes of the paths whose line holds `literal` (not empty, no `\n`), in order, at most `limit`."""
        return self._paths(_lines_with(self.text, literal, limit))

    def relative(self, directory: bytes) -> "PathBlob":
        """The same paths, all of which lie below `directory`, relative to it. Copies the text."""
        if not directory or not self.count:
            return self
        prefix = shown(directory) + b"/"
        text = self.text[len(prefix) :].replace(b"\n" + prefix, b"\n")
        cut = len(directory) + 1
        return PathBlob(text, self.count, tuple((index, path[cut:]) for index, path in self.odd))

    def _paths(self, spans: list[tuple[int, int]]) -> list[bytes]:
        if not self.odd:
            return [self.text[start:end] for start, end in spans]
        paths = []
        index = last = 0
        for start, end in spans:
            index += self.text.count(b"\n", last, start)
            last = start
            paths.append(self.real(index) or self.text[start:end])
        return paths


EMPTY = PathBlob()


def shown(path: bytes) -> bytes:
    r"""A path as one line of UTF-8: each `\n` and each byte that is no UTF-8 becomes U+FFFD."""
    if path.isascii() and b"\n" not in path:
        return path
    return path.decode("utf-8", "replace").replace("\n", _REPLACEMENT).encode()


def order_key(path: bytes) -> bytes:
    """A key by which paths sort in discovery order: depth-first, each directory's entries by name.

    No name holds a NUL, which is less than any byte that one does hold.
    """
    return path.replace(b"/", b"\0")


class BlobBuilder:
    """Join the paths of a directory's files and the blobs of its subdirectories, in the order they are given."""

    def __init__(self, directory: bytes) -> None:
        self._prefix = directory + b"/" if directory else b""
        self._is_odd = shown(self._prefix) != self._prefix
        self._parts: list[bytes] = []
        self._odd: list[tuple[int, bytes]] = []
        self._count = 0

    def add(self, names: list[bytes]) -> None:
        """Add paths in the directory; at least one."""
        between = b"\n" + self._prefix
        text = self._prefix + between.join(names)
        if self._is_odd or not text.isascii() or text.count(b"\n") >= len(names):
            lines = list(map(self._line, names, range(self._count, self._count + len(names))))
            text = b"\n".join(lines)
        self._parts.append(text)
        self._count += len(names)

    def _line(self, name: bytes, index: int) -> bytes:
        path = self._prefix + name
        line = shown(path)
        if line != path:
            self._odd.append((index, path))
        return line

    def join(self, blob: PathBlob) -> None:
        """Add all paths of a blob."""
        if blob.count:
            if blob.odd:
                self._odd.extend((self._count + index, path) for index, path in blob.odd)
            self._parts.append(blob.text)
            self._count += blob.count

    def done(self) -> PathBlob:
        """The blob of everything added."""
        return PathBlob(b"\n".join(self._parts), self._count, tuple(self._odd)) if self._count else EMPTY


def _lines_with(text: bytes, literal: bytes, limit: int | None) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    at = text.find(literal)
    while at >= 0 and (limit is None or len(spans) < limit):
        start = text.rfind(b"\n", 0, at) + 1
        end = text.find(b"\n", at)
        if end < 0:
            spans.append((start, len(text)))
            break
        spans.append((start, end))
        at = text.find(literal, end)
    return spans
