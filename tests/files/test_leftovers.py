"""Leftovers are found and left alone."""

from picoclawd.files.leftovers import find_leftovers
from tests.files.conftest import Folder

ONE, TWO = ".picoclawd.1.0123456789abcdef.tmp", ".picoclawd.22.fedcba9876543210.tmp"


def test_only_our_temporary_names_are_found_and_nothing_is_deleted(folder: Folder) -> None:
    names = [TWO, ONE, "notes.txt", ".picoclawd.tmp", "x" + ONE, "caf\udce9"]
    for name in names:
        folder.put(b"", name)
    assert find_leftovers(folder.fd) == [ONE.encode(), TWO.encode()]
    assert find_leftovers(folder.fd) == [ONE.encode(), TWO.encode()]
    assert folder.names() == sorted(names)


def test_a_folder_without_any_has_none(folder: Folder) -> None:
    assert find_leftovers(folder.fd) == []
