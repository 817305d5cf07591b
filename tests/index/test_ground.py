"""Directories are reached beneath the root and never through a link, with openat2 and without."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.files.resolve import has_openat2
from picoclawd.index.ground import Ground, keeps, kind_at, look
from picoclawd.index.listing import Kind


@pytest.fixture(params=[True, False], ids=["openat2", "steps"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "a/up").symlink_to("..")
    fd = os.open(tmp_path, os.O_PATH)
    if request.param and not has_openat2(fd):
        pytest.skip("this kernel has no openat2")
    yield Ground(fd, openat2=request.param)
    os.close(fd)


@pytest.mark.parametrize(("path", "inside"), [(b"", b"a"), (b"a", b"b"), (b"a/b", None)])
def test_a_directory_is_opened_to_be_listed(ground: Ground, path: bytes, inside: bytes | None) -> None:
    fd = ground.open(path)
    assert inside is None or inside in look(fd, path).names
    os.close(fd)


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        (b"link", {errno.ELOOP, errno.ENOTDIR}),
        (b"link/b", {errno.ELOOP, errno.ENOTDIR}),
        (b"a/up", {errno.ELOOP, errno.ENOTDIR}),
        (b"a/up/a", {errno.ELOOP, errno.ENOTDIR}),
        (b"file", {errno.ENOTDIR}),
        (b"none", {errno.ENOENT}),
        (b"file/x", {errno.ENOTDIR}),
    ],
)
def test_a_link_is_never_followed(ground: Ground, path: bytes, codes: set[int]) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError) as caught:
        ground.open(path)
    assert caught.value.errno in codes
    assert set(os.listdir("/proc/self/fd")) == before


def test_an_entry_is_told_by_what_it_is(ground: Ground, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    fd = ground.open(b"")
    kinds = {b"a": Kind.DIRECTORY, b"file": Kind.FILE, b"link": Kind.SYMLINK, b"pipe": Kind.SPECIAL}
    seen = look(fd, b"")
    assert dict(zip(seen.names, seen.kinds, strict=True)) == kinds
    assert {name: kind_at(fd, name) for name in kinds} == kinds
    assert kind_at(fd, b"none") is None
    os.close(fd)


@pytest.mark.parametrize(
    ("directory", "name", "kept"),
    [
        (b"", b".git", False),
        (b"a", b".git", False),
        (b"", b".picoclaw", False),
        (b"a", b".picoclaw", True),
        (b"", b".picoclawd.1.0123456789abcdef.tmp", False),
        (b"a/b", b".picoclawd.1.0123456789abcdef.tmp", False),
        (b"", b".gitignore", True),
        (b"", b".picoclawd.tmp", True),
    ],
)
def test_some_names_are_no_part_of_the_tree(directory: bytes, name: bytes, kept: bool) -> None:
    assert keeps(directory, name) is kept
