"""What came and went is told once, and net."""

from picoclawd.index.changes import Changes, Difference, Found
from picoclawd.index.listing import IGNORED, Kind, Listing

NOTHING = Listing()
FILE = Listing((b"a",), bytes((Kind.FILE,)))
DIRECTORY = Listing((b"a",), bytes((Kind.DIRECTORY,)))
HIDDEN = Listing((b"a",), bytes((Kind.FILE | IGNORED,)))


def told(*listings: Listing) -> Difference:
    changes = Changes()
    for old, new in zip((NOTHING, *listings), listings, strict=False):
        changes.replaced(b"d", old, new)
    difference = changes.take()
    assert changes.take() == Difference()
    return difference


def test_what_comes_and_goes_again_is_no_difference_but_a_file_is_named() -> None:
    assert told(FILE, NOTHING) == Difference(passing=(b"d/a",))
    assert told(FILE, NOTHING, FILE) == Difference(created=(Found(b"d/a", Kind.FILE),), passing=(b"d/a",))
    assert told(DIRECTORY, NOTHING) == Difference()


def test_what_is_not_visible_is_not_told() -> None:
    assert told(HIDDEN) == Difference()
    assert told(FILE, HIDDEN) == Difference(passing=(b"d/a",))
    assert told(HIDDEN, FILE) == Difference(created=(Found(b"d/a", Kind.FILE),))


def test_another_kind_is_another_thing() -> None:
    changes = Changes()
    changes.replaced(b"", FILE, DIRECTORY)
    assert changes.take() == Difference((Found(b"a", Kind.DIRECTORY),), (Found(b"a", Kind.FILE),))
    changes.replaced(b"", DIRECTORY, FILE)
    changes.replaced(b"", FILE, DIRECTORY)
    assert changes.take() == Difference(passing=(b"a",))
