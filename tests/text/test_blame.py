"""Lines and the revisions that they come from."""

from picoclawd.text.blame import blame


def test_each_line_belongs_to_the_revision_that_brought_it() -> None:
    found = blame([(1, b"a\nb\n"), (2, b"a\nx\nb\n"), (3, b"x\nb\nc")])
    assert found == [(2, b"x\n"), (1, b"b\n"), (3, b"c")]


def test_a_line_that_went_and_came_back_is_new() -> None:
    assert blame([(1, b"a\nb\n"), (2, b"b\n"), (3, b"a\nb\n")]) == [(3, b"a\n"), (1, b"b\n")]


def test_nothing_has_no_lines() -> None:
    assert blame([]) == []
    assert blame([(1, b"x\n"), (2, b"")]) == []
