"""Under strict redaction a row stays only where what is shown of its line matches."""

from collections.abc import Callable
from typing import Any

import pytest

from picoclawd.index.matcher import compile_search
from picoclawd.index.scan import Row, scan_file
from picoclawd.tools._sieve import sieve_maker
from picoclawd.tools._spec import Call, Settings
from picoclawd.workspace.excerpt import Lines, Source
from picoclawd.workspace.sessions import Session
from picoclawd.workspace.workspace import Options
from tests.house import House

SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
TEXT = f"key = {SECRET}\nplain key\n{SECRET} and key\nnothing\n".encode()


def call_of(house: House, session: Session) -> Call[Any]:
    return Call(
        tool="search_files",
        given={},
        session=session,
        workspace=house.workspace,
        settings=Settings(),
        enabled=frozenset(),
        inline_chars=1000,
        cancelled=lambda: False,
        progress=lambda done, total, message: None,
    )


@pytest.fixture
def strict(make_house: Callable[..., House]) -> House:
    return make_house(options=Options(redaction="strict"))


def never() -> bool:
    return False


def kept(house: House, *sources: str, text: bytes = TEXT, multiline: bool = False) -> list[int]:
    """The line numbers of the rows that an agent gets of those that were found."""
    make = sieve_maker(call_of(house, house.agent))
    assert make is not None
    patterns = tuple(compile_search(source, multiline=multiline) for source in sources)
    found = {row.line_no: row for pattern in patterns for row in scan_file(pattern, text).rows}
    rows = [found[line_no] for line_no in sorted(found)]
    return [row.line_no for row in make(patterns)(rows, Lines(Source.of_bytes(text)), never)]


def test_only_agents_under_strict_redaction_have_a_sieve(strict: House, make_house: Callable[..., House]) -> None:
    assert sieve_maker(call_of(strict, strict.agent)) is not None
    assert sieve_maker(call_of(strict, strict.operator)) is None
    lenient = make_house()
    assert sieve_maker(call_of(lenient, lenient.agent)) is None


@pytest.mark.parametrize("multiline", [False, True])
@pytest.mark.parametrize(
    ("sources", "lines"),
    [
        (("key",), [1, 2, 3]),
        ((SECRET[:10],), []),
        ((SECRET[-6:],), []),
        ((f"key.*{SECRET[4:7]}",), []),
        ((SECRET[:10], "plain"), [2]),
        ((SECRET[:10], "^key"), [1]),
        ((f"{SECRET[:10]}|nothing",), [4]),
    ],
)
def test_what_matches_in_a_masked_secret_only_is_dropped(
    strict: House, sources: tuple[str, ...], lines: list[int], multiline: bool
) -> None:
    assert kept(strict, *sources, multiline=multiline) == lines


def test_a_match_over_lines_counts_where_the_masked_text_matches_there_too(strict: House) -> None:
    text = f"begin\n{SECRET}\nend\nbegin\nend\n".encode()
    assert kept(strict, f"begin\n{SECRET[:8]}", text=text, multiline=True) == []
    assert kept(strict, "begin\nend", text=text, multiline=True) == [4, 5]
    assert kept(strict, "begin\nend", text=b"begin\nend\n", multiline=True) == [1, 2]
    assert kept(strict, "none", text=text, multiline=True) == []


def test_a_long_sieving_can_be_stopped_and_keeps_what_it_has(strict: House) -> None:
    make = sieve_maker(call_of(strict, strict.agent))
    assert make is not None
    text = b"key\n" * 1000
    pattern = compile_search("key")
    rows: tuple[Row, ...] = scan_file(pattern, text).rows
    asked = iter([False, False, True])
    found = make((pattern,))(rows, Lines(Source.of_bytes(text)), asked.__next__)
    assert 0 < len(found) < len(rows)
    assert found == rows[: len(found)]
