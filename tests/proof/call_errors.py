"""V3, the machine: a system call of a tool call answers an error, or takes half of a write; all is told truly.

Run as a program it prints what it did as JSON: `counts`, by system call and errno, and `wrong`.
"""

import argparse
import errno
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import trio

from picoclawd.errors import Fault
from picoclawd.files.threads import Lane
from tests.house import House
from tests.proof import tracing
from tests.proof.answers import Answered, faults_of
from tests.proof.cases import CASES, OP, Case, Spot, named
from tests.proof.tracing import NAMES, Deed, Plan

_OPENS = (errno.EIO, errno.EMFILE, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EINTR)
_LOOKS = (errno.EIO, errno.EACCES)
_READS = (errno.EIO, errno.EINTR)
_WRITES = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR)
_NAMES = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EACCES)
# What each call that touches files may answer. mmap is left out: most of it is Python's own memory.
ERRORS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("open", "openat", "openat2"), _OPENS),
    **dict.fromkeys(("read", "pread64", "preadv2", "getdents64"), _READS),
    **dict.fromkeys(("write", "pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate"), _WRITES),
    **dict.fromkeys(("stat", "fstat", "lstat", "newfstatat", "statx", "fstatfs", "readlink", "readlinkat"), _LOOKS),
    **dict.fromkeys(("access", "faccessat", "flistxattr", "fgetxattr"), _LOOKS),
    **dict.fromkeys(("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat"), _NAMES),
    **dict.fromkeys(("mkdir", "mkdirat", "fchmod", "fchown", "fsetxattr", "fremovexattr", "utimensat"), _NAMES),
    "fcntl": (errno.EIO, errno.EACCES, errno.EINTR),
    "flock": (errno.EIO, errno.EINTR),
    "close": (errno.EIO, errno.EINTR),
}
_COUNTED = frozenset(number for number, name in NAMES.items() if name in ERRORS)
_CLOSED_S = 5.0  # the old version of a file is closed after the answer
_WRONG_MAX = 40


class Machine:
    """Fails calls in cases; `counts` says how often which, `wrong` what must not have come of it."""

    def __init__(self, root: Path, apart: Path, cases: list[Case]) -> None:
        self._spots = [Spot(root / case.name, case, apart / case.name) for case in cases]
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def plans(self) -> Iterator[tuple[Spot, Plan]]:
        """Every place of every case with every error that it may answer, and writes that take half."""
        for spot in self._spots:
            spot.fresh()
            trace, answered = self._play(spot, Plan(counted=_COUNTED, between_marks=True))
            if answered is None or answered.slug is not None:
                self.wrong.append(f"{spot.case.name} fails undisturbed: {answered}")
            for place, name in enumerate(trace.calls, 1):
                for code in ERRORS[name]:
                    yield spot, Plan(Deed.FAIL, place, code, _COUNTED, between_marks=True)
                if name in ("write", "pwrite64"):
                    yield spot, Plan(Deed.HALF, place, counted=_COUNTED, between_marks=True)

    def run(self, spot: Spot, plan: Plan) -> None:
        """Carry out one plan, and look at what came of it."""
        spot.fresh()
        trace, answered = self._play(spot, plan)
        self.counts["runs"] += 1
        if trace.hit is None:
            return
        error = errno.errorcode[plan.errno] if plan.errno else "half"
        self.counts[f"{trace.hit} {error}"] += 1
        if answered is None:
            wrong = [f"the process ended with status {trace.status} and no answer"]
        else:
            wrong = faults_of(spot, answered, trace.hit, plan.errno)
            said = answered.slug or "a result"
            self.counts[f"answered {said} ({answered.outcome})"] += 1
            self.counts[f"{trace.hit} {error}: {said} ({answered.outcome})"] += 1
        self.wrong += [f"{spot.case.name}, {error} from {trace.hit} at {plan.at}: {each}" for each in wrong]

    def _play(self, spot: Spot, plan: Plan) -> tuple[tracing.Trace, Answered | None]:
        told = spot.ws.parent / "told"
        told.unlink(missing_ok=True)
        trace = tracing.run_prepared(_playing(spot, told), plan)
        return trace, Answered.read(told) if told.exists() else None


def _playing(spot: Spot, told: Path) -> Callable[[], Callable[[], None]]:
    def prepare() -> Callable[[], None]:
        house = spot.house()
        # What is opened once and kept open is open before the call.
        trio.run(_call, house, "write_file", {"path": "warm", "content": "x\n"})
        house.history.outcome(OP)
        before = _descriptors()

        def body() -> None:
            answer = trio.run(_marked_call, house, spot.case)
            answer["told"] = _outcome(house)
            answer["found"] = {name: _latin(data) for name, data in spot.found().items()}
            answer["next"] = trio.run(_goes_on, house, spot.case)
            answer["leaked"] = sorted(_beyond(before))
            told.write_text(json.dumps(answer))
            house.close()

        return body

    return prepare


async def _marked_call(house: House, case: Case) -> dict[str, Any]:
    tracing.mark()
    answer = await _call(house, case.tool, case.params, OP)
    _outcome(house)  # also what nobody waits for is written by then
    tracing.mark()
    return answer


async def _call(house: House, tool: str, params: dict[str, Any], op: str | None = None) -> dict[str, Any]:
    try:
        result = await house.call(tool, session=house.operator, op=op, **params)
    except Fault as fault:
        outcome = fault.outcome or "not_applied"
        return {"slug": fault.slug.value, "outcome": outcome, "message": fault.message, "data": repr(fault.data)}
    except Exception:  # noqa: BLE001 - what the daemon's guard would call a bug
        return {"slug": "internal_error", "outcome": "unknown", "message": traceback.format_exc()[-900:], "data": ""}
    return {"slug": None, "outcome": "applied", "message": "", "data": json.dumps(result["data"])}


def _outcome(house: House) -> str:
    try:
        return house.history.outcome(OP)
    except Fault as fault:
        return fault.slug.value


async def _goes_on(house: House, case: Case) -> str:
    """The daemon still answers: on the same path, whose lock is free, and on another one."""
    for name in (next(iter(case.before)), "another"):
        answer = await _call(house, "write_file", {"path": name, "content": "next\n", "overwrite": True})
        if answer["slug"] is not None:
            return f"{answer['slug']}: {answer['message']}"
        data = await house.workspace.threads.run(Lane.READ, (house.root / name).read_bytes)
        if data != b"next\n":
            return f"{name} holds {data[:30]!r}"
    return "ok"


def _descriptors() -> Counter[str]:
    open_ones: Counter[str] = Counter()
    for fd in os.listdir("/proc/self/fd"):
        try:
            open_ones[os.readlink(f"/proc/self/fd/{fd}")] += 1
        except FileNotFoundError:
            continue  # the listing's own
    return open_ones


def _beyond(before: Counter[str]) -> list[str]:
    """What stays open beyond before, but for idle connections to the database, which are kept, and few."""
    deadline = time.monotonic() + _CLOSED_S
    while True:
        more = _descriptors() - before
        left = [path for path, count in more.items() if not ("/history.db" in path and count <= 4)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.001)


def _latin(data: bytes | None) -> str | None:
    return None if data is None else data.decode("latin-1")


def main() -> int:
    """Carry out all plans, or a random part of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--runs", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--share", default="1/1", help="k/n: the k-th of n equal parts of the plans")
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--apart", type=Path, required=True)
    parser.add_argument("--cases")
    given = parser.parse_args()
    part, parts = map(int, given.share.split("/"))
    with (
        tempfile.TemporaryDirectory(dir=given.root) as root,
        tempfile.TemporaryDirectory(dir=given.apart) as apart,
    ):
        machine = Machine(Path(root), Path(apart), [case for case in CASES if named(given.cases)(case)])
        plans = list(machine.plans())
        random.Random(given.seed).shuffle(plans)
        plans = plans[part - 1 :: parts]
        machine.counts["plans"] = len(plans)
        end = time.monotonic() + given.seconds
        for spot, plan in plans[: given.runs]:
            if time.monotonic() > end or len(machine.wrong) >= _WRONG_MAX:
                break
            machine.run(spot, plan)
    print(json.dumps({"counts": machine.counts, "wrong": machine.wrong}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
