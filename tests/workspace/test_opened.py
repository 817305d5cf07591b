"""A file that is opened to be scanned is the same to its reader in memory, as a stream, and whole."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from picoclawd.index import contents
from picoclawd.index.matcher import compile_search
from picoclawd.index.scan import End, Row, Want
from picoclawd.workspace import opened as module
from picoclawd.workspace.excerpt import Lines
from picoclawd.workspace.opened import Opened, Patterns, open_to_scan
from picoclawd.workspace.scope import Place
from picoclawd.workspace.search import Missed, Sieve, Stop
from tests.house import House

TEXT = b"alpha\r\nbeta\n\nalpha beta\ngamma\nbeta"
ALL = Want()


def never() -> bool:
    return False


def patterns(*sources: str, multiline: bool = False) -> Patterns:
    return tuple(compile_search(source, multiline=multiline) for source in sources)


def opened(house: House, name: bytes, wanted: Patterns, missed: Missed | None = None) -> Opened | None:
    place = Place(house.workspace.root, b"", inside=True)
    return open_to_scan(house.workspace.searcher, place, name, wanted, missed or Missed())


def line_nos(house: House, wanted: Patterns, want: Want = ALL) -> tuple[int, list[int]]:
    file = opened(house, b"a", wanted)
    assert file is not None
    with file:
        hits = file.scan(want, None, Missed(), never)
        texts = [file.lines.whole(row.start, row.end) for row in hits.rows]
    lines = TEXT.replace(b"\r\n", b"\n").split(b"\n")
    assert texts == [lines[row.line_no - 1] for row in hits.rows]
    return hits.count, [row.line_no for row in hits.rows]


@pytest.fixture(params=["in memory", "large"])
def house_of_text(request: pytest.FixtureRequest, house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """A house with `TEXT` in `a`, which is small, or too large to be held."""
    if request.param == "large":
        monkeypatch.setattr(contents, "LARGE_BYTES", 4)
    house.write("a", TEXT)
    return house


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (patterns("alpha"), [1, 4]),
        (patterns("alpha", "beta"), [1, 2, 4, 6]),
        (patterns("beta", "alpha"), [1, 2, 4, 6]),
        (patterns("^$", "gamma", "delta"), [3, 5]),
        (patterns("delta"), []),
        (patterns("(?s)beta\n\nalpha", multiline=True), [2, 3, 4]),
    ],
)
def test_every_line_that_any_pattern_matches_is_found_once(
    house_of_text: House, wanted: Patterns, found: list[int]
) -> None:
    assert line_nos(house_of_text, wanted) == (len(found), found)


def test_of_several_patterns_all_lines_are_counted_and_as_many_kept_as_are_wanted(house_of_text: House) -> None:
    assert line_nos(house_of_text, patterns("alpha", "beta"), Want(rows=2)) == (4, [1, 2])
    assert line_nos(house_of_text, patterns("beta"), Want(rows=0)) == (3, [])


def drop_odd(_patterns: Patterns) -> Sieve:
    def sieve(rows: Sequence[Row], lines: Lines, stop: Stop) -> tuple[Row, ...]:
        return tuple(row for row in rows if row.line_no % 2 == 0)

    return sieve


def test_what_a_sieve_drops_is_counted_as_redacted_and_nowhere_else(house_of_text: House) -> None:
    missed = Missed()
    file = opened(house_of_text, b"a", patterns("alpha", "beta"))
    assert file is not None
    with file:
        hits = file.scan(Want(rows=1), drop_odd, missed, never)
    assert (hits.count, [row.line_no for row in hits.rows]) == (3, [2])
    assert missed == Missed(redacted=1)


def test_a_scan_that_is_stopped_says_so(house_of_text: House) -> None:
    for wanted in (patterns("alpha"), patterns("alpha", "beta")):
        file = opened(house_of_text, b"a", wanted)
        assert file is not None
        with file:
            assert file.scan(ALL, None, Missed(), lambda: True).end is End.STOPPED


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("wanted", [patterns("a"), patterns("a", multiline=True)], ids=["lines", "whole"])
@pytest.mark.parametrize("text", [TEXT, b"\0" + TEXT], ids=["text", "binary"])
def test_every_descriptor_is_closed(house_of_text: House, wanted: Patterns, text: bytes) -> None:
    house_of_text.write("a", text)
    before = descriptors()
    file = opened(house_of_text, b"a", wanted)
    assert (file is None) == text.startswith(b"\0")
    if file is not None:
        with file:
            file.scan(ALL, None, Missed(), never)
    assert descriptors() == before


def test_what_has_no_text_is_counted_by_its_reason(house_of_text: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house = house_of_text
    house.write("binary", b"\0" + TEXT)
    (house.root / "directory").mkdir()
    os.mkfifo(house.root / "fifo")
    missed = Missed()
    for name in (b"binary", b"directory", b"fifo", b"gone"):
        assert opened(house, name, patterns("a"), missed) is None
    assert missed == Missed(binary=1, special=2, vanished=1)
    monkeypatch.setattr(module, "WHOLE_MAX_BYTES", 8)
    over = Missed()
    file = opened(house, b"a", patterns("a", multiline=True), over)
    if file is None:  # only a large file is refused: what is in memory is there already
        assert over == Missed(over_budget=1)
    else:
        file.__exit__()
        assert over == Missed()


def test_a_file_that_fails_while_it_is_read_is_counted_and_has_no_rows(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "LARGE_BYTES", 4)
    house.write("a", TEXT)
    file = opened(house, b"a", patterns("alpha"))
    assert file is not None
    with file:
        file._fd, kept = os.open(house.root, os.O_RDONLY), file._fd  # type: ignore[attr-defined]  # reads as EISDIR
        os.close(kept)
        missed = Missed()
        hits = file.scan(ALL, None, missed, never)
    assert (hits.count, hits.rows) == (0, ())
    assert missed == Missed(unreadable=1)


def test_a_candidate_through_a_link_is_read_where_it_leads(house: House) -> None:
    house.write("a", TEXT)
    Path(house.root / "link").symlink_to("a")
    file = opened(house, b"link", patterns("gamma"))
    assert file is not None
    with file:
        assert file.scan(ALL, None, Missed(), never).count == 1
