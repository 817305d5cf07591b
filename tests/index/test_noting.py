"""Columns are filled in path order, and a few changes share one."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.index import noting
from picoclawd.index.columns import Column
from picoclawd.index.contents import Contents
from picoclawd.index.noting import Noting
from picoclawd.index.places import Places
from picoclawd.index.trigrams import TrigramMatrix
from picoclawd.index.trust import Trust
from tests.index.text_tree import settle, text_tree


class Notes:
    """A noting of the files of a directory, in columns of 100 bytes."""

    def __init__(self, root: Path, fd: int) -> None:
        self.root = root
        self.places = Places()
        self.matrix = TrigramMatrix()
        self.noting = Noting(Contents(fd, 0, Trust(1)), self.places, 100)

    def write(self, name: str, data: bytes) -> None:
        (self.root / name).write_bytes(data)

    def note(self) -> list[int]:
        """How many files each step of a round looked at."""
        settle()
        self.noting.start(sorted(os.fsencode(path.name) for path in self.root.iterdir()))
        steps = []
        while looked := self.noting.step(self.matrix):
            steps.append(looked)
        return steps

    def columns(self) -> list[list[bytes]]:
        """The living files of each column."""
        return [[group.paths[index] for index in group.living()] for group in self.places.groups()]


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    fd = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    yield Notes(tmp_path, fd)
    os.close(fd)


def test_columns_are_filled_in_the_order_given(notes: Notes) -> None:
    for number, size in enumerate((40, 40, 40, 500, 10, 0)):
        notes.write(f"{number}", b"x" * size)
    assert sum(notes.note()) == 6
    assert notes.columns() == [[b"0", b"1"], [b"2"], [b"3"], [b"4", b"5"]]
    assert notes.note() == []


@pytest.mark.parametrize("step_files", [1, 2, 3, 6])
def test_a_column_is_filled_by_any_number_of_steps(
    notes: Notes, monkeypatch: pytest.MonkeyPatch, step_files: int
) -> None:
    monkeypatch.setattr(noting, "_STEP_FILES", step_files)
    for number, size in enumerate((40, 40, 40, 500, 10, 0)):
        notes.write(f"{number}", b"x" * size)
    steps = notes.note()
    assert sum(steps) == 6
    assert max(steps) <= step_files
    assert notes.columns() == [[b"0", b"1"], [b"2"], [b"3"], [b"4", b"5"]]


def test_changes_go_into_the_last_column_while_it_has_room(notes: Notes) -> None:
    for number in range(5):
        notes.write(f"{number}", b"x" * 20)
    notes.note()
    assert len(notes.columns()) == 1
    for name in (b"5", b"6", b"7"):
        notes.write(os.fsdecode(name), b"y" * 40)
        notes.note()
    assert notes.columns() == [[b"0", b"1", b"2", b"3", b"4"], [b"5", b"6"], [b"7"]]
    assert notes.matrix.statistics().columns == 3


def test_a_column_with_many_dead_files_is_made_anew(notes: Notes) -> None:
    for number in range(8):
        notes.write(f"{number}", b"x" * 10)
    notes.note()
    for dead in (b"1", b"4"):
        notes.places.forget(dead)
    assert sum(notes.note()) == 2
    for dead in (b"1", b"4", b"6"):
        notes.places.forget(dead)
    assert sum(notes.note()) == 8
    assert [len(column) for column in notes.columns()] == [8]
    assert all(isinstance(group, Column) and group.dead == 0 for group in notes.places.groups())


def test_what_a_stat_does_not_prove_is_not_noted(tmp_path: Path) -> None:
    with text_tree(tmp_path, 0, Trust(10**12)) as tree:
        path = tree.write("a.txt", b"x\n")
        tree.note()
        assert tree.unsettled() == [path]


def test_a_text_that_is_kept_and_cannot_be_joined_is_noted(tmp_path: Path) -> None:
    with text_tree(tmp_path) as tree:
        latin = tree.write("a.txt", b"caf\xe9 noir\n")
        settle()
        tree.load()
        assert tree.unsettled() == [latin]
        tree.note()
        assert tree.unsettled() == []
        assert tree.looked_at("noir") == [latin]
        assert tree.looked_at("blanc") == []
        assert tree.counts("caf.", verified=False) == {latin: 1}
