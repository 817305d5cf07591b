"""V4: P2 at power loss. What was acknowledged is on the disk and in the history, whenever the power goes; what was not
is old or new. A control that leaves out one kind of fsync is caught, so the machine can see what it looks for.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.proof import figures, power
from tests.proof.conftest import SHM, Tell
from tests.proof.disk import CannotError, Disk, disk

CUTS = 10
CONTROL_CUTS = 200  # at most: the first that is caught ends it
_CUTS_A_DISK = 60  # then the image is nearly full of history


@contextmanager
def made_disk(tmp_path: Path) -> Iterator[Disk]:
    """Below /dev/shm where that is, so that a flush costs nothing. Skips where there can be none, also in CI."""
    with TemporaryDirectory(dir=SHM if SHM.is_dir() else tmp_path, prefix="picoclawd-proof-") as root:
        try:
            with disk(Path(root)) as made:
                yield made
        except CannotError as exc:
            pytest.skip(f"no disk to cut the power of: {exc}")


def test_what_was_acknowledged_survives_a_power_loss(tmp_path: Path) -> None:
    dice = random.Random(4)
    with made_disk(tmp_path) as made, power.working(made, 4) as worker:
        for _ in range(CUTS):
            assert not power.cut(made, worker, dice)
        assert len(worker.told.done) > CUTS


@pytest.mark.parametrize("left_out", ["no-fsync", "no-sqlite-sync"])
def test_without_fsync_it_does_not(tmp_path: Path, left_out: str) -> None:
    dice = random.Random(5)
    with made_disk(tmp_path) as made, power.working(made, 5, left_out) as worker:
        assert any(power.cut(made, worker, dice) for _ in range(CONTROL_CUTS))


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_nor_is_anything_lost_in_as_many_cuts_as_the_time_allows(tmp_path: Path, tell: Tell) -> None:
    wanted = figures.length()
    dice, end = random.Random(wanted.seed), time.monotonic() + wanted.seconds
    cuts, done = 0, 0
    wrong: list[str] = []
    while time.monotonic() < end and not wrong:
        with made_disk(tmp_path) as made, power.working(made, wanted.seed + cuts) as worker:
            for _ in range(_CUTS_A_DISK):
                wrong += power.cut(made, worker, dice)
                cuts += 1
                if wrong or time.monotonic() > end:
                    break
            done += len(worker.told.done)
    tell(wanted.told("V4", f"{cuts} cuts under {done} acknowledged changes, {len(wrong)} violations"))
    assert not wrong, "\n".join(wrong)
