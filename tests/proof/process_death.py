"""V1, the machine: a tool call is killed at a system call of any of its threads, and so is the start that follows.

Run as a program it prints what it did as JSON: `counts`, and `wrong`, which is empty where all held.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import trio

from tests.proof import aftermath, tracing
from tests.proof.cases import CASES, Case, Spot, named
from tests.proof.tracing import Deed, Plan

_DEEDS = (Deed.KILL, Deed.KILL, Deed.KILL, Deed.HALF_KILL, Deed.HALF)
_CUT = ("write", "pwrite64")  # what can be half done: the first is ours, the second SQLite's
_START_KILLED = 0.25  # the share of starts that are killed, too, before one may go through
_WRONG_MAX = 20


class Machine:
    """Plays cases and kills; `counts` says how often what happened, `wrong` what must not have."""

    def __init__(self, seed: int, root: Path, apart: Path, cases: list[Case]) -> None:
        self._dice = random.Random(seed)
        self._spots = [Spot(root / case.name, case, apart / case.name) for case in cases]
        self._calls: dict[str, list[str]] = {}
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def cycle(self) -> None:
        """One call, killed somewhere or cut short, and everything that must hold then."""
        spot = self._dice.choice(self._spots)
        spot.fresh()
        plan = self._plan(self._calls.get(spot.case.name) or self._measure(spot))
        acknowledged = spot.ws.parent / "acknowledged"
        acknowledged.unlink(missing_ok=True)
        trace = tracing.run_prepared(_playing(spot, acknowledged.touch), plan)
        self.counts["cycles"] += 1
        self.counts["killed"] += trace.killed
        self.counts[f"{plan.deed.value} in {trace.hit}"] += trace.hit is not None
        found = spot.found()
        wrong = aftermath.torn(spot.case, found)
        if not trace.killed and trace.status:
            wrong.append(f"the call failed with status {trace.status}")
        self._kill_starts(spot)
        wrong += aftermath.faults(spot, found, acknowledged=acknowledged.exists())
        self.counts["acknowledged"] += acknowledged.exists()
        self.wrong += [f"{spot.case.name}, {plan.deed.value} at {plan.at} ({trace.hit}): {each}" for each in wrong]

    def _plan(self, calls: list[str]) -> Plan:
        deed = self._dice.choice(_DEEDS)
        if deed is Deed.KILL:
            return Plan(deed, self._dice.randint(1, len(calls)))
        # SQLite writes far more often than we: each gets its share. Threads may come in another order than when it was
        # measured; then nothing is cut short, and that is no fault.
        cut = self._dice.choice([name for name in _CUT if name in calls])
        return Plan(deed, self._dice.choice([at for at, name in enumerate(calls, 1) if name == cut]))

    def _measure(self, spot: Spot) -> list[str]:
        trace = tracing.run_prepared(_playing(spot, (spot.ws.parent / "acknowledged").touch), Plan())
        if trace.status or spot.found() != spot.case.after:
            self.wrong.append(f"{spot.case.name} fails undisturbed")
        self._calls[spot.case.name] = trace.calls
        spot.fresh()
        return trace.calls

    def _kill_starts(self, spot: Spot) -> None:
        while self._dice.random() < _START_KILLED:
            trace = tracing.run(lambda: aftermath.settle(spot), Plan(Deed.KILL, self._dice.randint(1, 160)))
            self.counts["starts killed"] += trace.killed


def _playing(spot: Spot, acknowledged: Callable[[], None]) -> Callable[[], Callable[[], None]]:
    def prepare() -> Callable[[], None]:
        house = spot.house()

        async def call() -> None:
            await spot.play(house)
            acknowledged()

        def body() -> None:
            trio.run(call)
            house.close()

        return body

    return prepare


def main() -> int:
    """Run as many cycles, or for as long, as the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cycles", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--apart", type=Path, required=True)
    parser.add_argument("--cases")
    given = parser.parse_args()
    chosen = [case for case in CASES if named(given.cases)(case)]
    with (
        tempfile.TemporaryDirectory(dir=given.root) as root,
        tempfile.TemporaryDirectory(dir=given.apart) as apart,
    ):
        machine = Machine(given.seed, Path(root), Path(apart), chosen)
        end = time.monotonic() + given.seconds
        while machine.counts["cycles"] < given.cycles and time.monotonic() < end and len(machine.wrong) < _WRONG_MAX:
            machine.cycle()
    print(json.dumps({"counts": machine.counts, "wrong": machine.wrong}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
