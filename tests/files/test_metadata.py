"""What a replace keeps beside the bytes, and what it must not give to another owner or group."""

import errno
import os
import stat
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from picoclawd.files import metadata
from picoclawd.files.commit import replace
from tests.files.conftest import Folder, Injected

OLD, NEW = b"old bytes\n", b"the new bytes\n"
NOBODY = 65534
ACCESS_LIST = "system.posix_acl_access"  # as the kernel calls it
Become = Callable[[], AbstractContextManager[None]]


def access_list(user: int, user_bits: int, mask: int) -> bytes:
    """Make a POSIX access list in the kernel's form: owner rw-, one named user, group r--, the mask, others none."""
    entries = [(0x01, 6, -1), (0x02, user_bits, user), (0x04, 4, -1), (0x10, mask, -1), (0x20, 0, -1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


def set_attribute(folder: Folder, name: str, value: bytes, on: str = "notes.txt") -> None:
    try:
        os.setxattr(folder.path / on, name, value)
    except OSError as exc:
        if exc.errno == errno.EOPNOTSUPP:
            pytest.skip(f"this file system has no {name}")
        raise


def needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to somebody else")


def test_owner_and_group_are_kept(folder: Folder) -> None:
    needs_root()
    folder.put(OLD)
    os.chown(folder.path / "notes.txt", 1234, 5678)
    (folder.path / "notes.txt").chmod(0o6755)
    replace(folder.target(), NEW, folder.stamp())
    after = (folder.path / "notes.txt").stat()
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (1234, 5678, 0o6755)


def test_extended_attributes_are_kept(folder: Folder) -> None:
    folder.put(OLD)
    set_attribute(folder, "user.origin", b"somewhere\0else")
    set_attribute(folder, "user.empty", b"")
    replace(folder.target(), NEW, folder.stamp())
    path = folder.path / "notes.txt"
    assert {name: os.getxattr(path, name) for name in os.listxattr(path) if name.startswith("user.")} == {
        "user.origin": b"somewhere\0else",
        "user.empty": b"",
    }


def test_an_access_list_is_kept_with_its_mask(folder: Folder) -> None:
    folder.put(OLD)
    value = access_list(NOBODY, 6, mask=4)
    set_attribute(folder, ACCESS_LIST, value)
    expected = folder.stamp()
    replace(folder.target(), NEW, expected)
    assert os.getxattr(folder.path / "notes.txt", ACCESS_LIST) == value
    assert folder.stamp().mode == expected.mode


def test_the_directorys_default_list_does_not_open_a_file_that_had_none(folder: Folder) -> None:
    folder.put(OLD, mode=0o640)
    set_attribute(folder, "system.posix_acl_default", access_list(NOBODY, 6, mask=6), on=".")
    replace(folder.target(), NEW, folder.stamp())
    assert ACCESS_LIST not in os.listxattr(folder.path / "notes.txt")
    assert stat.S_IMODE(folder.stamp().mode) == 0o640


def test_a_file_that_cannot_be_given_to_its_owner_gets_no_wider_for_our_group(
    folder: Folder, as_nobody: Become
) -> None:
    expected = folder.put(OLD, mode=0o6774)
    folder.path.chmod(0o777)
    with as_nobody():
        done = replace(folder.target(), NEW, expected)
    after = (folder.path / "notes.txt").stat()
    assert (after.st_uid, after.st_gid) == (NOBODY, NOBODY)
    assert stat.S_IMODE(after.st_mode) == 0o744
    assert not done.leased, "another user's file gives no lease"


def test_a_group_that_may_be_kept_is_kept_although_the_owner_may_not(folder: Folder, as_nobody: Become) -> None:
    folder.put(OLD)
    os.chown(folder.path / "notes.txt", 0, NOBODY)
    (folder.path / "notes.txt").chmod(0o6664)
    os.chown(folder.path, 0, 1234)
    folder.path.chmod(0o2777)  # new files begin in another group
    expected = folder.stamp()
    with as_nobody():
        replace(folder.target(), NEW, expected)
    after = (folder.path / "notes.txt").stat()
    assert (after.st_uid, after.st_gid) == (NOBODY, NOBODY)
    assert stat.S_IMODE(after.st_mode) == 0o2664


@pytest.mark.parametrize(
    "rule",
    ["fsetxattr:error=EPERM", "fgetxattr:error=ENODATA", "flistxattr:error=EOPNOTSUPP"],
)
def test_an_attribute_that_is_refused_to_us_does_not_stop_the_write(
    folder: Folder, injected: Injected, rule: str
) -> None:
    folder.put(OLD)
    set_attribute(folder, "user.origin", b"x")
    expected = folder.stamp()
    with injected(rule):
        replace(folder.target(), NEW, expected)
    assert folder.bytes() == NEW


@pytest.mark.parametrize("rule", ["fsetxattr:error=ENOSPC", "flistxattr:error=EIO"])
def test_an_attribute_that_fails_for_another_reason_does(folder: Folder, injected: Injected, rule: str) -> None:
    folder.put(OLD)
    set_attribute(folder, "user.origin", b"x")
    expected = folder.stamp()
    with pytest.raises(Exception, match="failed to write file"), injected(rule):
        replace(folder.target(), NEW, expected)
    assert folder.bytes() == OLD
    assert folder.names() == ["notes.txt"]


@pytest.mark.parametrize("name", ["security.ima", "security.evm"])
def test_signatures_of_the_old_bytes_are_not_put_on_the_new_ones(folder: Folder, name: str) -> None:
    needs_root()
    folder.put(OLD)
    try:
        os.setxattr(folder.path / "notes.txt", name, b"\x01" + b"0" * 20)
    except OSError:
        pytest.skip("this system takes no such signature")
    replace(folder.target(), NEW, folder.stamp())
    assert name not in os.listxattr(folder.path / "notes.txt")


def test_without_a_umask_to_read_a_new_file_is_private(injected: Injected) -> None:
    with injected("openat:error=ENOENT:when=1"):
        mode = metadata.new_file_mode()
    assert mode == 0o600


def test_the_umask_is_read_and_left_as_it_is() -> None:
    before = os.umask(0o031)
    try:
        assert metadata.new_file_mode() == 0o646
        assert os.umask(before) == 0o031
    finally:
        os.umask(before)
