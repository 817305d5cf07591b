"""V11: hours of mixed load leave nothing behind. Descriptors, threads, temporary files, locks and open intents are at
every rest what they were at the first one, and memory grows by less than a MiB an hour.

The load is paced, so that the long form shows growth and not exhaustion, and whatever it makes it removes. What the
daemon keeps by number (changes, names, sessions that may be resumed) is filled in the warm-up. Thirty seconds show no
slope: the short form only bounds memory, generously.
"""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon
from tests.proof.figures import FIXED_SEED, SECONDS, Span, long_form, tell
from tests.proof.gauges import HISTORY_CONNECTIONS_MAX, MIB, Gauges, Sample, slope_mib_per_h
from tests.proof.soaking import CONFIG, DEADLINE_S, Load, fill, furnish

CALLS_PER_S = 25.0  # of all agents: about a quarter of a core
HURRIED_CALLS_PER_S = 200.0  # of the short form, which has to play every scene
REST_DEADLINE_S = 30.0
GROWTH_MAX_BYTES = 64 * MIB  # of the short form: caches fill, and Python's memory comes in pieces
SLOPE_MAX_MIB_PER_H = 1.0
SLOPE_COUNTS_FROM_S = 3600  # shorter runs show pieces of memory, and what is filling
POINTS = 60  # of a long form, at even intervals


@dataclass
class Soak:
    """One daemon under load, and what was seen of it whenever all rested. The first sample is the warm one."""

    daemon: Daemon
    load: Load
    gauges: Gauges
    samples: list[Sample] = field(default_factory=list)

    def work_for(self, seconds: float) -> None:
        """Let it work, then rest, and look; what is not as at the first rest is wrong."""
        self.load.work.over.wait(seconds)
        with self.load.work.at_rest():
            before = self.samples[0].rest if self.samples else None
            sample = self.gauges.settled(REST_DEADLINE_S, before)
            self.check_names()
        self.samples.append(sample)
        assert sample.quiet, sample
        assert not sample.rest.temporaries, sample.rest.temporaries
        if before is not None:
            assert sample.rest == before, "\n".join(sample.rest.differences(before))
        assert all(count <= HISTORY_CONNECTIONS_MAX for count in sample.history.values()), sample.history

    def check_names(self) -> None:
        """The index knows what another program has made, and nothing more."""
        outside = self.daemon.root / "outside"
        query = {"dir": "outside", "pattern": "**/*o*.*"}
        found = self.gauges.operator.call("find_files", queries=[query], mode="glob")["data"]["results"]
        names = {str(path.relative_to(self.daemon.root)) for path in outside.rglob("*") if path.is_file()}
        assert {row["path"] for row in found} == names

    def growth_bytes(self) -> int:
        """How much more memory of its own the daemon holds than when it was warm."""
        return self.samples[-1].memory["daemon"] - self.samples[0].memory["daemon"]

    def slopes(self) -> dict[str, float]:
        """MiB an hour, of the daemon and of its children that were there each time."""
        names = set.intersection(*(set(sample.memory) for sample in self.samples))
        return {
            name: slope_mib_per_h([(sample.at_s, sample.memory[name]) for sample in self.samples])
            for name in sorted(names)
        }

    def figure(self) -> str:
        """All that was seen, in words."""
        first, last = self.samples[0], self.samples[-1]
        seconds = last.at_s - first.at_s
        share = (last.cpu_s - first.cpu_s) / seconds
        done = self.load.work.done
        memory = ", ".join(
            f"{name} {first.memory[name] / MIB:.1f} to {last.memory[name] / MIB:.1f} MiB, {slope:+.2f} MiB/h"
            for name, slope in self.slopes().items()
        )
        held = last.rest
        return (
            f"{done['calls']} calls and {done['refusals']} refusals as expected, {done['outside changes']} changes "
            f"from outside, {share:.2f} of a core; memory over {len(self.samples)} rests in {seconds:.0f} s "
            f"after the warm-up: {memory}; at each rest {sum(held.descriptors.values())} descriptors, {held.threads} "
            f"threads, {held.children}, no temporary file, lock or open intent; history's descriptors {last.history}"
        )


def environment(tmp_path: Path) -> dict[str, str]:
    """A desktop whose opener does nothing."""
    return {"PATH": f"{tmp_path}/bin:/usr/local/bin:/usr/bin:/bin", "DISPLAY": ":7"}


def soak(tmp_path: Path, seconds: float, warm_up_s: float, points: int, calls_per_s: float) -> Soak:
    """Warm up, then work for so long, with so many rests; what was seen."""
    with Daemon(tmp_path, CONFIG, environment(tmp_path)) as daemon:
        furnish(daemon)
        operator = daemon.operator(DEADLINE_S)
        assert daemon.process is not None
        gauges = Gauges(daemon.process.pid, (daemon.root, tmp_path / "state"), operator)
        if warm_up_s:
            fill(daemon)
        with Load(daemon, calls_per_s, FIXED_SEED) as load:
            soaked = Soak(daemon, load, gauges)
            span = Span(warm_up_s)
            load.work.wait_for_scenes(1, 2 * DEADLINE_S)
            soaked.work_for(max(0.0, warm_up_s - span.passed_s))
            for _ in range(points):
                soaked.work_for(seconds / points)
        assert not load.work.wrong, load.work.wrong[0]
        assert gauges.threads_gone(REST_DEADLINE_S) == 0, "threads without work do not end"
        assert "Traceback" not in daemon.log() and "internal error" not in daemon.log(), daemon.log()[-2000:]
        return soaked


def test_the_slope_is_the_one_that_single_points_do_not_move() -> None:
    rising = [(60.0 * minute, minute * MIB // 60) for minute in range(60)]
    assert slope_mib_per_h(rising) == pytest.approx(1.0, abs=1e-3)
    rising[30] = (rising[30][0], 100 * MIB)
    assert slope_mib_per_h(rising) == pytest.approx(1.0, abs=1e-2)
    assert slope_mib_per_h([(at_s, 5 * MIB) for at_s, _ in rising]) == 0


def test_half_a_minute_of_all_tools_leaves_nothing_behind(tmp_path: Path) -> None:
    soaked = soak(tmp_path, 10, 0, 2, HURRIED_CALLS_PER_S)
    print(soaked.figure())
    assert soaked.growth_bytes() < GROWTH_MAX_BYTES, soaked.figure()


@pytest.mark.slow
@long_form
def test_hours_of_all_tools_leave_nothing_behind(tmp_path: Path) -> None:
    soaked = soak(tmp_path, SECONDS, max(30, SECONDS / 4), POINTS, CALLS_PER_S)
    figure = soaked.figure()
    tell("V11", figure)
    if SECONDS >= SLOPE_COUNTS_FROM_S:
        assert all(slope < SLOPE_MAX_MIB_PER_H for slope in soaked.slopes().values()), figure
