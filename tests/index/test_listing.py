"""One entry, one verdict, the same wherever it is asked for."""

import pytest

from picoclawd import limits
from picoclawd.index.ignore import ROOT
from picoclawd.index.ignore_rules import parse_rules
from picoclawd.index.listing import (
    IGNORED,
    NONE_SKIPPED,
    PROTECTED,
    TOO_DEEP,
    Judge,
    Kind,
    Listing,
    Seen,
    Skipped,
    is_visible,
    kind_of,
    skipped_in,
)
from tests.index.truth import PlainHiding

SEEN = Seen((b"a.log", b"b.log", b"key.pem", b"link", b"pipe"), bytes((0, 1, 0, 2, 3)))


def judged(seen: Seen, directory: bytes = b"") -> Listing:
    scope = ROOT.enter(b"", parse_rules(b"*.log\n*.pem\n"), None)
    return Judge(directory, scope, PlainHiding()).judge(seen)


def test_every_entry_is_marked_and_counted() -> None:
    listing = judged(SEEN)
    assert listing.marks == bytes((IGNORED, IGNORED | 1, PROTECTED, Kind.SYMLINK, Kind.SPECIAL))
    assert [kind_of(mark) for mark in listing.marks] == [0, 1, 0, 2, 3]
    assert [is_visible(mark) for mark in listing.marks] == [False, False, False, True, True]
    assert skipped_in(listing) == Skipped(ignored=2, protected=1, special=1)
    assert listing.seen == SEEN


@pytest.mark.parametrize(
    ("depth", "kind", "verdict"),
    [(255, Kind.FILE, 0), (255, Kind.DIRECTORY, TOO_DEEP), (254, Kind.DIRECTORY, 0)],
)
def test_what_no_path_could_name_is_too_deep(depth: int, kind: Kind, verdict: int) -> None:
    assert limits.PATH_DEPTH_MAX == 256
    listing = judged(Seen((b"x",), bytes((kind,))), b"/".join([b"d"] * depth))
    assert listing.marks[0] == kind | verdict
    assert skipped_in(listing).too_deep == (verdict != 0)


def test_a_path_longer_than_the_kernel_takes_is_too_deep() -> None:
    directory = b"/".join([b"d" * 200] * 20)
    assert judged(Seen((b"e" * 75, b"e" * 76), bytes(2)), directory).marks == bytes((0, TOO_DEEP))


@pytest.mark.parametrize("name", [b"a", b"m", b"z"])
def test_an_entry_can_be_set_and_taken_out(name: bytes) -> None:
    listing = Listing((b"b", b"m"), bytes((1, 2)))
    added = listing.with_entry(name, Kind.SPECIAL)
    assert dict(added.entries()) == {b"b": 1, b"m": 2, name: 3}
    assert list(added.names) == sorted(added.names)
    assert added.mark(name) == 3
    without = added.with_entry(name, None)
    assert without.mark(name) is None
    assert without == (listing if name != b"m" else Listing((b"b",), bytes((1,))))
    assert without.with_entry(name, None) == without


def test_counts_add_up() -> None:
    one = Skipped(1, 2, 3, 4, 5)
    assert one.plus(Skipped(10, 20, 30, 40, 50)) == Skipped(11, 22, 33, 44, 55)
    assert one.plus(NONE_SKIPPED) == NONE_SKIPPED.plus(one) == one
