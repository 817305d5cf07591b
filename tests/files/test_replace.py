"""Replacing a file: what is kept, what every failure leaves, and what an outside save meanwhile leads to."""

import os
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import stamps
from picoclawd.files.commit import Committed, Target, replace
from tests.files.conftest import Folder, Injected

OLD, NEW = b"old bytes\n", b"the new bytes\n"


def replace_old(folder: Folder, new: bytes = NEW, mode: int = 0o644) -> Committed:
    return replace(folder.target(), new, folder.put(OLD, mode=mode), old=OLD)


def test_a_replace_leaves_the_new_bytes_and_nothing_else(folder: Folder) -> None:
    done = replace_old(folder)
    assert folder.bytes() == NEW
    assert folder.names() == ["notes.txt"]
    assert done == Committed(folder.stamp(), len(NEW), hardlinks=0, exchanged=True, leased=True)


@pytest.mark.parametrize("new", [b"", b"x" * 3_000_000])
def test_any_size_is_written_whole(folder: Folder, new: bytes) -> None:
    assert replace_old(folder, new).bytes_written == len(new)
    assert folder.bytes() == new


def test_a_directory_that_is_held_without_the_right_to_read_it_is_synced_all_the_same(folder: Folder) -> None:
    expected = folder.put(OLD)
    fd = os.open(folder.path, os.O_PATH | os.O_DIRECTORY)
    try:
        replace(Target(fd, b"notes.txt", "notes.txt"), NEW, expected)
    finally:
        os.close(fd)
    assert folder.bytes() == NEW


@pytest.mark.parametrize("mode", [0o755, 0o400, 0o4755, 0o2775, 0o1644, 0o7777])
def test_a47_the_mode_is_kept_with_its_special_bits(folder: Folder, mode: int) -> None:
    replace_old(folder, mode=mode)
    assert stat.S_IMODE(folder.stamp().mode) == mode


def test_a05_a48_other_names_of_the_file_keep_the_old_bytes_and_are_counted(folder: Folder) -> None:
    folder.put(OLD)
    os.link(folder.path / "notes.txt", folder.path / "alias")
    done = replace(folder.target("alias"), NEW, folder.stamp("alias"))
    assert done.hardlinks == 1
    assert (folder.bytes("alias"), folder.bytes()) == (NEW, OLD)


def test_a_reader_neither_delays_the_replace_nor_loses_the_old_version(folder: Folder) -> None:
    expected = folder.put(OLD)
    with open(folder.path / "notes.txt", "rb") as reader:
        assert replace(folder.target(), NEW, expected).leased
        assert reader.read() == OLD


@pytest.mark.parametrize("change", ["touch", "bytes", "rename", "remove", "link", "directory", "fifo"])
def test_a_base_that_changed_before_the_replace_is_a_conflict(folder: Folder, change: str) -> None:
    expected = folder.put(OLD)
    path = folder.path / "notes.txt"
    if change == "touch":
        os.utime(path, ns=(1, 1))
    elif change == "bytes":
        folder.put(b"theirs")
    elif change == "rename":
        folder.save_by_rename(OLD)
    else:
        path.unlink()
    if change == "link":
        path.symlink_to("elsewhere")
    elif change == "directory":
        path.mkdir()
    elif change == "fifo":
        os.mkfifo(path)
    before = folder.names(), os.path.lexists(path) and path.lstat()
    with pytest.raises(Fault) as caught:
        replace(folder.target(), NEW, expected)
    assert caught.value.slug is Slug.CONFLICT
    assert caught.value.outcome is None
    assert (folder.names(), os.path.lexists(path) and path.lstat()) == before


def test_a_change_that_hides_behind_equal_times_is_seen_by_its_bytes(folder: Folder) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught:
        replace(folder.target(), NEW, expected, old=OLD.upper())
    assert caught.value.slug is Slug.CONFLICT
    assert folder.bytes() == OLD
    assert folder.names() == ["notes.txt"]


def test_settled_times_are_trusted_without_reading_the_bytes_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "RACY_WINDOW_UNKNOWN_NS", 0)
    replace(folder.target(), NEW, folder.put(OLD), old=b"not what it holds")
    assert folder.bytes() == NEW


def test_what_is_no_regular_file_is_refused_by_name(folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe")
    with pytest.raises(Fault) as caught:
        replace(folder.target("pipe"), NEW, folder.stamp("pipe"))
    assert caught.value.slug is Slug.NOT_A_FILE
    assert "pipe" in caught.value.message


def test_a_writer_that_has_the_file_open_is_told_of_and_nothing_is_written(folder: Folder) -> None:
    expected = folder.put(OLD)
    with open(folder.path / "notes.txt", "ab"), pytest.raises(Fault) as caught:
        replace(folder.target(), NEW, expected)
    assert caught.value.slug is Slug.PATH_BUSY
    assert caught.value.retryable
    assert "open for writing" in caught.value.message
    assert folder.bytes() == OLD
    assert folder.names() == ["notes.txt"]


def test_a_writer_that_closes_in_time_is_waited_for(folder: Folder) -> None:
    expected = folder.put(OLD)
    writer = open(folder.path / "notes.txt", "ab")  # noqa: SIM115 - another thread closes it
    closer = threading.Timer(limits.LEASE_WAIT_S / 8, writer.close)
    closer.start()
    try:
        assert replace(folder.target(), NEW, expected).leased
    finally:
        closer.join(10)
    assert folder.bytes() == NEW


@pytest.mark.parametrize(
    ("rule", "slug"),
    [
        ("write:error=ENOSPC:when=1", Slug.IO_ERROR),
        ("write:error=EDQUOT:when=1", Slug.IO_ERROR),
        ("write:error=EIO:when=1", Slug.IO_ERROR),
        ("fsync:error=EIO:when=1", Slug.IO_ERROR),
        ("fsync:error=ENOSPC:when=1", Slug.IO_ERROR),
        ("close:error=EIO:when=2", Slug.IO_ERROR),
        ("openat:error=EMFILE:when=1", Slug.IO_ERROR),
        ("openat:error=EMFILE:when=2", Slug.IO_ERROR),
        ("openat:error=EMFILE:when=3", Slug.IO_ERROR),
        ("openat:error=EROFS:when=3", Slug.IO_ERROR),
        ("openat:error=EACCES:when=2", Slug.ACCESS_DENIED),
        ("openat:error=EAGAIN:when=2", Slug.PATH_BUSY),
        ("fchmod:error=EIO:when=1", Slug.IO_ERROR),
        ("fcntl:error=EIO:when=1", Slug.IO_ERROR),
        ("renameat2:error=ENOSPC:when=1", Slug.IO_ERROR),
        ("renameat2:error=EIO:when=1", Slug.IO_ERROR),
        ("renameat2:error=EPERM:when=1", Slug.ACCESS_DENIED),
        ("renameat2:error=EBUSY:when=1", Slug.IO_ERROR),
    ],
)
def test_a54_a_failure_before_the_exchange_is_named_and_leaves_the_old_file_and_no_other(
    folder: Folder, injected: Injected, rule: str, slug: Slug
) -> None:
    expected = folder.put(OLD, mode=0o4755)
    with pytest.raises(Fault) as caught, injected(rule):
        replace(folder.target(), NEW, expected)
    assert caught.value.slug is slug
    assert caught.value.data["errno_name"] in rule
    assert caught.value.outcome is None
    assert folder.names() == ["notes.txt"]
    assert folder.bytes() == OLD
    assert stamps.same_content(folder.stamp(), expected)
    assert folder.stamp().mode == expected.mode


def test_short_writes_are_finished(folder: Folder, injected: Injected) -> None:
    expected = folder.put(OLD)
    with injected("write:retval=0:when=1"):
        replace(folder.target(), NEW, expected)
    assert folder.bytes() == NEW


@pytest.mark.parametrize(
    "rule",
    [
        "fsync:error=EIO:when=2",
        "unlinkat:error=EIO:when=1",
        "newfstatat:error=EIO:when=7",
        "newfstatat:error=EIO:when=8",
    ],
)
def test_a_failure_after_the_exchange_is_an_unknown_outcome(folder: Folder, injected: Injected, rule: str) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, injected(rule):
        replace(folder.target(), NEW, expected)
    assert caught.value.slug is Slug.IO_ERROR
    assert caught.value.message.startswith("failed to write file: ")
    assert caught.value.outcome == "unknown"
    assert folder.bytes() == NEW
    assert all(name == "notes.txt" or folder.bytes(name) == OLD for name in folder.names())


def test_an_unlink_that_finds_the_old_file_gone_is_no_failure(folder: Folder, injected: Injected) -> None:
    expected = folder.put(OLD)
    with injected("unlinkat:error=ENOENT:when=1"):
        replace(folder.target(), NEW, expected)
    assert folder.bytes() == NEW


def test_a_failing_cleanup_does_not_hide_the_first_failure(folder: Folder, injected: Injected) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, injected("write:error=ENOSPC:when=1", "unlinkat:error=EIO:when=1"):
        replace(folder.target(), NEW, expected)
    assert caught.value.data["errno_name"] == "ENOSPC"
    assert folder.bytes() == OLD


def test_a50_a_file_size_limit_is_named_and_leaves_the_old_file_and_no_other(folder: Folder) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, file_size_limit(4096):
        replace(folder.target(), b"x" * limits.MIB, expected)
    assert caught.value.data["errno_name"] == "EFBIG"
    assert folder.bytes() == OLD
    assert folder.names() == ["notes.txt"]


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a52_a_directory_that_takes_no_file_is_named_as_the_cause(
    folder: Folder, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    expected = folder.put(OLD, mode=0o666)
    folder.path.chmod(0o555)
    with pytest.raises(Fault) as caught, as_nobody():
        replace(folder.target(), NEW, expected)
    assert caught.value.slug is Slug.ACCESS_DENIED
    assert "the directory that holds notes.txt" in caught.value.message
    assert folder.bytes() == OLD
    assert folder.names() == ["notes.txt"]


def test_a49_a_bind_mounted_file_is_refused_clearly_and_leaves_no_file(folder: Folder, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(OLD)
    folder.put(b"below the mount")
    mounted = subprocess.run(["mount", "--bind", source, folder.path / "notes.txt"], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        with pytest.raises(Fault) as caught:
            replace(folder.target(), NEW, folder.stamp())
        assert folder.bytes() == OLD
    finally:
        subprocess.run(["umount", folder.path / "notes.txt"], check=True)
    assert caught.value.slug is Slug.IO_ERROR
    assert caught.value.data["errno_name"] == "EBUSY"
    assert not caught.value.retryable
    assert "mount point" in caught.value.message
    assert folder.names() == ["notes.txt"]


def test_a53_a_directory_that_is_removed_meanwhile_is_never_a_success(folder: Folder, tmp_path: Path) -> None:
    expected = folder.put(OLD)

    def remove() -> bool:
        for name in folder.names():
            (folder.path / name).unlink()
        folder.path.rmdir()
        return True

    with pytest.raises(Fault) as caught:
        replace(folder.target(), NEW, expected, still_there=remove)
    assert caught.value.slug is Slug.CONFLICT
    assert os.listdir(tmp_path) == []


def test_a53_a_directory_that_is_gone_already_is_a_conflict_that_names_it(folder: Folder) -> None:
    expected = folder.put(OLD)
    fd = os.open(folder.path / "notes.txt", os.O_RDONLY)
    (folder.path / "notes.txt").unlink()
    folder.path.rmdir()
    os.close(fd)
    with pytest.raises(Fault) as caught:
        replace(folder.target(), NEW, expected)
    assert caught.value.slug is Slug.CONFLICT


def test_a_directory_that_was_moved_before_the_exchange_keeps_the_old_file(folder: Folder) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught:
        replace(folder.target(), NEW, expected, still_there=lambda: False)
    assert (caught.value.slug, caught.value.outcome) == (Slug.CONFLICT, None)
    assert "directory of notes.txt was moved or removed" in caught.value.message
    assert folder.bytes() == OLD
    assert folder.names() == ["notes.txt"]


def test_a_directory_that_was_moved_after_the_exchange_is_an_unknown_outcome(folder: Folder) -> None:
    expected = folder.put(OLD)
    answers = iter([True, False])
    with pytest.raises(Fault) as caught:
        replace(folder.target(), NEW, expected, still_there=lambda: next(answers))
    assert (caught.value.slug, caught.value.outcome) == (Slug.CONFLICT, "unknown")


@pytest.mark.parametrize("then", ["saved", "removed"])
def test_the_stamp_is_of_our_version_also_when_somebody_saves_right_after(folder: Folder, then: str) -> None:
    expected = folder.put(OLD)
    calls = []

    def act() -> bool:
        calls.append(folder.stamp())
        if len(calls) == 2:
            (folder.path / "notes.txt").unlink() if then == "removed" else folder.save_by_rename(b"theirs")
        return True

    done = replace(folder.target(), NEW, expected, still_there=act)
    assert stamps.same_content(done.stamp, calls[1])
    assert done.stamp.size == len(NEW)
