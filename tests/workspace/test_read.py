"""A reading is of one moment, or says that it may not be; and what is cached is used only while it is true."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.workspace import read as module
from picoclawd.workspace.read import Reading, reading_of
from tests.house import House


def everything(file: BinaryIO, size: int) -> bytes:
    return file.read()


async def read(house: House, name: str) -> Reading[bytes]:
    return await house.workspace.reader.read(house.workspace.parse(name), everything)


async def test_a_reading_tells_what_was_read_and_of_what(house: House) -> None:
    path = house.write("d/a.txt", "text\n")
    (house.root / "link").symlink_to("d/a.txt")
    for name in ("d/a.txt", "link"):
        found = await read(house, name)
        assert (found.found, found.size, found.unstable) == (b"text\n", 5, False)
        assert found.sha256 == hashlib.sha256(b"text\n").hexdigest()
        assert found.stamp.mtime_ns == path.stat().st_mtime_ns
        assert found.real == house.workspace.root + b"/d/a.txt"


@pytest.mark.parametrize("size", [0, 1, module.AT_HAND_BYTES, module.AT_HAND_BYTES + 1, limits.SHA256_MAX_BYTES + 1])
async def test_a_file_of_any_size_is_read_whole(house: House, size: int) -> None:
    data = os.urandom(1024) * (size // 1024 + 1)
    house.write("a", data[:size])
    found = await read(house, "a")
    assert (found.found, found.size) == (data[:size], size)
    assert (found.sha256 is None) == (size > limits.SHA256_MAX_BYTES)  # else it was not read whole at once


@pytest.mark.parametrize(
    ("name", "slug"),
    [("none", Slug.NOT_FOUND), ("d", Slug.NOT_A_FILE), ("../x", Slug.OUTSIDE_WORKSPACE), (".env", Slug.PROTECTED_PATH)],
)
async def test_what_cannot_be_read_is_refused_with_its_reason(house: House, name: str, slug: Slug) -> None:
    (house.root / "d").mkdir()
    house.write(".env", "x")
    with pytest.raises(Fault) as caught:
        await read(house, name)
    assert caught.value.slug is slug


async def test_every_change_is_seen_by_the_next_reading(house: House) -> None:
    """Same size, and the old times set back: only the change time tells."""
    path = house.write("a", "0" * 10)
    for number in range(1, 200):
        before = path.stat()
        path.write_text(f"{number:010}")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert (await read(house, "a")).found == b"%010d" % number


@pytest.mark.parametrize("changes", [1, 2, 3])
async def test_a_file_that_changes_under_the_reading_is_read_again_and_at_last_called_unstable(
    house: House, changes: int
) -> None:
    path = house.write("a", "x" * (module.AT_HAND_BYTES + 1))
    attempts = 0

    def extract(file: BinaryIO, size: int) -> int:
        nonlocal attempts
        attempts += 1
        if attempts <= changes:
            path.write_text("y" * (module.AT_HAND_BYTES + 1 + attempts))
        return attempts

    found = await house.workspace.reader.read(house.workspace.parse("a"), extract)
    assert found.found == attempts == min(changes + 1, 3)
    assert found.unstable == (changes == 3)


@pytest.fixture
def short_file() -> tuple[str, bytes]:
    """A file that holds less than its size says, as those of sysfs do, which all say 4096."""
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not path.exists():
        pytest.skip("this kernel shows no such file")
    return str(path), path.read_bytes()


async def test_a_file_is_read_to_its_end_whatever_its_size_says(
    make_house: Callable[..., House], short_file: tuple[str, bytes]
) -> None:
    path, data = short_file
    house = make_house(allow_read=("/sys/kernel/mm(/|$)",))
    found = await read(house, path)
    assert (found.found, found.size) == (data, len(data))


async def test_what_is_cached_gives_the_reading_that_the_disk_gave(house: House) -> None:
    house.write("a", "text\n")
    path = house.workspace.parse("a")
    fresh = await read(house, "a")
    cached = house.workspace.reader.at_hand(path)
    assert cached is not None
    assert reading_of(cached, everything) == fresh


async def test_at_hand_is_no_large_or_empty_file_and_refuses_as_reading_does(house: House) -> None:
    reader = house.workspace.reader
    house.write("empty", "")
    house.write("large", b"x" * (module.AT_HAND_BYTES + 1))
    for name in ("empty", "large"):
        assert reader.at_hand(house.workspace.parse(name)) is None
    with pytest.raises(Fault) as caught:
        reader.at_hand(house.workspace.parse("../x"))
    assert caught.value.slug is Slug.OUTSIDE_WORKSPACE
