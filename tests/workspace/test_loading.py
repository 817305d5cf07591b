"""The background load takes in what it can, passes over what it cannot, and begins again when there are new names."""

import os
from collections.abc import Callable

import pytest
import trio
import trio.testing

from picoclawd.index import contents
from picoclawd.workspace.loading import Loader, Progress
from picoclawd.workspace.workspace import Options
from tests.house import House


class Names:
    """The files that a loader is given; None, as before a tree is built."""

    def __init__(self) -> None:
        self.files: list[bytes] | None = None
        self.asked = 0

    def __call__(self) -> list[bytes] | None:
        self.asked += 1
        return self.files


def loader_of(house: House, names: Names) -> Loader:
    return Loader(house.workspace.index.contents, house.workspace.threads, names)


async def until(true: Callable[[], bool]) -> None:
    with trio.fail_after(30):
        while not true():  # noqa: ASYNC110 - threads are at work
            await trio.sleep(0.005)


def is_over(loader: Loader, rounds: int, names: Names) -> bool:
    progress = loader.progress()
    return names.asked == rounds and loader.trigrams() == "ready" and progress.done == progress.total


async def write(house: House, count: int, size: int = 10) -> list[bytes]:
    """Make files `f0`, `f1` and so on, and wait until a stat proves what they hold: younger texts are not kept."""
    for number in range(count):
        house.write(f"f{number}", "x" * (size - 1) + "\n")
    await trio.sleep(0.03)
    return [b"f%d" % number for number in range(count)]


async def test_nothing_is_loaded_before_it_is_due_or_while_no_names_are_known(
    house: House, nursery: trio.Nursery
) -> None:
    names = Names()
    loader = loader_of(house, names)
    nursery.start_soon(loader.run)
    await trio.testing.wait_all_tasks_blocked()
    assert names.asked == 0
    loader.due()
    await until(lambda: names.asked == 1)
    await trio.testing.wait_all_tasks_blocked()
    assert (loader.progress(), loader.trigrams()) == (Progress(0, 0), "cold")
    names.files = await write(house, 3)
    loader.due()
    await until(lambda: is_over(loader, 2, names))
    assert loader.progress() == Progress(3, 3)


async def test_every_file_is_loaded_and_counted(house: House, nursery: trio.Nursery) -> None:
    names = Names()
    names.files = await write(house, 500)
    loader = loader_of(house, names)
    nursery.start_soon(loader.run)
    loader.due()
    await until(lambda: is_over(loader, 1, names))
    assert loader.progress() == Progress(500, 500)
    assert all(house.workspace.index.contents.has(name) for name in names.files)


async def test_names_that_come_during_a_round_are_loaded_in_another(house: House, nursery: trio.Nursery) -> None:
    names = Names()
    names.files = await write(house, 400)
    loader = loader_of(house, names)
    nursery.start_soon(loader.run)
    loader.due()
    await until(lambda: names.asked == 1)
    house.write("late", "x\n")
    await trio.sleep(0.03)
    names.files = [*names.files, b"late"]
    loader.due()
    loader.due()
    await until(lambda: house.workspace.index.contents.has(b"late"))
    await until(lambda: is_over(loader, names.asked, names))
    assert names.asked in (2, 3)  # a word that comes while the names are fetched may count for them or not


async def test_what_has_no_text_is_passed_over_and_nothing_is_left_open(
    house: House, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "LARGE_BYTES", 100)
    names = Names()
    house.write("large", "x" * 200)
    house.write("binary", b"\0x")
    (house.root / "directory").mkdir()
    (house.root / "link").symlink_to("f0")
    os.mkfifo(house.root / "fifo")
    names.files = [b"gone", b"large", b"binary", b"directory", b"link", b"fifo", *await write(house, 20)]
    loader = loader_of(house, names)
    nursery.start_soon(loader.run)
    loader.due()
    await until(lambda: is_over(loader, 1, names))
    before = len(os.listdir("/proc/self/fd"))
    loader.due()
    await until(lambda: is_over(loader, 2, names))
    assert len(os.listdir("/proc/self/fd")) == before
    assert all(house.workspace.index.contents.has(name) for name in names.files[6:])
    assert not any(house.workspace.index.contents.has(name) for name in (b"gone", b"large", b"directory", b"link"))


async def test_a_load_over_the_budget_comes_to_an_end(make_house: Callable[..., House], nursery: trio.Nursery) -> None:
    house = make_house(options=Options(text_cache_bytes=50_000))
    names = Names()
    names.files = await write(house, 300, size=1_000)
    loader = loader_of(house, names)
    nursery.start_soon(loader.run)
    loader.due()
    await until(lambda: is_over(loader, 1, names))
    held = house.workspace.index.contents.statistics()
    assert 0 < held.bytes <= 50_000
    assert held.files < 300
