"""Lines by their places: blocks are those of a naive split, from memory and from disk."""

import os
import random
from pathlib import Path

import pytest

from picoclawd.index.matcher import compile_search
from picoclawd.index.scan import scan_file
from picoclawd.text import blocks
from picoclawd.workspace.excerpt import REACH_BYTES, Lines, Source


def naive(data: bytes, pattern: bytes, context: int) -> list[list[tuple[int, bytes, bool]]]:
    text = data.removeprefix(b"\xef\xbb\xbf")
    lines = [line.removesuffix(b"\r") for line in text.removesuffix(b"\n").split(b"\n")]
    matches = [n for n, line in enumerate(lines, 1) if pattern in line]
    return [[(n, lines[n - 1], n in matches) for n in part] for part in blocks.merge(matches, context, len(lines))]


@pytest.mark.parametrize("from_disk", [False, True])
def test_blocks_are_those_of_a_naive_split(tmp_path: Path, from_disk: bool) -> None:
    dice = random.Random(5)
    for number in range(150):
        parts = dice.choices([b"hit", b"", b"x", b"long " * 30, b"\r", b"h\rit"], k=dice.randint(1, 120))
        end = dice.choice((b"\n", b"\r\n"))
        data = dice.choice((b"", b"\xef\xbb\xbf")) + end.join(parts) + dice.choice((b"", end))
        context = dice.choice((1, 2, 5, 20))
        rows = scan_file(compile_search("hit"), data).rows
        path = tmp_path / f"{number}"
        path.write_bytes(data)
        fd = os.open(path, os.O_RDONLY)
        lines = Lines(Source.of_file(fd, len(data)) if from_disk else Source.of_bytes(data))
        found = [[(n, text, span is not None) for n, text, span in block()] for block in lines.blocks(rows, context)]
        os.close(fd)
        assert found == naive(data, b"hit", context), data


def test_an_excerpt_reaches_around_its_focus() -> None:
    data = b"a" * 10_000 + b"X" + b"b" * 10_000
    text, start = Lines(Source.of_bytes(data)).excerpt(0, len(data), 10_000)
    assert start == 10_000 - REACH_BYTES
    assert text[REACH_BYTES : REACH_BYTES + 1] == b"X"
    assert len(text) == 3 * REACH_BYTES


def test_no_rows_make_no_block() -> None:
    assert list(Lines(Source.of_bytes(b"a\nb\n")).blocks((), 3)) == []
