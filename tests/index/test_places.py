"""Each file is in one group at most, and what is touched while a group is made is not in it."""

import pytest

from picoclawd.index.columns import Column, Noted
from picoclawd.index.groups import Group
from picoclawd.index.places import Part, Places


def group_of(*paths: bytes) -> Group:
    return Group(paths, [(0,)] * len(paths))


def column_of(*paths: bytes) -> Column:
    return Column([Noted(path, (0,), True) for path in paths], 1)


def taken_in(places: Places, group: Group) -> Group:
    places.begin()
    places.take_in(group, places.number())
    return group


def test_a_file_is_where_it_came_in_last() -> None:
    places = Places()
    first = taken_in(places, group_of(b"a", b"b"))
    second = taken_in(places, group_of(b"b", b"c"))
    assert [places.find(path) for path in (b"a", b"b", b"c", b"d")] == [(first, 0), (second, 0), (second, 1), None]
    assert (first.number, second.number, first.dead, second.dead) == (0, 1, 1, 0)
    assert (sorted(places.paths()), places.groups(), len(places)) == ([b"a", b"b", b"c"], [first, second], 2)


def test_what_is_touched_or_forgotten_meanwhile_does_not_come_in() -> None:
    places = Places()
    old = taken_in(places, group_of(b"a", b"b", b"c"))
    places.touch(b"a")  # before: of no concern to the next
    places.begin()
    places.touch(b"b")
    places.forget(b"c")
    new = group_of(b"a", b"b", b"c")
    places.take_in(new, places.number())
    assert [places.find(path) for path in (b"a", b"b", b"c")] == [(new, 0), (old, 1), None]
    assert list(new.living()) == [0]
    places.begin()
    assert places.clear() == [old, new]
    places.take_in(group_of(b"a"), places.number())
    assert places.paths() == []


def test_a_number_is_used_again_once_its_group_is_dropped() -> None:
    places = Places()
    first = taken_in(places, group_of(b"a"))
    assert places.holds(first)
    assert places.drop(first)
    assert not places.drop(first)
    assert (places.find(b"a"), places.holds(first)) == (None, False)
    second = taken_in(places, group_of(b"b"))
    assert (second.number, places.holds(first), places.holds(second)) == (0, False, True)


@pytest.mark.parametrize("touched", [None, b"a", b"b", b"c"])
def test_a_column_is_extended_by_files(touched: bytes | None) -> None:
    places = Places()
    column = column_of(b"a", b"b")
    taken_in(places, column)
    places.begin()
    if touched is not None:
        places.touch(touched)
    both = places.extend(column, column_of(b"c"))
    assert both is not None
    assert (both.number, places.groups()) == (column.number, [both])
    for index, path in enumerate((b"a", b"b", b"c")):
        assert places.find(path) == (None if path == touched else (both, index))
    assert places.extend(column, column_of(b"d")) is None


def test_a_cover_is_kept_until_something_changes() -> None:
    places = Places()
    group = taken_in(places, group_of(b"a", b"b", b"c"))
    files = [b"a", b"c", b"x"]
    cover = places.cover(files, "key")
    assert (cover.parts, cover.singles) == ([Part(group, bytearray(b"\1\0\1"))], [b"x"])
    assert places.cover(files, "key") is cover
    assert places.cover([b"a", b"b", b"c"]).parts == [Part(group, None)]
    places.forget(b"c")
    cover = places.cover(files, "key")
    assert (list(cover.parts[0].indexes()), cover.singles) == ([0], [b"c", b"x"])


def test_a_part_loses_files() -> None:
    part = Part(group_of(b"a", b"b", b"c"), None)
    assert list(part.without([1]).indexes()) == [0, 2]
    assert list(part.without([1]).without([0]).indexes()) == [2]
    assert list(part.indexes()) == [0, 1, 2]
