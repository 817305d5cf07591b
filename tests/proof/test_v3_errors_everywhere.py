"""V3: an error at every system call. Each that touches a file answers, in turn, each error that it may, and each write
takes half: P1 holds, the outcome and outcome.get are true, no bug is answered, nothing stays open, and it goes on.

The short form carries out 240 of some 6,000 plans, drawn by a fixed seed.
"""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.history.store import History
from picoclawd.workspace.workspace import Records
from tests.house import House
from tests.proof import figures
from tests.proof.conftest import Places, Ran, Tell, run_machines

MODULE = "tests.proof.call_errors"
SMALL = "64k"


def check(ran: Ran) -> None:
    assert not ran.wrong, "\n".join(ran.wrong)
    # The machine itself: some calls failed and said so, others had another way.
    assert ran.counts["answered io_error (not_applied)"]
    assert ran.counts["answered a result (applied)"]


@pytest.mark.usefixtures("traceable")
def test_a_call_tells_the_truth_whichever_system_call_fails_it(places: Places) -> None:
    halves = [f"{part}/2" for part in (1, 2)]
    ran = run_machines(MODULE, places, [3, 3], "--runs", "120", shares=halves)
    check(ran)
    assert ran.counts["runs"] == 240


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("traceable")
def test_and_so_it_does_for_all_of_them(places: Places, tell: Tell) -> None:
    wanted = figures.length()
    halves = [f"{part}/2" for part in (1, 2)]
    ran = run_machines(MODULE, places, [wanted.seed] * 2, seconds=wanted.seconds, shares=halves)
    kinds = sum(name.count(" ") == 1 and not name.startswith("answered") for name in ran.counts)
    figure = f"{ran.counts['runs']} of {ran.counts['plans']} plans, {kinds} pairs of call and error, "
    tell(wanted.told("V3", figure + f"{len(ran.wrong)} violations"))
    check(ran)


@contextmanager
def tiny(place: Path) -> Iterator[Path]:
    """A file system of 64 KiB. Skips where it cannot be mounted, also in CI."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(place)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


async def test_a_full_disk_leaves_every_file_whole_and_says_so(tmp_path: Path) -> None:
    with tiny(tmp_path / "full") as root:
        house = House(root, records=Records(History(str(tmp_path / "state"))))
        try:
            held, refused = await fill(house)
        finally:
            house.close()
        assert refused > 10 and held
        found = {path.name: path.read_bytes() for path in root.iterdir()}
        assert found == held, "what was refused changed nothing, and left no temporary file"


async def fill(house: House) -> tuple[dict[str, bytes], int]:
    """Write, append and rewrite until nothing fits any more; what was acknowledged, and how often it was refused."""
    held: dict[str, bytes] = {}
    refused = 0
    for number in range(60):
        name = f"f{number % 7}"
        data = b"%d " % number * 2000
        tool = "append_file" if name in held and number % 2 else "write_file"
        overwrite = {"overwrite": True} if tool == "write_file" else {}
        op = f"op-{number}"
        try:
            await house.call(tool, session=house.operator, op=op, path=name, content=data.decode(), **overwrite)
        except Fault as fault:
            assert fault.slug is Slug.IO_ERROR, fault
            assert fault.data["errno_name"] == errno.errorcode[errno.ENOSPC]
            assert fault.outcome in (None, "not_applied")
            assert house.history.outcome(op) == "not_applied"
            refused += 1
        else:
            held[name] = held[name] + data if tool == "append_file" else data
    return held, refused
