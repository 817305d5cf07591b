"""V2: P1, P2 and P7 for the whole daemon. It is killed at any system call of a request, over its socket; the one that
is started after it knows what became of the request, and goes on.

The short form kills 10 of the 60 daemons that were asked for: each costs a start, half a second and more.
"""

import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.proof import figures
from tests.proof.conftest import Tell
from tests.proof.daemon_death import Machine

CYCLES = 10


def test_the_next_daemon_knows_what_became_of_the_request_that_killed_the_last(tmp_path: Path) -> None:
    with closing(Machine(tmp_path, figures.FIXED_SEED)) as machine:
        for _ in range(CYCLES):
            machine.cycle()
    assert not machine.wrong, "\n".join((f"seed {figures.FIXED_SEED}", *machine.wrong))
    assert machine.killed


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_and_so_do_as_many_daemons_as_the_time_allows(tmp_path: Path, tell: Tell) -> None:
    wanted = figures.length()
    end = time.monotonic() + wanted.seconds
    cycles = 0
    with closing(Machine(tmp_path, wanted.seed)) as machine:
        while time.monotonic() < end and not machine.wrong:
            machine.cycle()
            cycles += 1
    figure = f"{cycles} daemons killed, {machine.killed} of them in the request, at {len(machine.places)} places, "
    tell(wanted.told("V2", figure + f"{len(machine.wrong)} violations"))
    assert not machine.wrong, "\n".join(machine.wrong)
