"""Read tables, CSV and TSV, by row: a row is a record, which may reach over several lines; the header is row 1.

A row is shown as it stands in the file, so that it can be used as an anchor.
"""

import codecs
import csv
import itertools
import sys
from collections.abc import Iterator
from typing import BinaryIO

from picoclawd import limits
from picoclawd.documents import charset
from picoclawd.documents.units import Found, Taker, Unreadable, Wanted
from picoclawd.errors import Slug
from picoclawd.text import encodings

_SAMPLE_CHARS = 64 * limits.KIB
_DELIMITERS = ",;\t|"
_FIELD_MAX_CHARS = 8 * limits.MIB  # a quote that is never closed makes the rest of the file one field


def read(source: BinaryIO, wanted: Wanted) -> Found:
    """Read rows, streaming. Raises: Unreadable."""
    encoding = encodings.detect(source, charset.guess)
    taker = Taker(wanted)
    first = next(encodings.utf8_chunks(source, encoding), b"")
    delimiter = _delimiter(first.decode("utf-8", "replace")[:_SAMPLE_CHARS], wanted.name)
    if _has_quotes(encodings.utf8_chunks(source, encoding)):
        total = _take_records(_lines(encodings.utf8_chunks(source, encoding)), delimiter, taker)
    else:
        total = _take_lines(encodings.utf8_chunks(source, encoding), taker)
    notes = [f"[columns are parted by {delimiter!r}]"] if delimiter not in ",\t" else []
    notes += ["[not UTF-8 throughout: invalid bytes are shown as U+FFFD]"] if encoding.lossy else []
    name = "tsv" if delimiter == "\t" else "csv"
    return Found(name, "row", total, tuple(taker.units), taker.is_short, encoding.name, tuple(notes))


def _delimiter(sample: str, name: str) -> str:
    try:
        return csv.Sniffer().sniff(sample[: 8 * limits.KIB], _DELIMITERS).delimiter
    except csv.Error:
        return "\t" if name.lower().endswith(".tsv") else ","


def _has_quotes(chunks: Iterator[bytes]) -> bool:
    return any(b'"' in chunk for chunk in chunks)


def _take_lines(chunks: Iterator[bytes], taker: Taker) -> int:
    """Without a quote every line is a record: those that are not wanted are only counted."""
    total = 0
    rest = b""
    for chunk in chunks:
        count = chunk.count(b"\n")
        last = total + count
        if not taker.is_full and any(start <= last and stop > total for start, stop in taker.wanted.windows):
            for line in (rest + chunk).split(b"\n")[:-1]:
                total += 1
                taker.offer(total, lambda line=line: _shown(line.decode("utf-8", "replace")))  # type: ignore[misc]
        total = last
        cut = chunk.rfind(b"\n")
        rest = chunk[cut + 1 :] if cut >= 0 else (rest + chunk)[: 4 * limits.MIB]
    if rest:
        total += 1
        taker.offer(total, lambda: _shown(rest.decode("utf-8", "replace")))
    return total


def _take_records(lines: Iterator[str], delimiter: str, taker: Taker) -> int:
    csv.field_size_limit(min(_FIELD_MAX_CHARS, sys.maxsize))
    held: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            held.append(line)
            yield line

    total = 0
    try:
        for total, _ in enumerate(csv.reader(noted(), delimiter=delimiter), 1):
            if taker.wanted.wants(total):
                taker.offer(total, lambda: _shown("".join(held)))
            held.clear()
    except csv.Error as error:
        reason = f"row {total + 1} has a quote that is never closed, or is no CSV"
        raise Unreadable(f"{reason}; read it with `around` to see its lines", Slug.UNSUPPORTED_FORMAT) from error
    return total


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    for chunk in itertools.chain(chunks, [b""]):
        parts = (rest + decoder.decode(chunk, not chunk)).split("\n")
        rest = parts.pop()
        for part in parts:
            yield part + "\n"
    if rest:
        yield rest


def _shown(record: str) -> str:
    return record.removesuffix("\n").removesuffix("\r")
