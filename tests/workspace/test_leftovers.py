"""What a crash left behind is named wherever it lies, and never deleted."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from picoclawd.files import temps
from picoclawd.workspace.leftovers import sweep
from tests.depths import dug
from tests.files.conftest import as_nobody

__all__ = ["as_nobody"]


def leave(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    left = path / os.fsdecode(temps.new_name())
    left.write_text("saved")
    return left


@pytest.fixture
def root_fd(tmp_path: Path) -> int:
    return os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)


def swept(fd: int) -> tuple[str, ...]:
    try:
        return sweep(fd)
    finally:
        os.close(fd)


def test_leftovers_are_named_by_their_paths_and_stay(tmp_path: Path, root_fd: int) -> None:
    left = [leave(tmp_path), leave(tmp_path / "a/b")]
    (tmp_path / "a/other.tmp").write_text("x")
    assert swept(root_fd) == tuple(sorted(str(path.relative_to(tmp_path)) for path in left))
    assert all(path.read_text() == "saved" for path in left)


def test_no_link_is_followed(tmp_path: Path) -> None:
    leave(tmp_path / "out")
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/link").symlink_to("../out")
    (tmp_path / "ws/loop").symlink_to(".")
    assert swept(os.open(tmp_path / "ws", os.O_RDONLY | os.O_DIRECTORY)) == ()


def test_a_directory_that_may_not_be_read_hides_nothing_else(
    tmp_path: Path, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    leave(tmp_path / "closed")
    leave(tmp_path / "open")
    tmp_path.chmod(0o755)
    (tmp_path / "closed").chmod(0o700)
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    with as_nobody():
        found = swept(fd)
    assert [name.partition("/")[0] for name in found] == ["open"]


def test_a_tree_deeper_than_any_path_is_swept_as_far_as_paths_reach(tmp_path: Path, root_fd: int) -> None:
    leave(tmp_path / "a")
    with dug(tmp_path, 2_500):
        assert [name.partition("/")[0] for name in swept(root_fd)] == ["a"]
