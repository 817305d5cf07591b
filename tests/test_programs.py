"""A program on a recording: what it is given, how it is bounded, and that it ends with the call."""

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from picoclawd import programs
from picoclawd.errors import Fault, Slug
from picoclawd.programs import Bounds, Ended

WAIT_S = 30.0
LOOSE = Bounds(WAIT_S, 100_000, {})
# Starts a process of its own, tells both numbers, and waits.
FAMILY = (
    "import os, subprocess, sys, time\n"
    "other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    "print(os.getpid(), other.pid, flush=True)\n"
    "time.sleep(60)\n"
)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "source"
    path.write_bytes(b"sound")
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


async def python(source: int, code: str, bounds: Bounds = LOOSE, environ: dict[str, str] | None = None) -> Ended:
    return await programs.run([sys.executable, "-c", code], source, environ or {}, bounds, shown="it")


def is_running(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until_gone(pids: list[int]) -> None:
    for _ in range(int(WAIT_S / 0.01)):
        if not any(map(is_running, pids)):
            return
        await trio.sleep(0.01)
    pytest.fail(f"still running: {[pid for pid in pids if is_running(pid)]}")


async def test_it_reads_stdin_and_its_stdout_is_read(source: int) -> None:
    ended = await python(source, "import sys; print(sys.stdin.read() + '!', end=''); sys.exit(3)")
    assert ended == Ended(3, b"sound!")


async def test_its_environment_holds_no_keys_of_ours(source: int) -> None:
    environ = {"PATH": "/bin", "LC_ALL": "C.UTF-8", "OPENAI_API_KEY": "k", "DBUS_SESSION_BUS_ADDRESS": "d"}
    ended = await python(source, "import os; print(*sorted(os.environ))", environ=environ)
    assert ended.output.split() == [b"LC_ALL", b"PATH"]


async def test_cancelled_it_ends_with_what_it_started(source: int) -> None:
    pids: list[int] = []
    with trio.fail_after(WAIT_S):
        with trio.CancelScope() as scope:

            def seen(chunk: bytes) -> None:
                pids.extend(map(int, chunk.split()))
                scope.cancel()

            await programs.run([sys.executable, "-c", FAMILY], source, {}, LOOSE, shown="it", seen=seen)
    assert len(pids) == 2
    await until_gone(pids)


async def test_at_its_deadline_it_ends_and_that_is_said(source: int) -> None:
    pids: list[int] = []
    with pytest.raises(Fault, match="it did not finish within 3 s") as caught:
        await programs.run(
            [sys.executable, "-c", FAMILY],
            source,
            {},
            Bounds(3.0, 1000, {}),
            shown="it",
            seen=lambda chunk: pids.extend(map(int, chunk.split())),
        )
    assert caught.value.slug is Slug.TIMEOUT
    assert len(pids) == 2
    await until_gone(pids)


async def test_too_much_output_is_cut_and_ends_it(source: int) -> None:
    ended = await python(source, "while True: print('x' * 1000)", Bounds(WAIT_S, 5000, {}))
    assert ended.overflowed
    assert len(ended.output) == 5000


async def test_its_memory_is_bounded(source: int) -> None:
    bounds = Bounds(WAIT_S, 1000, {resource.RLIMIT_AS: 200 << 20})
    ended = await python(source, "import time; time.sleep(0.3); b = bytearray(300 << 20)", bounds)
    assert ended.status == 1


async def test_what_does_not_start_is_a_fault(source: int, tmp_path: Path) -> None:
    with pytest.raises(Fault) as caught:
        await programs.run([str(tmp_path / "nothing")], source, {}, LOOSE, shown="it")
    assert caught.value.slug in (Slug.NOT_FOUND, Slug.IO_ERROR)
