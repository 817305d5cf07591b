"""The cached texts are those of the disk, whatever another process does to a file and its times."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.index.contents import LARGE_BYTES, Allowance, Contents, Large, Text, Trouble
from picoclawd.index.pattern import Encoding
from picoclawd.index.trust import Facts, Trust
from tests.index.truth import TICK_NS, Coarse, CoarseWithoutRacyRule, WithoutCtime

UNBOUNDED = 1 << 62


def everything() -> Allowance:
    return Allowance(UNBOUNDED, UNBOUNDED)


@pytest.fixture
def root_fd(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.fixture(params=[True, False], ids=["openat2", "steps"])
def contents(request: pytest.FixtureRequest, root_fd: int) -> Contents:
    return Contents(root_fd, 1 << 20, Trust(TICK_NS), openat2=request.param)


def write(path: Path, data: bytes) -> None:
    """Write a file, and the directories that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def settle() -> None:
    """Let the racy window pass: what was changed before can be believed after."""
    time.sleep(0.03)


def data_of(contents: Contents, path: bytes) -> bytes:
    found = contents.text(path, everything())
    assert isinstance(found, Text), found
    return found.data


def test_a_text_is_read_once_and_then_costs_no_allowance(contents: Contents, tmp_path: Path) -> None:
    write(tmp_path / "d/a.txt", b"one\n")
    settle()
    allowance = Allowance(1, 4)
    assert isinstance(contents.text(b"d/a.txt", allowance), Text)
    assert (allowance.files, allowance.bytes) == (0, 0)
    assert isinstance(contents.text(b"d/a.txt", allowance), Text)
    assert contents.has(b"d/a.txt")
    assert contents.statistics().files == 1


def test_what_changed_within_the_racy_window_is_not_kept(contents: Contents, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\n")
    assert data_of(contents, b"a.txt") == b"one\n"
    assert not contents.has(b"a.txt")


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"plain\n", Encoding.ASCII),
        ("ä\n".encode(), Encoding.UTF8),
        (b"\xe4\n", Encoding.OTHER),
        (b"", Encoding.ASCII),
        (b"\0\n", None),
    ],
)
def test_the_encoding_is_told(contents: Contents, tmp_path: Path, data: bytes, encoding: Encoding | None) -> None:
    (tmp_path / "a").write_bytes(data)
    found = contents.text(b"a", everything())
    assert isinstance(found, Text)
    assert found.encoding is encoding
    assert found.data == (data if encoding else b"")


def test_what_has_no_text_says_why(contents: Contents, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("d")
    (tmp_path / "a").write_bytes(b"12345")
    assert contents.text(b"none", everything()) is Trouble.VANISHED
    assert contents.text(b"a/none", everything()) is Trouble.VANISHED
    assert contents.text(b"d", everything()) is Trouble.SPECIAL
    assert contents.text(b"pipe", everything()) is Trouble.SPECIAL
    assert contents.text(b"link", everything()) is Trouble.LINK
    assert contents.text(b"a", Allowance(1, 4)) is Trouble.OVER_BUDGET
    assert contents.text(b"a", Allowance(0, 5)) is Trouble.OVER_BUDGET


def test_no_link_on_the_way_is_followed(contents: Contents, tmp_path: Path) -> None:
    write(tmp_path / "real/a", b"x")
    (tmp_path / "way").symlink_to("real")
    assert contents.text(b"way/a", everything()) in (Trouble.LINK, Trouble.VANISHED)


def test_a_large_file_is_given_as_a_descriptor(contents: Contents, tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * (LARGE_BYTES + 1))
    found = contents.text(b"big", everything())
    assert isinstance(found, Large)
    assert found.size == os.fstat(found.fd).st_size == LARGE_BYTES + 1
    assert not os.get_inheritable(found.fd)
    os.close(found.fd)


def test_the_budget_bounds_what_is_kept(root_fd: int, tmp_path: Path) -> None:
    contents = Contents(root_fd, 10_000, Trust(TICK_NS))
    for number in range(10):
        write(tmp_path / f"{number}", b"x" * 2000)
    settle()
    for number in range(10):
        assert len(data_of(contents, b"%d" % number)) == 2000
    kept = contents.statistics()
    assert kept.files == 4
    assert kept.bytes <= 10_000
    assert contents.room() < 2000
    contents.forget(b"0")
    assert contents.room() >= 2000
    contents.retain([b"1"])
    assert contents.statistics().files == 1
    contents.distrust()
    assert contents.statistics() == type(kept)(0, 0)


def test_a_hint_forgets_only_what_changed(contents: Contents, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, b"one\n")
    settle()
    for kept in (b"a", b"b"):
        data_of(contents, kept)
    (tmp_path / "a").write_bytes(b"two\n")
    assert contents.recheck(b"a")
    assert not contents.recheck(b"b")
    assert contents.recheck(b"never seen")
    assert not contents.has(b"a")
    assert contents.has(b"b")


def run(root_fd: int, root: Path, trust: Trust, steps: int, seed: int) -> int | None:
    """Change files in every way that has fooled a cache, and compare; the first step at which a text is wrong."""
    dice = random.Random(seed)
    contents = Contents(root_fd, 1 << 20, trust)
    names = [f"f{number}" for number in range(6)]
    for name in names:
        (root / name).write_bytes(b"start")
    for step in range(steps):
        name = dice.choice(names)
        path = root / name
        old = path.stat()
        data = bytes(dice.choices(b"abc\n", k=dice.choice((5, 5, 5, dice.randint(0, 9)))))
        match dice.randrange(5):
            case 0:
                path.write_bytes(data)
            case 1:
                (root / "temp").write_bytes(data)
                (root / "temp").rename(path)
            case 2:
                with open(path, "r+b") as file:
                    file.write(data)
            case 3:
                other = root / dice.choice(names)
                path.rename(root / "aside")
                if other != path:
                    other.rename(path)
                    (root / "aside").rename(other)
                else:
                    (root / "aside").rename(path)
            case 4:
                path.unlink()
                path.write_bytes(data)
        if dice.random() < 0.7:
            os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
        if dice.random() < 0.2:
            time.sleep(dice.choice((0.001, 0.005, 0.025)))
        for each in dice.sample(names, 3):
            if data_of(contents, each.encode()) != (root / each).read_bytes():
                return step
    return None


@pytest.mark.parametrize("trust", [Trust(TICK_NS), Coarse(TICK_NS)])
def test_the_text_is_right_after_every_change(root_fd: int, tmp_path: Path, trust: Trust) -> None:
    assert run(root_fd, tmp_path, trust, 1_000, 1) is None


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(10, 20))
def test_the_text_is_right_for_long(root_fd: int, tmp_path: Path, seed: int) -> None:
    assert run(root_fd, tmp_path, Trust(TICK_NS) if seed % 2 else Coarse(TICK_NS), 10_000, seed) is None


@pytest.mark.parametrize("trust", [WithoutCtime(TICK_NS), CoarseWithoutRacyRule(TICK_NS)])
def test_texts_that_are_believed_too_easily_are_caught(root_fd: int, tmp_path: Path, trust: Trust) -> None:
    assert run(root_fd, tmp_path, trust, 3_000, 2) is not None


class Timeless(Trust):
    """What is seen where the clock stands still."""

    def facts(self, stat: os.stat_result) -> Facts:
        return super().facts(stat)[2:]

    def settles(self, stat: os.stat_result, taken_ns: int) -> bool:
        return True


class TimelessWithoutSize(Timeless):
    """The same, and the size is not asked for."""

    def facts(self, stat: os.stat_result) -> Facts:
        ino, dev, _size, *others = super().facts(stat)
        return (ino, dev, *others)


def test_where_the_clock_stands_still_the_size_tells(root_fd: int, tmp_path: Path) -> None:
    for trust, wanted in ((TimelessWithoutSize(TICK_NS), b"one"), (Timeless(TICK_NS), b"one more")):
        contents = Contents(root_fd, 1 << 20, trust)
        (tmp_path / "a").write_bytes(b"one")
        assert data_of(contents, b"a") == b"one"
        with open(tmp_path / "a", "ab") as file:
            file.write(b" more")
        assert data_of(contents, b"a") == wanted


class WithoutCtimeAndSize(WithoutCtime):
    def facts(self, stat: os.stat_result) -> Facts:
        mtime_ns, ino, dev, _size, *others = super().facts(stat)
        return (mtime_ns, ino, dev, *others)


@pytest.mark.parametrize(("trust", "is_caught"), [(WithoutCtime, True), (WithoutCtimeAndSize, False)])
def test_where_no_ctime_is_kept_another_size_is_still_a_change(
    root_fd: int, tmp_path: Path, trust: type[Trust], is_caught: bool
) -> None:
    contents = Contents(root_fd, 1 << 20, trust(TICK_NS))
    write(tmp_path / "a.txt", b"old\n")
    settle()
    assert data_of(contents, b"a.txt") == b"old\n"
    times = (tmp_path / "a.txt").stat()
    (tmp_path / "a.txt").write_bytes(b"newer\n")
    os.utime(tmp_path / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    settle()
    assert (data_of(contents, b"a.txt") == b"newer\n") is is_caught
