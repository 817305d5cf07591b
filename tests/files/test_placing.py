"""Where a path that is to be written leads, by both resolvers: to a name in a directory, through links and gaps."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.files.placing import Base, Spot, locate, locate_target, make_directories
from picoclawd.files.resolve import Escape, ResolverKind
from tests.files.sandbox import RESOLVERS

both_resolvers = pytest.mark.parametrize("kind", RESOLVERS)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A workspace with files, directories and links of every sort; no test leaves a descriptor open."""
    root = (tmp_path / "ws").resolve()
    (root / "d/e").mkdir(parents=True)
    (root / "d/f").write_text("x")
    for name, target in (
        ("to_file", "d/f"),
        ("to_link", "to_file"),
        ("to_dir", "d"),
        ("dangling", "d/new"),
        ("dangling_deep", "d/x/y/new"),
        ("loop", "loop"),
        ("out", "../elsewhere/x"),
        ("absolute", str(root / "d/f")),
        ("dangling_dir", "nowhere"),
    ):
        (root / name).symlink_to(target)
    before = len(os.listdir("/proc/self/fd"))
    yield root
    assert len(os.listdir("/proc/self/fd")) == before


def base_of(root: Path, kind: ResolverKind) -> Base:
    return Base(os.open(root, os.O_PATH | os.O_DIRECTORY), kind((os.fsencode(root),)))


def told(spot: Spot, root: Path) -> tuple[str, list[str], bool]:
    """The real path below the root, what is missing on the way, and whether something is there."""
    with spot:
        held = os.readlink(f"/proc/self/fd/{spot.fd}")
        real = os.fsdecode(spot.real)
        assert real == "/".join([held, *map(os.fsdecode, spot.missing), os.fsdecode(spot.name)])
        return os.path.relpath(real, root), [os.fsdecode(name) for name in spot.missing], spot.stat is not None


@both_resolvers
@pytest.mark.parametrize(
    ("given", "real", "missing", "there"),
    [
        ("new", "new", [], False),
        ("d/f", "d/f", [], True),
        ("d/./e/../f", "d/f", [], True),
        ("d/e", "d/e", [], True),
        ("x/y/new", "x/y/new", ["x", "y"], False),
        ("d/x/new", "d/x/new", ["x"], False),
        ("to_dir/new", "d/new", [], False),
        ("to_dir/x/new", "d/x/new", ["x"], False),
        ("to_file", "d/f", [], True),
        ("to_link", "d/f", [], True),
        ("absolute", "d/f", [], True),
        ("dangling", "d/new", [], False),
        ("dangling_deep", "d/x/y/new", ["x", "y"], False),
    ],
)
def test_a_path_leads_to_a_name_in_the_deepest_directory_there_is(
    root: Path, kind: ResolverKind, given: str, real: str, missing: list[str], there: bool
) -> None:
    base = base_of(root, kind)
    try:
        assert told(locate_target(base, given.encode()), root) == (real, missing, there)
    finally:
        os.close(base.fd)


@both_resolvers
def test_a_final_link_is_not_followed_where_it_is_meant_itself(root: Path, kind: ResolverKind) -> None:
    base = base_of(root, kind)
    try:
        for name in ("to_file", "dangling", "loop", "out"):
            assert told(locate(base, name.encode()), root) == (name, [], True)
    finally:
        os.close(base.fd)


@both_resolvers
@pytest.mark.parametrize(
    ("given", "number"),
    [
        ("loop", errno.ELOOP),
        ("d/", errno.EISDIR),
        (".", errno.EISDIR),
        ("d/e/..", errno.EISDIR),
        ("d/f/x", errno.ENOTDIR),
        ("dangling_dir/new", errno.ENOENT),
        ("dangling_dir/x/new", errno.ENOENT),
        ("nowhere/../new", errno.ENOENT),
    ],
)
def test_a_path_that_leads_to_no_name_is_refused(root: Path, kind: ResolverKind, given: str, number: int) -> None:
    base = base_of(root, kind)
    try:
        with pytest.raises(OSError) as caught:
            locate_target(base, given.encode())
        assert caught.value.errno == number
    finally:
        os.close(base.fd)


@both_resolvers
@pytest.mark.parametrize(("given", "target"), [("../x", "x"), ("out", "elsewhere/x"), ("d/../../y/z", "y/z")])
def test_an_escape_tells_where_to(root: Path, kind: ResolverKind, given: str, target: str) -> None:
    (root.parent / "elsewhere").mkdir()
    (root.parent / "y").mkdir()
    base = base_of(root, kind)
    try:
        with pytest.raises(Escape) as caught:
            locate_target(base, given.encode())
        assert caught.value.target == os.fsencode(root.parent / target)
    finally:
        os.close(base.fd)


@both_resolvers
def test_missing_directories_are_made_where_they_were_missing(root: Path, kind: ResolverKind) -> None:
    base = base_of(root, kind)
    try:
        with locate_target(base, b"to_dir/x/y/new") as spot:
            (root / "d/x").mkdir()  # another process is faster with one of them
            make_directories(spot)
            assert (spot.missing, spot.stat) == ((), None)
            assert os.path.samestat(os.fstat(spot.fd), (root / "d/x/y").stat())
    finally:
        os.close(base.fd)


@both_resolvers
def test_a_link_that_appears_among_the_missing_is_not_followed(root: Path, kind: ResolverKind, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    base = base_of(root, kind)
    try:
        with locate_target(base, b"x/y/new") as spot:
            (root / "x").symlink_to(tmp_path / "elsewhere")
            with pytest.raises(OSError):
                make_directories(spot)
        assert list((tmp_path / "elsewhere").iterdir()) == []
    finally:
        os.close(base.fd)
