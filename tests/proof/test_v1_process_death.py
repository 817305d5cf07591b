"""V1: P1 and P2 at process death. A tool call is killed at any system call of any of its threads, or half-way through a
write, for every kind of change; so are starts that settle what it left. Nothing is torn, lost, or told wrongly.

The short form makes 400 cycles of the 5,000 that were asked for: a cycle is two processes and costs 30 to 60 ms.
"""

import pytest

from tests.proof import figures
from tests.proof.cases import CASES
from tests.proof.conftest import Places, Ran, Tell, run_machines

MODULE = "tests.proof.process_death"


def check(ran: Ran) -> None:
    assert not ran.wrong, "\n".join(ran.wrong)
    counts = ran.counts
    # The machine itself: it kills, it cuts writes short, some calls were answered first, and starts died, too.
    assert counts["killed"] > counts["cycles"] / 3
    assert counts["half in write"] + counts["half and kill in write"]
    assert counts["half in pwrite64"] + counts["half and kill in pwrite64"]
    assert counts["acknowledged"] and counts["starts killed"]


@pytest.mark.usefixtures("traceable")
def test_a_call_killed_anywhere_leaves_old_or_new_and_the_next_start_knows_which(places: Places) -> None:
    ran = run_machines(MODULE, places, [1, 2], "--cycles", "200")
    check(ran)
    assert ran.counts["cycles"] == 400


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("traceable")
def test_and_so_it_does_in_as_many_cycles_as_the_time_allows(places: Places, tell: Tell) -> None:
    wanted = figures.length()
    ran = run_machines(MODULE, places, [wanted.seed, wanted.seed + 1], seconds=wanted.seconds)
    counts = ran.counts
    figure = f"{counts['cycles']} cycles over {len(CASES)} kinds of change, {counts['killed']} killed in the call, "
    figure += f"{counts['starts killed']} starts killed after it, {len(ran.wrong)} violations"
    tell(wanted.told("V1", figure))
    check(ran)
