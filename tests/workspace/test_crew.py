"""Crews: workers rest between two documents of their call, a few of all calls, and end with it."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
import trio

from picoclawd.errors import Fault
from picoclawd.programs import Bounds
from picoclawd.workspace import crew
from picoclawd.workspace.crew import Bench, Crew
from tests.documents import doing
from tests.documents.doing import is_running

WAIT_S = 60.0
BOUNDS = Bounds(WAIT_S, 100_000, {})
REQUEST = json.dumps({"kind": "table", "windows": [[1, 9]], "max_chars": 100, "name": "t.csv"}).encode()
WORKER = b"told = os.getppid()"
TABLE = ("table",)


@asynccontextmanager
async def crew_of(bench: Bench) -> AsyncIterator[Crew]:
    """A crew that is ended."""
    ours = Crew(bench)
    try:
        yield ours
    finally:
        await ours.end()


def document(path: Path, code: bytes = WORKER) -> BinaryIO:
    """A document that does this."""
    path.write_bytes(code)
    return open(path, "rb")


async def told(ours: Crew, path: Path, readers: tuple[str, ...] = TABLE) -> int:
    """The number of the worker that reads a document."""
    with document(path) as opened, trio.fail_after(WAIT_S):
        ended = await ours.read(readers, opened.fileno(), REQUEST, BOUNDS)
    assert ended.status == 0
    ((_, text),) = json.loads(ended.output)["found"]["units"]
    return int(text)


async def test_a_worker_reads_on_for_its_call_and_its_format_only(tmp_path: Path) -> None:
    bench, path = Bench(doing.COMMAND), tmp_path / "document"
    async with crew_of(bench) as one, crew_of(bench) as other:
        first = await told(one, path)
        assert await told(one, path) == first
        assert await told(other, path) != first
        assert await told(one, path, readers=("table", "ole")) != first
        assert await told(one, path) == first
        assert (bench.started, bench.resting) == (3, 3)
    assert bench.resting == 0
    assert not is_running(first)


async def test_a_crew_that_ends_leaves_the_others_theirs(tmp_path: Path) -> None:
    bench, path = Bench(doing.COMMAND), tmp_path / "document"
    async with crew_of(bench) as other:
        theirs = await told(other, path)
        async with crew_of(bench) as one:
            ours = await told(one, path)
        assert (is_running(ours), is_running(theirs)) == (False, True)
        assert await told(other, path) == theirs


async def test_few_workers_rest_and_the_oldest_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "RESTING_MAX", 2)
    bench, path = Bench(doing.COMMAND), tmp_path / "document"
    async with crew_of(bench) as one:
        oldest = await told(one, path, readers=("table", "a"))
        newer = await told(one, path, readers=("table", "b"))
        await told(one, path, readers=("table", "c"))
        assert bench.resting == 2
        assert (is_running(oldest), is_running(newer)) == (False, True)


async def test_of_two_that_are_alike_one_makes_room_before_the_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "RESTING_MAX", 2)
    bench, path = Bench(doing.COMMAND), tmp_path / "document"
    async with crew_of(bench) as one:
        oldest = await told(one, path, readers=("table", "a"))
        with document(path, b"time.sleep(0.5)") as opened:
            async with trio.open_nursery() as nursery:
                for _ in range(2):
                    nursery.start_soon(one.read, TABLE, opened.fileno(), REQUEST, BOUNDS)
        assert (bench.started, bench.resting) == (3, 2)
        assert is_running(oldest)


async def test_a_worker_that_died_while_it_rested_is_not_asked(tmp_path: Path) -> None:
    bench, path = Bench(doing.COMMAND), tmp_path / "document"
    async with crew_of(bench) as one:
        first = await told(one, path)
        os.kill(first, 9)
        with trio.fail_after(WAIT_S):
            while is_running(first):  # noqa: ASYNC110 - another process ends
                await trio.sleep(0.01)
        assert await told(one, path) != first


async def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    async with crew_of(Bench((str(tmp_path / "nothing"),))) as one:
        with pytest.raises(Fault) as caught:
            await told(one, tmp_path / "document")
    assert "failed to start program" in caught.value.message


async def test_a_program_that_ends_at_once_has_a_status_and_no_answer(tmp_path: Path) -> None:
    async with crew_of(Bench(("/bin/true",))) as one:
        with document(tmp_path / "document") as opened, trio.fail_after(WAIT_S):
            ended = await one.read(TABLE, opened.fileno(), REQUEST, BOUNDS)
    assert (ended.status, ended.output) == (1, b"")


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    bench, path = Bench(doing.COMMAND), tmp_path / "document"
    async with crew_of(bench) as one:
        await told(one, path)
    before = os.listdir("/proc/self/fd")
    async with crew_of(bench) as one:
        await told(one, path)
        with document(path, b"time.sleep(60)") as opened, pytest.raises(Fault, match="did not finish within 1 s"):
            await one.read(TABLE, opened.fileno(), REQUEST, Bounds(1, 100, {}))
        with document(path, b"time.sleep(60)") as opened, trio.move_on_after(1) as scope:
            await one.read(TABLE, opened.fileno(), REQUEST, BOUNDS)
        with document(path, b"while True: os.write(1, bytes(1000))") as opened:
            assert (await one.read(TABLE, opened.fileno(), REQUEST, Bounds(WAIT_S, 9999, {}))).overflowed
        assert scope.cancelled_caught
    assert len(os.listdir("/proc/self/fd")) == len(before)
