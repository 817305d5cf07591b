"""Documents: two at a time, cached, ended with their call, and the deaths of their processes told."""

import os
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
from picoclawd.workspace.crew import Crew
from picoclawd.workspace.documents import Documents, wanted_of
from tests.documents import doing
from tests.documents.doing import is_running
from tests.house import House

TICK_NS = 4_000_000
WAIT_S = 60.0
LONG_AGO_S = 1_600_000_000  # of a file that was not changed just now


@pytest.fixture
def house(tmp_path: Path) -> House:
    (tmp_path / "ws").mkdir()
    return House(tmp_path / "ws")


class Shop:
    """Documents of a house, whose workers do what a document says."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.documents = Documents(house.rooted, house.workspace.threads, TICK_NS, doing.COMMAND)

    def stamp(self, name: str) -> Stamp:
        return stamps.of(os.stat(self.house.root / name))

    async def settled(self, name: str) -> None:
        """Wait until the file's times prove that it is the same."""
        with trio.fail_after(10):
            while not stamps.settled(self.stamp(name), time.time_ns(), TICK_NS):  # noqa: ASYNC110 - the clock's
                await trio.sleep(0.01)

    async def read(self, name: str = "t.csv", crew: Crew | None = None) -> Found:
        """Read a table, by a crew of its own where none is given."""
        if crew is None:
            async with self.documents.crew() as crew:
                return await self.read(name, crew)
        path = self.house.workspace.parse(name)
        with trio.fail_after(WAIT_S):
            return await self.documents.read(crew, path, kinds.TABLE, self.stamp(name), wanted_of(path, ((1, 9),), 100))

    async def told(self, name: str = "t.csv", crew: Crew | None = None) -> str:
        """What came of it: what its process told, or the slug of its error."""
        try:
            ((_, text),) = (await self.read(name, crew)).units
        except Fault as fault:
            return fault.slug.value
        return text

    def write(self, name: str, code: str) -> None:
        """A document that was not changed just now."""
        self.house.write(name, code)
        os.utime(self.house.root / name, (LONG_AGO_S, LONG_AGO_S))


def shop(house: House, code: str) -> Shop:
    ours = Shop(house)
    ours.write("t.csv", code)
    return ours


async def test_what_was_found_is_kept_until_the_file_changes(house: House) -> None:
    ours = shop(house, "told = os.getpid()")
    await ours.settled("t.csv")
    first = await ours.told()
    assert await ours.told() == first
    assert ours.documents.statistics().started == 1
    house.write("t.csv", "told = 'another'")
    assert await ours.told() == "another"
    assert ours.documents.statistics().started == 2


async def test_the_cache_has_a_bound(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "CACHE_MAX_BYTES", 3000)
    ours = Shop(house)
    for number in range(5):
        ours.write(f"{number}.csv", "told = 'x'")
    await ours.settled("4.csv")
    async with ours.documents.crew() as crew:
        for number in range(5):
            await ours.read(f"{number}.csv", crew)
    held = ours.documents.statistics()
    assert (held.started, held.entries) == (1, 2)
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
    code = f"os.write(1, b'{{'); os.kill(os.getpid(), signal.{number})"
    with pytest.raises(Fault, match=r"t\.csv looks like a table") as caught:
        await shop(house, code).read()
    assert caught.value.slug is slug
    assert words in caught.value.message


HANGS = "os.close(os.open(f'{where}/pid-{os.getpid()}', os.O_CREAT | os.O_WRONLY)); time.sleep(60)"
DEATHS = {  # what a document does to its process: what is said of it
    "os.kill(os.getpid(), signal.SIGSEGV)": "unsupported_format",
    "os.kill(os.getpid(), signal.SIGXCPU)": "too_large",
    "kept = bytearray(700 << 20)": "too_large",
    HANGS: "timeout",
    "while os.write(1, b' ' * 65536): pass": "too_large",
    "os.write(1, b'{}'); os._exit(0)": "unsupported_format",
    "os.write(1, b'[' * 100_000); os._exit(0)": "unsupported_format",
    "os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)": "too_large",
    "os.kill(0, signal.SIGKILL)": "too_large",
}


async def test_a_hostile_document_costs_its_own_answer_only(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of death among good documents, in one call; the deadline is what a busy machine needs to start."""
    monkeypatch.setattr(documents, "_BOUNDS", Bounds(10.0, 1_000_000, {}))
    ours = Shop(house)
    expected: dict[str, str] = {}
    for number, (code, slug) in enumerate(DEATHS.items()):
        ours.write(f"{number}.csv", f"where = {str(house.root)!r}\n{code}")
        ours.write(f"good {number}.csv", f"told = 'well {number}'")
        expected |= {f"{number}.csv": slug, f"good {number}.csv": f"well {number}"}
    found: dict[str, str] = {}

    async def read(name: str, crew: Crew) -> None:
        found[name] = await ours.told(name, crew)

    async with ours.documents.crew() as crew, trio.open_nursery() as nursery:
        for name in expected:
            nursery.start_soon(read, name, crew)
    assert found == expected
    (hanging,) = pids(house)
    await until_gone([hanging])


async def test_a_call_that_is_cancelled_takes_its_processes_along(house: House) -> None:
    code = "for pid in (os.getpid(), os.getppid()): os.close(os.open(f'{root}/pid-{pid}', os.O_CREAT | os.O_WRONLY))\n"
    ours = Shop(house)
    ours.write("good.csv", "told = 1")
    for name in ("a.csv", "b.csv", "c.csv"):
        ours.write(name, f"root = {str(house.root)!r}\n{code}time.sleep(60)")
    with trio.fail_after(WAIT_S), trio.CancelScope() as scope:
        async with ours.documents.crew() as crew:
            await ours.read("good.csv", crew)
            assert ours.documents.statistics().resting == 1
            async with trio.open_nursery() as nursery:
                for name in ("a.csv", "b.csv", "c.csv"):
                    nursery.start_soon(ours.read, name, crew)
                while len(pids(house)) < 4:  # noqa: ASYNC110 - other processes are at work
                    await trio.sleep(0.01)
                scope.cancel()
    assert scope.cancelled_caught
    await until_gone(pids(house))
    held = ours.documents.statistics()
    assert (held.started, held.resting) == (2, 0)


def pids(house: House) -> list[int]:
    """The processes that made a file of their number."""
    return [int(name.removeprefix("pid-")) for name in os.listdir(house.root) if name.startswith("pid-")]


async def until_gone(pids: list[int]) -> None:
    """Wait for orphans, which the kernel kills: those that were waited for are gone already."""
    with trio.fail_after(WAIT_S):
        while any(map(is_running, pids)):  # noqa: ASYNC110 - other processes are at work
            await trio.sleep(0.01)


async def test_two_documents_are_read_at_a_time(house: House) -> None:
    running = house.root / "running"
    running.mkdir()
    code = doing.begun(running / "pid-") + f"seen = os.listdir({str(running)!r})\n"
    code += f"time.sleep(0.2)\nos.unlink({str(running / 'pid-')!r} + str(os.getpid()))\ntold = len(seen)"
    ours = Shop(house)
    seen: list[str] = []

    async def read(name: str, crew: Crew | None) -> None:
        seen.append(await ours.told(name, crew))

    async with ours.documents.crew() as crew, trio.open_nursery() as nursery:
        for number in range(6):
            ours.write(f"{number}.csv", code)
            nursery.start_soon(read, f"{number}.csv", crew if number < 4 else None)  # a call of several, two of one
    assert len(seen) == 6
    assert max(seen) == "2"
    assert 3 <= ours.documents.statistics().started <= 4  # two for the call of four, one for each other


async def test_a_file_that_became_another_is_a_conflict(house: House) -> None:
    ours = shop(house, "")
    path, old = house.workspace.parse("t.csv"), ours.stamp("t.csv")
    house.write("t.csv", "another\n")
    with pytest.raises(Fault) as caught:
        async with ours.documents.crew() as crew:
            await ours.documents.read(crew, path, kinds.TABLE, old, wanted_of(path, ((1, 9),), 100))
    assert caught.value.slug is Slug.CONFLICT
    assert caught.value.retryable


async def test_an_image_file_over_10_mib_is_refused_unread(house: House) -> None:
    ours = Shop(house)
    house.write("big.png", b"\x89PNG\r\n\x1a\n" + b"\0" * (12 * 1024 * 1024))
    path = house.workspace.parse("big.png")
    with pytest.raises(Fault, match=r"12\.0 MiB; images of at most 10 MiB") as caught:
        async with ours.documents.crew() as crew:
            mark, wanted = kinds.MARKS[0], wanted_of(path, ((1, 9),), 100)
            await ours.documents.read(crew, path, mark, ours.stamp("big.png"), wanted)
    assert caught.value.slug is Slug.TOO_LARGE
    assert ours.documents.statistics().started == 0
