"""The trash: removed files keep everything, on one file system and across two, and a failure leaves no half state."""

import os
import resource
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import linux, stamps
from picoclawd.files.stamps import Stamp
from picoclawd.files.target import Target
from picoclawd.history.records import Trashed
from picoclawd.history.trash import Trash
from tests.files.conftest import Injected
from tests.history.conftest import noise

OTHER_FILE_SYSTEM = "/dev/shm"


@dataclass(frozen=True)
class World:
    """A folder to remove files from, and a trash."""

    folder: Path
    trash: Trash
    state: Path
    fd: int

    def put(self, data: bytes, name: str = "notes.txt", mode: int = 0o644) -> Stamp:
        (self.folder / name).write_bytes(data)
        (self.folder / name).chmod(mode)
        return stamps.of((self.folder / name).stat())

    def target(self, name: str = "notes.txt") -> Target:
        return Target(self.fd, os.fsencode(name), name)

    def trashed_names(self) -> list[str]:
        return sorted(os.listdir(self.state / "trash"))


def _world(folder: Path, state: Path) -> Iterator[World]:
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield World(folder, Trash(str(state)), state, fd)
    finally:
        os.close(fd)


@pytest.fixture(params=["one file system", "two"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "two":
        yield from _two(tmp_path)
    else:
        yield from _world(tmp_path / "ws", tmp_path / "state")


@pytest.fixture
def one(tmp_path: Path) -> Iterator[World]:
    yield from _world(tmp_path / "ws", tmp_path / "state")


@pytest.fixture
def two(tmp_path: Path) -> Iterator[World]:
    yield from _two(tmp_path)


def _two(tmp_path: Path) -> Iterator[World]:
    shared = Path(OTHER_FILE_SYSTEM)
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip(f"{OTHER_FILE_SYSTEM} is no other file system")
    elsewhere = Path(tempfile.mkdtemp(dir=shared))
    try:
        yield from _world(tmp_path / "ws", elsewhere / "state")
    finally:
        shutil.rmtree(elsewhere)


def test_a100_a_removed_file_is_in_the_trash_with_its_bytes_mode_and_times(world: World) -> None:
    data = noise(3 << 20)
    stamp = world.put(data, mode=0o640)
    moved = world.trash.move(world.target(), stamp, 17)
    assert moved == Trashed(b"17-notes.txt", len(data))
    assert os.listdir(world.folder) == []
    assert world.trashed_names() == ["17-notes.txt"]
    kept = (world.state / "trash" / "17-notes.txt").stat()
    assert (stat.S_IMODE(kept.st_mode), kept.st_mtime_ns) == (0o640, stamp.mtime_ns)
    assert world.trash.read(moved.name) == data


def test_it_comes_back_as_it_was(world: World) -> None:
    stamp = world.put(b"precious", mode=0o750)
    moved = world.trash.move(world.target(), stamp, 1)
    back = world.trash.retrieve(moved.name, world.target("other name"))
    assert (world.folder / "other name").read_bytes() == b"precious"
    assert (stat.S_IMODE(back.mode), back.mtime_ns) == (0o750, stamp.mtime_ns)
    assert world.trashed_names() == [] and os.listdir(world.folder) == ["other name"]


def test_the_trash_itself_is_private(world: World) -> None:
    world.trash.move(world.target(), world.put(b"x"), 1)
    assert stat.S_IMODE((world.state / "trash").stat().st_mode) == 0o700


def test_what_changed_since_it_was_looked_at_stays(world: World) -> None:
    stamp = world.put(b"looked at")
    world.put(b"changed since then")
    with pytest.raises(Fault) as caught:
        world.trash.move(world.target(), stamp, 1)
    assert caught.value.slug is Slug.CONFLICT
    assert (world.folder / "notes.txt").read_bytes() == b"changed since then"
    assert world.trashed_names() == []


def test_a_file_that_is_gone_is_not_found(world: World) -> None:
    stamp = world.put(b"x")
    (world.folder / "notes.txt").unlink()
    with pytest.raises(Fault) as caught:
        world.trash.move(world.target(), stamp, 1)
    assert caught.value.slug is Slug.NOT_FOUND


def test_nothing_comes_back_over_a_file_that_is_there(world: World) -> None:
    moved = world.trash.move(world.target(), world.put(b"1"), 1)
    world.put(b"2")
    with pytest.raises(Fault) as caught:
        world.trash.retrieve(moved.name, world.target())
    assert caught.value.slug is Slug.FILE_EXISTS
    assert (world.folder / "notes.txt").read_bytes() == b"2"
    assert world.trash.read(moved.name) == b"1"
    assert os.listdir(world.folder) == ["notes.txt"]


def test_what_is_not_in_the_trash_cannot_come_back(world: World) -> None:
    world.trash.files()
    with pytest.raises(Fault) as caught:
        world.trash.retrieve(b"9-none", world.target())
    assert caught.value.slug is Slug.NOT_FOUND
    assert world.trash.read(b"9-none") is None


def test_the_same_name_removed_twice_is_there_twice(world: World) -> None:
    for number, data in ((1, b"one"), (2, b"two")):
        world.trash.move(world.target(), world.put(data), number)
    assert [world.trash.read(b"%d-notes.txt" % n) for n in (1, 2)] == [b"one", b"two"]
    found = sorted(world.trash.files(), key=lambda entry: entry.number)
    assert [(entry.number, entry.file.size_bytes) for entry in found] == [(1, 3), (2, 3)]


def test_the_longest_name_is_cut_to_what_a_name_may_be(world: World) -> None:
    name = "n" * limits.NAME_MAX_BYTES
    moved = world.trash.move(world.target(name), world.put(b"x", name), 12345)
    assert len(moved.name) == limits.NAME_MAX_BYTES and moved.name.startswith(b"12345-nnn")


def test_discarding_is_for_good_and_may_be_repeated(world: World) -> None:
    moved = world.trash.move(world.target(), world.put(b"x"), 1)
    world.trash.discard(moved.name)
    world.trash.discard(moved.name)
    assert world.trashed_names() == []


def test_a_file_too_large_for_memory_is_not_read_out_of_the_trash(one: World) -> None:
    with (one.folder / "notes.txt").open("wb") as file:
        file.truncate(limits.EDIT_MAX_BYTES + 1)
    stamp = stamps.of((one.folder / "notes.txt").stat())
    assert one.trash.read(one.trash.move(one.target(), stamp, 1).name) is None


def test_a_half_made_copy_of_a_process_that_died_is_removed(world: World) -> None:
    world.trash.files()
    (world.state / "trash" / ".picoclawd.1.0123456789abcdef.tmp").write_bytes(b"half")
    assert world.trash.files() == []
    assert world.trashed_names() == []


class Saver:
    """Saves as an editor does, by rename, right before chosen renames of ours."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch, saves: list[bytes], first: int) -> None:
        self._folder = world.folder
        self._saves, self._skip = saves, first
        self._rename = linux.rename_noreplace
        monkeypatch.setattr(linux, "rename_noreplace", self)

    def __call__(self, old_dir: int, old: bytes, new_dir: int, new: bytes) -> None:
        if self._skip > 0:
            self._skip -= 1
        elif self._saves:
            (self._folder / "editor~").write_bytes(self._saves.pop(0))
            (self._folder / "editor~").rename(self._folder / "notes.txt")
        self._rename(old_dir, old, new_dir, new)


# Across two file systems: a rename that fails, one inside the trash, then the one that takes the name away.
FIRST = {False: 0, True: 2}


@pytest.fixture
def across(world: World) -> bool:
    return world.state.parent.stat().st_dev != world.folder.stat().st_dev


def test_a_save_that_comes_between_gets_its_name_back(
    world: World, across: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamp = world.put(b"to be removed")
    Saver(world, monkeypatch, [b"saved just now"], FIRST[across])
    with pytest.raises(Fault) as caught:
        world.trash.move(world.target(), stamp, 1)
    assert caught.value.slug is Slug.CONFLICT
    assert (world.folder / "notes.txt").read_bytes() == b"saved just now"
    assert os.listdir(world.folder) == ["notes.txt"] and world.trashed_names() == []


def test_of_two_saves_between_none_is_lost(world: World, across: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = world.put(b"to be removed")
    Saver(world, monkeypatch, [b"first save", b"second save"], FIRST[across])
    with pytest.raises(Fault) as caught:
        world.trash.move(world.target(), stamp, 1)
    assert caught.value.slug is Slug.EXTERNAL_CHANGE_KEPT and caught.value.outcome == "unknown"
    assert (world.folder / "notes.txt").read_bytes() == b"second save"
    assert os.listdir(world.folder) == ["notes.txt"]
    (name,) = world.trashed_names()
    assert name in caught.value.message
    assert (world.state / "trash" / name).read_bytes() == b"first save"


def test_a_copy_that_fails_leaves_the_file_and_no_half_copy(two: World) -> None:
    stamp = two.put(noise(2 << 20))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))  # as a full disk does, it fails write(2)
    try:
        with pytest.raises(Fault) as caught:
            two.trash.move(two.target(), stamp, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.data["errno_name"] == "EFBIG"
    assert stamps.of((two.folder / "notes.txt").stat()).size == 2 << 20
    assert os.listdir(two.folder) == ["notes.txt"] and two.trashed_names() == []


def test_a_file_that_changes_while_it_is_copied_stays(two: World, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = two.put(b"before")
    monkeypatch.setattr(os, "utime", _changing(two.folder / "notes.txt", os.utime))
    with pytest.raises(Fault) as caught:
        two.trash.move(two.target(), stamp, 1)
    assert caught.value.slug is Slug.CONFLICT
    assert (two.folder / "notes.txt").read_bytes() == b"written in place"
    assert two.trashed_names() == []


def _changing(path: Path, utime: Callable[..., None]) -> Callable[..., None]:
    def changed(fd: int, *, ns: tuple[int, int]) -> None:
        path.write_bytes(b"written in place")
        utime(fd, ns=ns)

    return changed


@pytest.mark.parametrize("when", [1, 2])
def test_a_move_whose_fsync_fails_is_an_unknown_outcome(one: World, injected: Injected, when: int) -> None:
    # It was told as not_applied, and the file was gone from its place, or back in it.
    stamp = one.put(b"to be removed")
    with pytest.raises(Fault) as caught, injected(f"fsync:error=EIO:when={when}"):
        one.trash.move(one.target(), stamp, 1)
    assert caught.value.outcome == "unknown" and one.trashed_names() == ["1-notes.txt"]
    with pytest.raises(Fault) as caught, injected(f"fsync:error=EIO:when={when}"):
        one.trash.retrieve(b"1-notes.txt", one.target())
    assert caught.value.outcome == "unknown"
    assert (one.folder / "notes.txt").read_bytes() == b"to be removed"


def test_a_file_that_cannot_be_unlinked_keeps_its_name(two: World, injected: Injected) -> None:
    # The copy in the trash was dropped while the file had a hidden name only.
    stamp = two.put(b"to be removed")
    with pytest.raises(Fault) as caught, injected("unlinkat,unlink:error=EACCES:when=1"):
        two.trash.move(two.target(), stamp, 1)
    assert (caught.value.slug, caught.value.outcome) == (Slug.ACCESS_DENIED, None)
    assert os.listdir(two.folder) == ["notes.txt"] and two.trashed_names() == []


def test_a_copy_that_came_back_is_back_also_where_the_one_in_the_trash_stays(two: World, injected: Injected) -> None:
    stamp = two.put(b"to be removed")
    held = two.trash.move(two.target(), stamp, 1)
    with injected("unlinkat,unlink:error=EIO:when=1"):
        two.trash.retrieve(held.name, two.target())
    assert (two.folder / "notes.txt").read_bytes() == b"to be removed"
