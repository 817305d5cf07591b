"""Entries of directories with the verdicts of the rules."""

import shutil

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.workspace.listing import Listings, ignored_in, list_below
from picoclawd.workspace.scope import OutOfTimeError, Place
from tests.house import House


def no_poll(_looked: int) -> None:
    return


async def entries(house: House, directory: bytes = b"", *, recursive: bool = False) -> Listings:
    place = Place(house.workspace.root, directory, inside=True)
    return await list_below(house.workspace.finder, house.workspace.threads, place, recursive=recursive, poll=no_poll)


async def test_entries_come_in_discovery_order_with_kind_and_verdict(house: House) -> None:
    house.write(".gitignore", "out/\n")
    for name in ("a/b/c", "a.x", "out/d", ".env"):
        house.write(name, "")
    listing = await entries(house, recursive=True)
    assert [(each.path, each.kind, each.ignored) for each in listing.entries] == [
        (b".gitignore", "file", False),
        (b"a", "dir", False),
        (b"a/b", "dir", False),
        (b"a/b/c", "file", False),
        (b"a.x", "file", False),
        (b"out", "dir", True),
    ]
    assert listing.skipped.protected == 1
    assert listing.complete


async def test_a_directory_that_is_not_there_is_a_fault_and_one_below_is_counted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Fault) as caught:
        await entries(house, b"none")
    assert caught.value.slug is Slug.NOT_FOUND
    house.write("a/b/c", "")
    house.write("z/c", "")

    def poll(looked: int) -> None:
        shutil.rmtree(house.root / "a", ignore_errors=True)

    place = Place(house.workspace.root, b"", inside=True)
    listing = await list_below(house.workspace.finder, house.workspace.threads, place, recursive=True, poll=poll)
    assert [each.path for each in listing.entries] == [b"a", b"z", b"z/c"]
    assert listing.skipped.unreadable == 1


async def test_at_the_deadline_it_gives_what_it_has(house: House) -> None:
    house.write("a/b/c", "")

    def poll(looked: int) -> None:
        raise OutOfTimeError

    place = Place(house.workspace.root, b"", inside=True)
    listing = await list_below(house.workspace.finder, house.workspace.threads, place, recursive=True, poll=poll)
    assert [each.path for each in listing.entries] == [b"a"]
    assert not listing.complete


def test_what_rules_ignore_in_a_directory_that_is_ignored_itself_is_told(house: House) -> None:
    house.write(".gitignore", "out/\n*.log\n")
    house.write("out/a.log", "")
    house.write("out/b.txt", "")
    place = Place(house.workspace.root, b"out", inside=True)
    assert ignored_in(house.workspace.finder, place) == {b"a.log": True, b"b.txt": False}
    gone = Place(house.workspace.root, b"gone", inside=True)
    assert ignored_in(house.workspace.finder, gone) == {}
