"""Read tables, CSV and TSV, by row: a row is a record, which may reach over several lines; the header is row 1.

A row is shown as it stands in the file, so that it can be used as an anchor.
"""

import csv
import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from picoclawd import limits
from picoclawd.documents import charset
from picoclawd.documents.units import Found, Taker, Wanted
from picoclawd.text import encodings
from picoclawd.text.encodings import Encoding

_SAMPLE_CHARS = 64 * limits.KIB
_DELIMITERS = ",;\t|"
_FIELD_MAX_CHARS = 256 * limits.KIB  # a quote that is never closed makes the rest of the file one field


def read(source: BinaryIO, wanted: Wanted) -> Found:
    """Read rows, streaming."""
    encoding = encodings.detect(source, charset.guess)
    taker = Taker(wanted)
    first = next(encodings.utf8_chunks(source, encoding), b"")
    delimiter = _delimiter(first.decode("utf-8", "replace")[:_SAMPLE_CHARS], wanted.name)
    notes = [f"[columns are parted by {delimiter!r}]"] if delimiter not in ",\t" else []
    try:
        has_quotes = any(b'"' in chunk for chunk in encodings.utf8_chunks(source, encoding))
        total = _take_records(source, encoding, delimiter, taker) if has_quotes else None
    except csv.Error:
        total = None
        notes.append("[its quotes do not pair: each line is taken for a row]")
    if total is None:
        total = _take_lines(encodings.utf8_chunks(source, encoding), taker)
    notes += ["[not UTF-8 throughout: invalid bytes are shown as U+FFFD]"] if encoding.lossy else []
    name = "tsv" if delimiter == "\t" else "csv"
    return Found(name, "row", total, tuple(taker.units), taker.is_short, encoding.name, tuple(notes))


def _delimiter(sample: str, name: str) -> str:
    """What parts the columns: the sniffer's guess, unless the quotes say otherwise."""
    sample = sample[: 8 * limits.KIB]
    usual = "\t" if name.lower().endswith(".tsv") else ","
    try:
        guess = csv.Sniffer().sniff(sample, _DELIMITERS).delimiter
    except csv.Error:
        guess = usual
    return next((each for each in (guess, usual, *_DELIMITERS) if _suits_quotes(sample, each)), guess)


def _suits_quotes(sample: str, delimiter: str) -> bool:
    """Whether each field that begins with a quote ends, quoted, at a delimiter or at the end of its line."""
    try:
        for _ in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)  # the sample is cut there, and nothing is known against it
    return True


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


def _take_records(source: BinaryIO, encoding: Encoding, delimiter: str, taker: Taker) -> int:
    """Find out which lines the records take, then read those that are wanted. Raises: csv.Error."""
    csv.field_size_limit(_FIELD_MAX_CHARS)
    lines_of: list[tuple[int, int, int]] = []  # record, lines before it, lines with it
    first, stop = taker.wanted.first, taker.wanted.windows[-1][1]
    total = before = 0
    with _lines(source, encoding) as lines:
        reader = csv.reader(lines, delimiter=delimiter)
        for total, _ in enumerate(reader, 1):
            if first <= total < stop and taker.wanted.wants(total) and len(lines_of) <= taker.wanted.max_chars:
                lines_of.append((total, before, reader.line_num))
            before = reader.line_num
    with _lines(source, encoding) as lines:
        at = 0
        for number, begin, end in lines_of:
            record = "".join(itertools.islice(lines, begin - at, end - at))
            at = end
            taker.offer(number, lambda record=record: _shown(record))  # type: ignore[misc]
            if taker.is_full:
                break
    return total


@contextmanager
def _lines(source: BinaryIO, encoding: Encoding) -> Iterator[io.TextIOWrapper]:
    """The text's lines, each with its ending, from the first on."""
    source.seek(len(encoding.bom))
    text = io.TextIOWrapper(source, encoding.name, "replace", newline="\n")
    try:
        yield text
    finally:
        text.detach()


def _shown(record: str) -> str:
    return record.removesuffix("\n").removesuffix("\r")
