"""The exchange: whatever an outside program saves in between ends at the path, or is kept, and is never dropped."""

import functools
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import linux
from picoclawd.files.commit import Committed, replace
from tests.files.conftest import Folder, Injected

OLD, NEW = b"old bytes\n", b"the new bytes\n"
Act = Callable[[], object]


def replace_while(folder: Folder, act: Act, keep: Callable[[bytes], None] | None = None) -> Committed:
    """Replace the old file; `act` runs at the last moment before the exchange, once."""
    acts = [act]

    def still_there() -> bool:
        if acts:
            acts.pop()()
        return True

    return replace(folder.target(), NEW, folder.put(OLD), still_there=still_there, keep=keep)


def after_exchange(monkeypatch: pytest.MonkeyPatch, acts: dict[int, Act]) -> None:
    """Run an outside program's act right after the n-th exchange, before anybody can look at what came out."""
    real, count = linux.rename_exchange, 0

    def exchange(old_dir_fd: int, old: bytes, new_dir_fd: int, new: bytes) -> None:
        nonlocal count
        real(old_dir_fd, old, new_dir_fd, new)
        count += 1
        acts.get(count, lambda: None)()

    monkeypatch.setattr(linux, "rename_exchange", exchange)


def test_a_save_by_rename_just_before_the_exchange_is_back_at_its_path(folder: Folder) -> None:
    with pytest.raises(Fault) as caught:
        replace_while(folder, lambda: folder.save_by_rename(b"theirs"))
    assert (caught.value.slug, caught.value.outcome) == (Slug.CONFLICT, None)
    assert folder.bytes() == b"theirs"
    assert folder.names() == ["notes.txt"]


def test_a_save_in_place_just_before_the_exchange_waits_and_lands_in_the_file(folder: Folder) -> None:
    started = threading.Event()

    def save() -> None:
        started.set()
        with open(folder.path / "notes.txt", "r+b") as file:  # waits here for the lease
            file.write(b"theirs")

    def come() -> None:
        thread.start()
        started.wait(10)
        with pytest.raises(BlockingIOError):  # the same from here: the lease is broken for certain
            os.open(folder.path / "notes.txt", os.O_WRONLY | os.O_NONBLOCK)

    thread = threading.Thread(target=save)
    with pytest.raises(Fault) as caught:
        replace_while(folder, come)
    thread.join(10)
    assert caught.value.slug is Slug.CONFLICT
    assert folder.bytes() == b"theirstes\n"
    assert folder.names() == ["notes.txt"]


def test_a_file_that_is_removed_just_before_the_exchange_stays_removed(folder: Folder) -> None:
    with pytest.raises(Fault) as caught:
        replace_while(folder, (folder.path / "notes.txt").unlink)
    assert (caught.value.slug, caught.value.outcome) == (Slug.CONFLICT, None)
    assert folder.names() == []


@pytest.mark.parametrize("kind", ["directory", "link", "fifo"])
def test_anything_that_took_the_name_gets_it_back(folder: Folder, kind: str) -> None:
    path = folder.path / "notes.txt"

    def take() -> None:
        path.unlink()
        if kind == "directory":
            path.mkdir()
            (path / "inside").write_bytes(b"x")
        elif kind == "link":
            path.symlink_to("elsewhere")
        else:
            os.mkfifo(path)

    with pytest.raises(Fault) as caught:
        replace_while(folder, take)
    assert caught.value.slug is Slug.CONFLICT
    assert folder.names() == ["notes.txt"]
    assert path.is_dir() if kind == "directory" else path.is_symlink() if kind == "link" else path.is_fifo()


def test_of_two_saves_the_newer_has_the_path_and_the_older_is_kept(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_exchange(monkeypatch, {1: lambda: folder.save_by_rename(b"second save")})
    kept: list[bytes] = []
    with pytest.raises(Fault) as caught:
        replace_while(folder, lambda: folder.save_by_rename(b"first save"), keep=kept.append)
    assert (caught.value.slug, caught.value.outcome) == (Slug.EXTERNAL_CHANGE_KEPT, None)
    assert caught.value.data["kept_as"] == "history"
    assert folder.bytes() == b"second save"
    assert kept == [b"first save"]
    assert folder.names() == ["notes.txt"]


def _refuse(data: bytes) -> None:
    raise Fault(Slug.HISTORY_UNAVAILABLE, "the history is full")


@pytest.mark.parametrize("keep", [None, _refuse])
def test_a_save_that_no_history_takes_stays_under_the_name_that_the_error_tells(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, keep: Callable[[bytes], None] | None
) -> None:
    after_exchange(monkeypatch, {1: lambda: folder.save_by_rename(b"second save")})
    with pytest.raises(Fault) as caught:
        replace_while(folder, lambda: folder.save_by_rename(b"first save"), keep=keep)
    assert caught.value.slug is Slug.EXTERNAL_CHANGE_KEPT
    name = caught.value.data["kept_as"]
    assert name in caught.value.message
    assert folder.names() == [name, "notes.txt"]
    assert folder.bytes(name) == b"first save"
    assert folder.bytes() == b"second save"


@pytest.mark.parametrize(("size", "is_kept"), [(8, True), (9, False)])
def test_a_save_that_is_too_large_for_the_history_stays_beside(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, size: int, is_kept: bool
) -> None:
    monkeypatch.setattr(limits, "EDIT_MAX_BYTES", 8)
    after_exchange(monkeypatch, {1: lambda: folder.save_by_rename(b"second save")})
    kept: list[bytes] = []
    with pytest.raises(Fault) as caught:
        replace_while(folder, lambda: folder.save_by_rename(b"1" * size), keep=kept.append)
    assert kept == ([b"1" * size] if is_kept else [])
    assert (caught.value.data["kept_as"] == "history") is is_kept
    assert len(folder.names()) == (1 if is_kept else 2)


def test_a_save_that_is_put_back_costs_no_descriptor(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    after_exchange(monkeypatch, {1: lambda: folder.save_by_rename(b"second save")})
    before = os.listdir("/proc/self/fd")
    with pytest.raises(Fault):
        replace_while(folder, lambda: folder.save_by_rename(b"first save"), keep=lambda data: None)
    assert os.listdir("/proc/self/fd") == before


def test_a_directory_that_cannot_be_put_back_stays_beside(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder.path / "notes.txt"

    def take() -> None:
        path.unlink()
        path.mkdir()

    # Rename cannot put a file over a directory: the second save comes by another exchange.
    def save() -> None:
        (folder.path / "editor~").write_bytes(b"second save")
        os.rename(folder.path / "editor~", path)

    after_exchange(monkeypatch, {1: save})
    with pytest.raises(Fault) as caught:
        replace_while(folder, take, keep=lambda data: None)
    name = caught.value.data["kept_as"]
    assert (folder.path / name).is_dir()
    assert folder.bytes() == b"second save"


def test_a_save_is_put_back_although_the_path_was_removed_in_between(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_exchange(monkeypatch, {1: (folder.path / "notes.txt").unlink})
    with pytest.raises(Fault) as caught:
        replace_while(folder, lambda: folder.save_by_rename(b"theirs"))
    assert caught.value.slug is Slug.CONFLICT
    assert folder.bytes() == b"theirs"
    assert folder.names() == ["notes.txt"]


@pytest.mark.parametrize("saves", [3, 4])
def test_an_editor_that_saves_faster_than_we_put_back_loses_none_of_its_last_saves(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, saves: int
) -> None:
    def save(number: int) -> Act:
        return lambda: folder.save_by_rename(b"save %d" % number)

    after_exchange(monkeypatch, {number: save(number) for number in range(1, saves + 1)})
    kept: list[bytes] = []
    with pytest.raises(Fault) as caught:
        replace_while(folder, save(0), keep=kept.append)
    assert caught.value.slug is Slug.EXTERNAL_CHANGE_KEPT
    assert b"save %d" % saves in [folder.bytes(), *kept]
    assert NEW not in [folder.bytes(), *kept]
    assert folder.names() == ["notes.txt"]


def test_a_writer_that_opened_our_file_in_between_writes_to_what_is_at_the_path(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def come() -> None:
        opened.append(os.open(folder.path / "notes.txt", os.O_WRONLY))

    after_exchange(monkeypatch, {1: come})
    kept: list[bytes] = []
    with pytest.raises(Fault) as caught:
        replace_while(folder, lambda: folder.save_by_rename(b"first save"), keep=kept.append)
    os.write(opened[0], b"THE")
    os.close(opened[0])
    assert (caught.value.slug, caught.value.outcome) == (Slug.EXTERNAL_CHANGE_KEPT, "unknown")
    assert folder.bytes() == b"THE new bytes\n"
    assert kept == [b"first save"]


def test_a_file_that_somebody_writes_to_is_given_its_name_and_the_other_is_kept(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def first_save() -> None:
        folder.save_by_rename(b"first save")
        opened.append(os.open(folder.path / "notes.txt", os.O_WRONLY))

    after_exchange(monkeypatch, {1: lambda: folder.save_by_rename(b"second save")})
    kept: list[bytes] = []
    with pytest.raises(Fault) as caught:
        replace_while(folder, first_save, keep=kept.append)
    os.write(opened[0], b"FIRST")
    os.close(opened[0])
    assert caught.value.slug is Slug.EXTERNAL_CHANGE_KEPT
    assert folder.bytes() == b"FIRST save"
    assert kept == [b"second save"]


def test_a_save_that_is_still_being_written_is_not_moved_into_the_history(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def save(number: int) -> None:
        folder.save_by_rename(b"save %d" % number)
        if number == 3:
            opened.append(os.open(folder.path / "notes.txt", os.O_WRONLY))

    after_exchange(monkeypatch, {number: functools.partial(save, number) for number in (1, 2, 3)})
    kept: list[bytes] = []
    with pytest.raises(Fault) as caught:
        replace_while(folder, functools.partial(save, 0), keep=kept.append)
    os.write(opened[0], b"SAVE")
    os.close(opened[0])
    assert folder.bytes(caught.value.data["kept_as"]) == b"SAVE 3"
    assert kept == []


def test_our_file_that_even_we_may_not_read_is_taken_back_all_the_same(
    folder: Folder, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    folder.put(b"theirs", "editor~", mode=0o600)
    expected = folder.put(OLD, mode=0o204)  # the owner may only write: so may we, once the file is ours
    folder.path.chmod(0o777)

    def save() -> bool:
        os.rename("editor~", "notes.txt", src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        return True

    with pytest.raises(Fault) as caught, as_nobody():
        replace(folder.target(), NEW, expected, still_there=save)
    assert caught.value.slug is Slug.CONFLICT
    assert folder.bytes() == b"theirs"
    assert folder.names() == ["notes.txt"]


def test_without_leases_the_exchange_alone_guards(folder: Folder, injected: Injected) -> None:
    expected = folder.put(OLD)
    with injected("fcntl:error=EINVAL"):
        done = replace(folder.target(), NEW, expected)
    assert (done.leased, done.exchanged) == (False, True)
    assert folder.bytes() == NEW


@pytest.mark.parametrize("error", ["EINVAL", "ENOSYS"])
def test_without_the_exchange_a_checked_rename_does_and_says_so(folder: Folder, injected: Injected, error: str) -> None:
    expected = folder.put(OLD)
    with injected(f"renameat2:error={error}"):
        done = replace(folder.target(), NEW, expected)
    assert (done.exchanged, done.hardlinks) == (False, 0)
    assert folder.bytes() == NEW
    assert folder.names() == ["notes.txt"]


@pytest.mark.parametrize("removed", [False, True])
def test_without_the_exchange_a_save_before_the_look_is_a_conflict(
    folder: Folder, injected: Injected, removed: bool
) -> None:
    def act() -> bool:
        (folder.path / "notes.txt").unlink() if removed else folder.save_by_rename(b"theirs")
        return True

    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, injected("renameat2:error=EINVAL"):
        replace(folder.target(), NEW, expected, still_there=act)
    assert (caught.value.slug, caught.value.outcome) == (Slug.CONFLICT, None)
    assert folder.names() == ([] if removed else ["notes.txt"])


def test_without_the_exchange_a_writer_that_comes_before_the_look_is_a_conflict(
    folder: Folder, injected: Injected
) -> None:
    def come() -> bool:
        with pytest.raises(BlockingIOError):
            os.open(folder.path / "notes.txt", os.O_WRONLY | os.O_NONBLOCK)
        return True

    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, injected("renameat2:error=EINVAL"):
        replace(folder.target(), NEW, expected, still_there=come)
    assert caught.value.slug is Slug.CONFLICT
    assert folder.bytes() == OLD
