"""Reading back: equal bytes pass, every other answer is a fault that says where."""

import os

import pytest

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.commit import read_back
from picoclawd.files.readback import difference, holds_exactly
from tests.files.conftest import Folder, Injected

LONG = bytes(range(256)) * (3 * limits.READ_BACK_BUFFER_BYTES // 256) + b"end"


@pytest.mark.parametrize("data", [b"", b"x", LONG, LONG[: limits.READ_BACK_BUFFER_BYTES]])
def test_the_same_bytes_pass(folder: Folder, data: bytes) -> None:
    folder.put(data)
    before = os.listdir("/proc/self/fd")
    read_back(folder.target(), data)
    assert os.listdir("/proc/self/fd") == before


def test_after_an_append_only_the_addition_is_compared(folder: Folder) -> None:
    folder.put(b"old" + LONG)
    read_back(folder.target(), LONG, offset=3)


@pytest.mark.parametrize("added", [b"added", LONG])
def test_after_an_append_somebody_elses_bytes_may_follow(folder: Folder, added: bytes) -> None:
    folder.put(b"old" + added + b"theirs")
    read_back(folder.target(), added, offset=3)


@pytest.mark.parametrize(
    ("on_disk", "expected", "offset", "place"),
    [
        (b"abc", b"abX", 0, 2),
        (b"abcd", b"abc", 0, 3),
        (b"aXcd", b"abc", 0, 1),
        (b"ab", b"abc", 0, 2),
        (b"", b"abc", 0, 0),
        (b"abcdef", b"dXf", 3, 4),
        (b"abc", b"d", 3, 3),
        (LONG[:-1] + b"X", LONG, 0, len(LONG) - 1),
        (LONG[: limits.READ_BACK_BUFFER_BYTES], LONG, 0, limits.READ_BACK_BUFFER_BYTES),
    ],
)
def test_other_bytes_are_a_mismatch_that_says_where(
    folder: Folder, on_disk: bytes, expected: bytes, offset: int, place: int
) -> None:
    folder.put(on_disk)
    with pytest.raises(Fault) as caught:
        read_back(folder.target(), expected, offset)
    assert caught.value.slug is Slug.READ_BACK_MISMATCH
    assert caught.value.outcome == "unknown"
    assert caught.value.data["detail"].endswith(f"at byte {place}")


def test_a_file_that_is_gone_is_a_failed_read_back(folder: Folder) -> None:
    with pytest.raises(Fault) as caught:
        read_back(folder.target(), b"x")
    assert (caught.value.slug, caught.value.outcome) == (Slug.READ_BACK_FAILED, "unknown")
    assert "No such file" in caught.value.data["detail"]


def test_a_failing_disk_is_a_failed_read_back(folder: Folder, injected: Injected) -> None:
    folder.put(b"x")
    with pytest.raises(Fault) as caught, injected("pread64:error=EIO:when=1"):
        read_back(folder.target(), b"x")
    assert caught.value.slug is Slug.READ_BACK_FAILED


@pytest.mark.parametrize("kind", ["fifo", "link"])
def test_what_took_the_name_is_never_waited_for_nor_followed(folder: Folder, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(folder.path / "notes.txt")
    else:
        folder.put(b"x", "elsewhere")
        (folder.path / "notes.txt").symlink_to("elsewhere")
    with pytest.raises(Fault) as caught:
        read_back(folder.target(), b"x")
    assert caught.value.slug in (Slug.READ_BACK_MISMATCH, Slug.READ_BACK_FAILED)


def test_short_reads_are_gone_on_with(folder: Folder) -> None:
    folder.put(LONG)
    fd = os.open(folder.path / "notes.txt", os.O_RDONLY)
    try:
        assert difference(fd, LONG[:-3]) is None
        assert holds_exactly(fd, LONG)
        assert not holds_exactly(fd, LONG[:-3])
    finally:
        os.close(fd)
