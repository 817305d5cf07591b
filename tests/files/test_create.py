"""Creating a file: complete or not at all, one winner, and the mode that was asked for."""

import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files.commit import Committed, create
from tests.files.conftest import Folder, Injected

NEW = b"the new bytes\n"
# Each way to a new file: by the rules that take the better ones away.
WAYS = {
    "unnamed and linked": (),
    "named and renamed": ("openat:error=EOPNOTSUPP:when=1",),
    "named and linked": ("openat:error=EOPNOTSUPP:when=1", "renameat2:error=EINVAL"),
    "unnamed, but not linked": ("linkat:error=ENOENT:when=1",),
}


@contextmanager
def way(name: str, injected: Injected) -> Iterator[None]:
    if WAYS[name]:
        with injected(*WAYS[name]):
            yield
    else:
        yield


@pytest.mark.parametrize("name", WAYS)
def test_a_created_file_holds_the_bytes_and_is_alone(folder: Folder, injected: Injected, name: str) -> None:
    with way(name, injected):
        done = create(folder.target(), NEW, 0o640)
    assert folder.bytes() == NEW
    assert folder.names() == ["notes.txt"]
    assert stat.S_IMODE(folder.stamp().mode) == 0o640
    assert done == Committed(folder.stamp(), len(NEW), hardlinks=0, exchanged=False, leased=False)


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("kind", ["file", "dangling link", "directory"])
def test_what_has_the_name_already_stays_and_is_a_conflict(
    folder: Folder, injected: Injected, name: str, kind: str
) -> None:
    path = folder.path / "notes.txt"
    if kind == "file":
        path.write_bytes(b"theirs")
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    before = path.lstat()
    with pytest.raises(Fault) as caught, way(name, injected):
        create(folder.target(), NEW, 0o600)
    assert (caught.value.slug, caught.value.outcome) == (Slug.CONFLICT, None)
    assert folder.names() == ["notes.txt"]
    assert (path.lstat().st_ino, path.lstat().st_size) == (before.st_ino, before.st_size)


def test_of_many_creators_one_wins_and_its_bytes_are_there(folder: Folder) -> None:
    def attempt(number: int) -> bytes | None:
        data = b"creator %d\n" % number
        try:
            create(folder.target(), data, 0o600)
        except Fault as fault:
            assert fault.slug is Slug.CONFLICT
            return None
        return data

    for _ in range(20):
        with ThreadPoolExecutor(8) as pool:
            winners = [data for data in pool.map(attempt, range(8)) if data is not None]
        assert winners == [folder.bytes()]
        assert folder.names() == ["notes.txt"]
        (folder.path / "notes.txt").unlink()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600), (0, 0o666)])
def test_a46_a_new_file_follows_the_umask_when_it_is_asked_to(folder: Folder, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        create(folder.target(), NEW, None)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stamp().mode) == mode


def test_a46_a_fixed_mode_does_not_depend_on_the_umask(folder: Folder) -> None:
    before = os.umask(0o777)
    try:
        create(folder.target(), NEW, 0o600)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stamp().mode) == 0o600


@pytest.mark.parametrize(
    ("rules", "slug"),
    [
        (["write:error=ENOSPC:when=1"], Slug.IO_ERROR),
        (["fsync:error=EIO:when=1"], Slug.IO_ERROR),
        (["fchmod:error=EPERM:when=1"], Slug.ACCESS_DENIED),
        (["openat:error=EMFILE:when=1"], Slug.IO_ERROR),
        (["openat:error=EROFS:when=1"], Slug.IO_ERROR),
        (["linkat:error=EDQUOT:when=1"], Slug.IO_ERROR),
        (["openat:error=EISDIR:when=1", "write:error=ENOSPC:when=1"], Slug.IO_ERROR),
        (["openat:error=EISDIR:when=1", "renameat2:error=EIO:when=1"], Slug.IO_ERROR),
        (["openat:error=EISDIR:when=1", "renameat2:error=EINVAL", "linkat:error=EIO"], Slug.IO_ERROR),
    ],
)
def test_a54_a_failure_is_named_and_leaves_nothing(
    folder: Folder, injected: Injected, rules: list[str], slug: Slug
) -> None:
    with pytest.raises(Fault) as caught, injected(*rules):
        create(folder.target(), NEW, 0o600)
    assert caught.value.slug is slug
    assert caught.value.data["errno_name"] in rules[-1]
    assert caught.value.message.startswith("failed to write file: ")
    assert caught.value.outcome is None
    assert folder.names() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another group")
@pytest.mark.parametrize("name", WAYS)
def test_a_new_file_has_the_group_that_its_directory_gives(folder: Folder, injected: Injected, name: str) -> None:
    os.chown(folder.path, -1, 12345)
    folder.path.chmod(0o2755)
    with way(name, injected):
        create(folder.target(), NEW, 0o640)
    assert (folder.path / "notes.txt").stat().st_gid == 12345


def test_a_failing_directory_fsync_is_an_unknown_outcome(folder: Folder, injected: Injected) -> None:
    with pytest.raises(Fault) as caught, injected("fsync:error=EIO:when=2"):
        create(folder.target(), NEW, 0o600)
    assert (caught.value.slug, caught.value.outcome) == (Slug.IO_ERROR, "unknown")
    assert folder.bytes() == NEW


def test_a_name_that_is_too_long_is_an_invalid_path(folder: Folder) -> None:
    with pytest.raises(Fault) as caught:
        create(folder.target("n" * 300), NEW, 0o600)
    assert caught.value.slug is Slug.INVALID_PATH
    assert folder.names() == []


@pytest.mark.parametrize("name", ["unnamed and linked", "named and renamed"])
def test_a52_a_directory_that_takes_no_file_is_named_as_the_cause(
    folder: Folder, injected: Injected, as_nobody: Callable[[], AbstractContextManager[None]], name: str
) -> None:
    folder.path.chmod(0o555)
    with pytest.raises(Fault) as caught, way(name, injected), as_nobody():
        create(folder.target(), NEW, 0o600)
    assert caught.value.slug is Slug.ACCESS_DENIED
    assert "the directory that holds notes.txt" in caught.value.message


def test_a53_a_directory_that_is_gone_is_never_a_success(folder: Folder) -> None:
    folder.path.rmdir()
    with pytest.raises(Fault) as caught:
        create(folder.target(), NEW, 0o600)
    assert caught.value.slug is Slug.CONFLICT
    assert "directory of notes.txt" in caught.value.message


def test_a_directory_that_was_moved_gets_no_file(folder: Folder) -> None:
    with pytest.raises(Fault) as caught:
        create(folder.target(), NEW, 0o600, still_there=lambda: False)
    assert (caught.value.slug, caught.value.outcome) == (Slug.CONFLICT, None)
    assert folder.names() == []
