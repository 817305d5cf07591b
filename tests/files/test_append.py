"""Appending in place: what is kept, what is refused, and what a failed append leaves."""

import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files.commit import Committed, append
from picoclawd.files.stamps import Stamp
from tests.files.conftest import Folder, Injected
from tests.files.test_replace import file_size_limit

OLD, ADDED = b"old bytes\n", b"added bytes\n"


def append_to(
    folder: Folder, expected: Stamp | None, addition: bytes = ADDED, *, old: bytes | None = None, strict: bool = True
) -> Committed:
    return append(folder.target(), addition, expected=expected, create_mode=0o640, refuse_hardlinks=strict, old=old)


def test_an_append_adds_the_bytes_in_place(folder: Folder) -> None:
    before = folder.put(OLD, mode=0o751)
    done = append_to(folder, before, old=OLD)
    assert folder.bytes() == OLD + ADDED
    assert done == Committed(folder.stamp(), len(ADDED), hardlinks=0, exchanged=False, leased=False)
    assert (folder.stamp().ino, folder.stamp().mode) == (before.ino, before.mode)


def test_an_append_to_nothing_creates_the_file(folder: Folder) -> None:
    append_to(folder, None)
    assert folder.bytes() == ADDED
    assert stat.S_IMODE(folder.stamp().mode) == 0o640


def test_an_append_to_nothing_never_adds_to_what_came_meanwhile(folder: Folder) -> None:
    folder.put(b"theirs")
    with pytest.raises(Fault) as caught:
        append_to(folder, None)
    assert caught.value.slug is Slug.CONFLICT
    assert folder.bytes() == b"theirs"


def test_an_append_needs_only_the_right_to_write(
    folder: Folder, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    expected = folder.put(OLD, mode=0o222)
    folder.path.chmod(0o555)
    with as_nobody():
        append_to(folder, expected)
    assert folder.bytes() == OLD + ADDED


def test_a_file_that_may_not_be_written_is_access_denied(
    folder: Folder, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    expected = folder.put(OLD, mode=0o444)
    with pytest.raises(Fault) as caught, as_nobody():
        append_to(folder, expected)
    assert caught.value.slug is Slug.ACCESS_DENIED
    assert folder.bytes() == OLD


@pytest.mark.parametrize(("before", "after"), [(0o2775, 0o2775), (0o4775, 0o775)])
def test_the_set_group_id_bit_is_set_again_where_the_kernel_drops_it_and_no_other_is(
    folder: Folder, as_nobody: Callable[[], AbstractContextManager[None]], before: int, after: int
) -> None:
    folder.put(OLD)
    os.chown(folder.path / "notes.txt", 65534, 65534)
    (folder.path / "notes.txt").chmod(before)
    expected = folder.stamp()
    with as_nobody():
        append_to(folder, expected)
    assert stat.S_IMODE(folder.stamp().mode) == after


def test_an_append_to_somebody_elses_set_group_id_file_loses_the_bit_and_succeeds(
    folder: Folder, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    expected = folder.put(OLD, mode=0o2777)
    with as_nobody():
        append_to(folder, expected)
    assert folder.bytes() == OLD + ADDED
    assert stat.S_IMODE(folder.stamp().mode) == 0o777


@pytest.mark.parametrize("change", ["bytes", "rename", "remove", "fifo"])
def test_a_base_that_changed_is_a_conflict_and_gets_nothing(folder: Folder, change: str) -> None:
    expected = folder.put(OLD)
    path = folder.path / "notes.txt"
    if change == "bytes":
        folder.put(b"theirs")
    elif change == "rename":
        folder.save_by_rename(OLD)
    else:
        path.unlink()
    if change == "fifo":
        os.mkfifo(path)
    with pytest.raises(Fault) as caught:
        append_to(folder, expected)
    assert (caught.value.slug, caught.value.outcome) == (Slug.CONFLICT, None)
    assert change not in ("bytes", "rename") or ADDED not in folder.bytes()


def test_a_base_whose_bytes_differ_behind_equal_times_is_a_conflict(folder: Folder) -> None:
    with pytest.raises(Fault) as caught:
        append_to(folder, folder.put(OLD), old=OLD.upper())
    assert caught.value.slug is Slug.CONFLICT
    assert folder.bytes() == OLD


def test_a_fifo_or_directory_is_not_a_file(folder: Folder) -> None:
    (folder.path / "notes.txt").mkdir()
    with pytest.raises(Fault) as caught:
        append_to(folder, folder.stamp())
    assert caught.value.slug is Slug.NOT_A_FILE


def test_a05_a_file_with_other_names_is_refused_where_that_matters(folder: Folder) -> None:
    folder.put(OLD)
    os.link(folder.path / "notes.txt", folder.path / "other")
    expected = folder.stamp()
    with pytest.raises(Fault) as caught:
        append_to(folder, expected)
    assert caught.value.slug is Slug.HARDLINK_REFUSED
    assert "2 names" in caught.value.message and caught.value.data["names"] == 2
    assert folder.bytes("other") == OLD
    assert append_to(folder, expected, strict=False).hardlinks == 1
    assert folder.bytes("other") == OLD + ADDED


@pytest.mark.parametrize("old", [OLD, None])
def test_a_directory_that_was_moved_gets_no_append(folder: Folder, old: bytes | None) -> None:
    expected = None if old is None else folder.put(old)
    with pytest.raises(Fault) as caught:
        append(
            folder.target(),
            ADDED,
            expected=expected,
            create_mode=None,
            refuse_hardlinks=True,
            still_there=lambda: False,
        )
    assert caught.value.slug is Slug.CONFLICT
    assert folder.names() == ([] if old is None else ["notes.txt"])
    assert old is None or folder.bytes() == old


@pytest.mark.parametrize("change", ["replaced", "removed", "made a link to it"])
def test_a53_an_append_to_a_file_that_loses_its_name_meanwhile_is_no_success(folder: Folder, change: str) -> None:
    expected = folder.put(OLD)

    def act() -> bool:
        path = folder.path / "notes.txt"
        if change == "replaced":
            folder.save_by_rename(b"theirs")
        elif change == "removed":
            path.unlink()
        else:
            path.rename(folder.path / "moved.txt")
            path.symlink_to("moved.txt")
        return True

    with pytest.raises(Fault) as caught:
        append(folder.target(), ADDED, expected=expected, create_mode=None, refuse_hardlinks=True, still_there=act)
    assert caught.value.slug is Slug.CONFLICT
    left = {"replaced": ["notes.txt"], "removed": [], "made a link to it": ["moved.txt", "notes.txt"]}
    assert folder.names() == left[change]


def test_a50_a_file_size_limit_takes_the_part_back_that_was_written(folder: Folder) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, file_size_limit(4096):
        append_to(folder, expected, b"x" * 100_000)
    assert caught.value.data["errno_name"] == "EFBIG"
    assert caught.value.outcome is None
    assert folder.bytes() == OLD


def test_a50_an_append_that_fails_at_its_first_byte_leaves_the_file(folder: Folder, injected: Injected) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, injected("write:error=ENOSPC:when=1", "ftruncate:error=EIO"):
        append_to(folder, expected)  # there is nothing to take back
    assert (caught.value.data["errno_name"], caught.value.outcome) == ("ENOSPC", None)
    assert folder.bytes() == OLD


def test_a50_a_part_that_cannot_be_taken_back_is_an_unknown_outcome_with_its_size(
    folder: Folder, injected: Injected
) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, file_size_limit(4096), injected("ftruncate:error=EIO"):
        append_to(folder, expected, b"x" * 100_000)
    assert caught.value.outcome == "unknown"
    assert caught.value.data["bytes_written"] == 4096 - len(OLD)
    assert folder.bytes() == OLD + b"x" * (4096 - len(OLD))


def test_a50_a_part_is_taken_back_only_once_the_disk_has_it_so(folder: Folder, injected: Injected) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, file_size_limit(4096), injected("fsync:error=EIO"):
        append_to(folder, expected, b"x" * 100_000)
    assert (caught.value.outcome, caught.value.data["bytes_written"]) == ("unknown", 4096 - len(OLD))


def test_a50_a_part_is_not_taken_back_when_somebody_else_has_appended(folder: Folder, injected: Injected) -> None:
    # The write of three bytes is answered, not made: so the file's end is not where ours would be. The next one fails.
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, file_size_limit(len(OLD)), injected("write:retval=3:when=1"):
        append_to(folder, expected)
    assert caught.value.outcome == "unknown"
    assert caught.value.data["bytes_written"] == 3
    assert folder.bytes() == OLD


def test_a_failing_fsync_is_an_unknown_outcome_and_is_not_repeated(folder: Folder, injected: Injected) -> None:
    expected = folder.put(OLD)
    with pytest.raises(Fault) as caught, injected("fsync:error=EIO:when=1"):
        append_to(folder, expected)
    assert (caught.value.slug, caught.value.outcome) == (Slug.IO_ERROR, "unknown")
    assert caught.value.data["bytes_written"] == len(ADDED)


def test_a_stat_that_fails_behind_the_write_is_an_unknown_outcome(folder: Folder, injected: Injected) -> None:
    # It was told as not_applied, and the bytes were there. The last stat sees whether the name still leads here.
    expected = folder.put(OLD)
    for when in range(1, 8):
        (folder.path / "notes.txt").write_bytes(OLD)
        expected = folder.stamp()
        try:
            with injected(f"newfstatat,fstat:error=EIO:when={when}"):
                append_to(folder, expected)
        except Fault as fault:
            assert fault.outcome == ("unknown" if folder.bytes() == OLD + ADDED else None)
        else:
            assert folder.bytes() == OLD + ADDED and when > 3
