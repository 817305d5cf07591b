"""Workers: two at a time, cached, killed with their call, and their deaths told."""

import json
import os
import sys
import time
from pathlib import Path

import pytest
import trio

from picoclawd.documents import kinds
from picoclawd.documents.units import Found
from picoclawd.errors import Fault, Slug
from picoclawd.files import stamps
from picoclawd.files.stamps import Stamp
from picoclawd.programs import Bounds
from picoclawd.workspace import documents
from picoclawd.workspace.documents import Documents, wanted_of
from tests.house import House

FOUND = {"format": "csv", "unit": "row", "total": 1, "units": [[1, "x"]], "is_short": False}
ANSWER = json.dumps({"found": {**FOUND, "encoding": None, "notes": [], "picture": None}})
TICK_NS = 4_000_000
LONG_AGO_S = 1_600_000_000  # of a file that was not changed just now


@pytest.fixture
def house(tmp_path: Path) -> House:
    (tmp_path / "ws").mkdir()
    return House(tmp_path / "ws")


class Shop:
    """Documents of a house, whose workers run a program of the test's."""

    def __init__(self, house: House, program: str) -> None:
        self.house = house
        self.documents = Documents(house.rooted, house.workspace.threads, TICK_NS, (sys.executable, "-c", program))

    def stamp(self, name: str) -> Stamp:
        return stamps.of(os.stat(self.house.root / name))

    async def settled(self, name: str) -> None:
        """Wait until the file's times prove that it is the same."""
        with trio.fail_after(10):
            while not stamps.settled(self.stamp(name), time.time_ns(), TICK_NS):  # noqa: ASYNC110 - the clock's
                await trio.sleep(0.01)

    async def read(self, name: str = "t.csv") -> Found:
        path = self.house.workspace.parse(name)
        with trio.fail_after(30):
            return await self.documents.read(path, kinds.TABLE, self.stamp(name), wanted_of(path, ((1, 9),), 100))


def shop(house: House, program: str) -> Shop:
    house.write("t.csv", "x\n")
    os.utime(house.root / "t.csv", (LONG_AGO_S, LONG_AGO_S))
    return Shop(house, program)


async def test_what_was_found_is_kept_until_the_file_changes(house: House) -> None:
    ours = shop(house, f"print({ANSWER!r})")
    await ours.settled("t.csv")
    assert (await ours.read()).units == ((1, "x"),)
    await ours.read()
    assert ours.documents.statistics().started == 1
    house.write("t.csv", "y\n")
    await ours.read()
    assert ours.documents.statistics().started == 2


async def test_the_cache_has_a_bound(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "CACHE_MAX_BYTES", 3000)
    ours = shop(house, f"print({ANSWER!r})")
    for number in range(5):
        house.write(f"{number}.csv", "x\n")
        os.utime(house.root / f"{number}.csv", (LONG_AGO_S, LONG_AGO_S))
    await ours.settled("4.csv")
    for number in range(5):
        await ours.read(f"{number}.csv")
    held = ours.documents.statistics()
    assert (held.started, held.entries) == (5, 2)
    assert held.bytes <= 3000


@pytest.mark.parametrize(
    ("number", "slug", "words"),
    [
        ("SIGKILL", Slug.TOO_LARGE, "system ran out of memory"),
        ("SIGXCPU", Slug.TOO_LARGE, "10 s of the processor"),
        ("SIGABRT", Slug.TOO_LARGE, "352 MiB of memory"),
        ("SIGSEGV", Slug.UNSUPPORTED_FORMAT, "crashed (SIGSEGV)"),
    ],
)
async def test_a_worker_that_dies_midway_names_the_cause(house: House, number: str, slug: Slug, words: str) -> None:
    program = (
        f"import os, resource, signal; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); "
        f"print('{{', flush=True); os.kill(os.getpid(), signal.{number})"
    )
    with pytest.raises(Fault, match=r"t\.csv looks like a table") as caught:
        await shop(house, program).read()
    assert caught.value.slug is slug
    assert words in caught.value.message


async def test_a_worker_that_hangs_is_killed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_BOUNDS", Bounds(0.5, 1_000_000, {}))
    program = f"import os, time; open({str(house.root / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(Fault) as caught:
        await shop(house, program).read()
    assert caught.value.slug is Slug.TIMEOUT
    assert not is_running(house)


async def test_a_call_that_is_cancelled_takes_its_worker_along(house: House) -> None:
    program = f"import os, time; open({str(house.root / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    ours = shop(house, program)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ours.read)
            while not has_begun(house):  # noqa: ASYNC110 - another process is at work
                await trio.sleep(0.01)
            assert is_running(house)
            nursery.cancel_scope.cancel()
    assert not is_running(house)


def has_begun(house: House) -> bool:
    return os.path.exists(house.root / "pid") and pid(house) != ""


def pid(house: House) -> str:
    return (house.root / "pid").read_text()


def is_running(house: House) -> bool:
    return os.path.exists(f"/proc/{pid(house)}")


async def test_two_workers_run_at_a_time(house: House) -> None:
    directory = str(house.root / "running")
    program = (
        f"import os, time; name = os.path.join({directory!r}, str(os.getpid())); open(name, 'w').close(); "
        f"seen = len(os.listdir({directory!r})); time.sleep(0.2); os.unlink(name); "
        f"print({ANSWER!r}.replace('\"total\": 1', f'\"total\": {{seen}}'))"
    )
    ours = shop(house, program)
    os.mkdir(directory)
    seen: list[int] = []

    async def read(name: str) -> None:
        seen.append((await ours.read(name)).total)

    async with trio.open_nursery() as nursery:
        for number in range(6):
            house.write(f"{number}.csv", "x\n")
            nursery.start_soon(read, f"{number}.csv")
    assert len(seen) == 6
    assert max(seen) == 2


async def test_a_file_that_became_another_is_a_conflict(house: House) -> None:
    ours = shop(house, f"print({ANSWER!r})")
    path, old = house.workspace.parse("t.csv"), ours.stamp("t.csv")
    house.write("t.csv", "another\n")
    with pytest.raises(Fault) as caught:
        await ours.documents.read(path, kinds.TABLE, old, wanted_of(path, ((1, 9),), 100))
    assert caught.value.slug is Slug.CONFLICT
    assert caught.value.retryable


async def test_an_image_file_over_10_mib_is_refused_unread(house: House) -> None:
    ours = shop(house, "raise SystemExit(1)")
    house.write("big.png", b"\x89PNG\r\n\x1a\n" + b"\0" * (12 * 1024 * 1024))
    path = house.workspace.parse("big.png")
    with pytest.raises(Fault, match=r"12\.0 MiB; images of at most 10 MiB") as caught:
        await ours.documents.read(path, kinds.MARKS[0], ours.stamp("big.png"), wanted_of(path, ((1, 9),), 100))
    assert caught.value.slug is Slug.TOO_LARGE
    assert ours.documents.statistics().started == 0
