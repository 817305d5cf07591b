"""Tell how a text is encoded, and read it as UTF-8, whatever its size."""

import codecs
from collections.abc import Callable, Iterator
from typing import BinaryIO, Literal, NamedTuple

from picoclawd import limits

SAMPLE_BYTES = 256 * limits.KIB  # around the first bytes that are not UTF-8: enough to tell a language by
_CHUNK_BYTES = 256 * limits.KIB  # read at once: larger ones leave the processor's cache
# UTF-32 first: its little-endian mark begins with UTF-16's.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NOT_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")  # the five bytes that Windows-1252 leaves undefined

# Names the codec of a text that is not UTF-8, from a sample of it. A codec's line feed must be the byte 0x0a.
Guess = Callable[[bytes], str]


class Encoding(NamedTuple):  # a worker's start is measured: no dataclasses
    """A Python codec's name and the byte order mark that the file begins with. `lossy`: some bytes are not of it."""

    name: str
    bom: bytes = b""
    lossy: bool = False


def western(sample: bytes) -> Literal["cp1252", "latin-1"]:
    """Guess without looking at words: Windows-1252, or Latin-1 for bytes that the former does not know."""
    return "cp1252" if _NOT_CP1252.isdisjoint(sample) else "latin-1"


def detect(source: BinaryIO, guess: Guess = western) -> Encoding:
    """Tell the encoding of a text: by its byte order mark, else UTF-8 if all of it is, else as guessed.

    Reads the whole file where there is no mark, at some GB/s. What is UTF-8 but for a few bytes (fewer than its
    characters outside ASCII, around the first bad byte) stays UTF-8, and is lossy. UTF-16 without a mark holds NUL
    bytes: `is_binary` is to be asked first.
    """
    source.seek(0)
    head = source.read(4)
    for mark, name in _MARKS:
        if head.startswith(mark):
            if name != "utf-8":
                return Encoding(name, mark)
            return Encoding(name, mark, lossy=_first_bad(source) is not None)
    offset = _first_bad(source)
    if offset is None:
        return Encoding("utf-8")
    sample = _sample(source, offset)
    if _is_mostly_utf8(sample):
        return Encoding("utf-8", lossy=True)
    return Encoding(guess(sample))


def is_binary(head: bytes) -> bool:
    """Tell from its first bytes (limits.BINARY_SNIFF_BYTES of them) that a file is no text: it holds a NUL.

    Of a text in UTF-16 or UTF-32 with its mark, a NUL character does.
    """
    for mark, name in _MARKS[1:]:
        if head.startswith(mark):
            return "\0" in head[len(mark) :].decode(name, "ignore")
    return b"\0" in head


def utf8_chunks(source: BinaryIO, encoding: Encoding) -> Iterator[bytes]:
    """Read the text from its start, behind the byte order mark, as UTF-8; no chunk is empty.

    Bytes that the encoding does not know are U+FFFD; a text that is UTF-8 comes as it is, bad bytes included.
    """
    source.seek(len(encoding.bom))
    if encoding.name == "utf-8":
        yield from _chunks(source)
        return
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    for chunk in _chunks(source):
        if text := decoder.decode(chunk):
            yield text.encode("utf-8", "replace")
    if text := decoder.decode(b"", True):
        yield text.encode("utf-8", "replace")


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK_BYTES):
        yield chunk


def _first_bad(source: BinaryIO) -> int | None:
    """Where, to within a chunk, the first bytes stand that are not UTF-8; None where all are."""
    source.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    offset = 0
    try:
        for chunk in _chunks(source):
            decoder.decode(chunk)
            offset += len(chunk)
        decoder.decode(b"", True)
    except UnicodeDecodeError as error:
        return offset + max(0, error.start)
    return None


def _sample(source: BinaryIO, offset: int) -> bytes:
    source.seek(max(0, offset - SAMPLE_BYTES // 2))
    return source.read(SAMPLE_BYTES)


def _is_mostly_utf8(sample: bytes) -> bool:
    text = sample.decode("utf-8", "replace")
    shown_bad = text.count("\ufffd")
    bad = shown_bad - sample.count("\ufffd".encode())
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    return good > bad
