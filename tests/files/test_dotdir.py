"""Our own directory is made where it is missing, private, and never reached through a link."""

import os
import stat
from pathlib import Path

import pytest

from picoclawd.files.dotdir import open_own_directory
from tests.files.conftest import Folder

NAMES = (b".picoclaw", b"artifacts", b"s")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_each_missing_directory_is_made_private_and_the_last_is_open(folder: Folder) -> None:
    fd = open_own_directory(folder.fd, NAMES)
    try:
        assert os.path.samestat(os.fstat(fd), (folder.path / ".picoclaw/artifacts/s").stat())
    finally:
        os.close(fd)
    for name in (".picoclaw", ".picoclaw/artifacts", ".picoclaw/artifacts/s"):
        assert stat.S_IMODE((folder.path / name).stat().st_mode) == 0o700
    os.close(open_own_directory(folder.fd, NAMES))  # what is there already is taken


def test_without_create_nothing_is_made(folder: Folder) -> None:
    with pytest.raises(FileNotFoundError):
        open_own_directory(folder.fd, NAMES, create=False)
    assert folder.names() == []


@pytest.mark.parametrize("link", [".picoclaw", ".picoclaw/artifacts"])
@pytest.mark.parametrize("create", [True, False])
def test_no_link_is_followed_and_no_descriptor_is_left(folder: Folder, tmp_path: Path, link: str, create: bool) -> None:
    (folder.path / link).parent.mkdir(exist_ok=True)
    (tmp_path / "out/artifacts/s").mkdir(parents=True)
    (folder.path / link).symlink_to(tmp_path / "out")
    before = descriptors()
    with pytest.raises(OSError):
        open_own_directory(folder.fd, NAMES, create=create)
    assert descriptors() == before
    assert sorted(os.listdir(tmp_path / "out")) == ["artifacts"]


def test_a_file_in_its_place_is_refused(folder: Folder) -> None:
    folder.put(b"x", ".picoclaw")
    with pytest.raises(NotADirectoryError):
        open_own_directory(folder.fd, NAMES)
