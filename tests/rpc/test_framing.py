"""Cutting a stream into lines."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from picoclawd import limits
from picoclawd.rpc.budget import Account, ByteBudget
from picoclawd.rpc.framing import Dropped, LineBuffer


def found(chunks: list[bytes], max_line_bytes: int = 100, max_bytes: int = 1 << 30) -> list[bytes | Dropped]:
    buffer = LineBuffer(max_line_bytes, Account(ByteBudget(max_bytes)))
    return [item for chunk in chunks for item in buffer.feed(chunk)]


@pytest.mark.parametrize(
    ("stream", "lines"),
    [
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\n", [b"a", b"b"]),
        (b"a\r\r\n", [b"a\r"]),
        (b"a\rb\n", [b"a\rb"]),
        (b"\n\r\n  \t\r\n\n", []),
        (b" a \n", [b" a "]),
        (b"a\nrest", [b"a"]),
        ("a\u2028b\u2029c\u0085d\x0b\x0c\x1c\n".encode(), ["a\u2028b\u2029c\u0085d\x0b\x0c\x1c".encode()]),
        (b"x" * 100 + b"\n", [b"x" * 100]),
        (b"x" * 101 + b"\nok\n", [Dropped.OVERSIZED, b"ok"]),
        (b"x" * 1000 + b"\n" + b"y" * 101 + b"\n", [Dropped.OVERSIZED, Dropped.OVERSIZED]),
    ],
)
def test_only_a_line_feed_ends_a_line(stream: bytes, lines: list[bytes | Dropped]) -> None:
    assert found([stream]) == lines
    assert found([stream[index : index + 1] for index in range(len(stream))]) == lines


@given(st.lists(st.text("ab\n\r \u2028", max_size=12), max_size=8).map("".join), st.lists(st.integers(0, 90)))
def test_how_the_stream_was_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    stream = text.encode()
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]
    lines = [line.removesuffix(b"\r") for line in stream.split(b"\n")[:-1] if line.strip(b" \t\r")]
    assert found(pieces) == lines


def test_an_oversized_line_is_told_once_and_its_rest_is_not_kept() -> None:
    budget = ByteBudget(1 << 30)
    buffer = LineBuffer(1000, Account(budget))
    told = [item for _ in range(10_000) for item in buffer.feed(b"x" * 600)]
    assert told == [Dropped.OVERSIZED]
    assert budget.statistics().held_bytes == 0
    assert buffer.feed(b"x\nok\n") == [b"ok"]


def test_lines_are_counted_until_given_back_and_endings_are_not() -> None:
    budget = ByteBudget(1 << 30)
    buffer = LineBuffer(1000, Account(budget))
    buffer.feed(b"abc\r\n   \nde")
    assert budget.statistics().held_bytes == len(b"abc") + len(b"de")
    buffer.close()
    assert budget.statistics().held_bytes == len(b"abc")


def test_half_lines_that_fill_the_budget_do_not_silence_a_small_one() -> None:
    budget = ByteBudget(300 * limits.KIB)
    hogs = [LineBuffer(limits.MIB, Account(budget)) for _ in range(4)]
    told = [item for hog in hogs for item in hog.feed(b"x" * 100 * limits.KIB)]
    assert told == [Dropped.OVER_BUDGET]
    late = LineBuffer(limits.MIB, Account(budget))
    assert late.feed(b"y" * 60_000 + b"\n") == [b"y" * 60_000]
    assert late.feed(b"y" * 70_000 + b"\nz\n") == [Dropped.OVER_BUDGET, b"z"]
