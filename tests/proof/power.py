"""V4, the machine: the power is cut under four writers at a random moment, and what the disk has is held against what
they were told."""

import hashlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from picoclawd.files.policy import PathRules, Policy
from picoclawd.files.rooted import Rooted
from picoclawd.history.query import Filter
from picoclawd.history.store import History
from picoclawd.workspace import settling
from tests.proof.cases import content_of
from tests.proof.disk import Disk

_WORDS_S = 60.0  # by then the writers have said something, or are dead
_LAST = 40  # of what was acknowledged, so much is asked for again: the rest was asked for in earlier rounds


@dataclass
class Told:
    """What the writers have said: of each name what it was acknowledged to hold ("-": no file) and what is under way
    since, of each op its name and what it makes of it."""

    held: dict[str, str] = field(default_factory=dict)
    tried: dict[str, tuple[str, str]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        """Take in one line."""
        kind, op, *rest = line.split()
        if kind == "?":
            self.tried[op] = (rest[0], rest[1])
        else:
            name, sha = self.tried[op]
            self.held[name] = sha
            self.done.append(op)


class Worker:
    """The process that writes."""

    def __init__(self, place: Path, seed: int, what: str) -> None:
        command = [sys.executable, "-m", "tests.proof.power_child", str(place), str(seed), what]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
        assert self._process.stdout is not None
        self._fd = self._process.stdout.fileno()
        os.set_blocking(self._fd, False)
        self._rest = b""
        self.told = Told()

    def listen(self) -> None:
        """Take in all that was said by now."""
        with suppress(BlockingIOError):
            while chunk := os.read(self._fd, 1 << 16):
                *lines, self._rest = (self._rest + chunk).split(b"\n")
                for line in lines:
                    self.told.take(line.decode())
        assert self._process.poll() is None, "the writers have died"

    def until_done(self, count: int) -> None:
        """Wait until so many calls were answered."""
        end = time.monotonic() + _WORDS_S
        while len(self.told.done) < count:
            assert time.monotonic() < end, "the writers do nothing"
            time.sleep(0.002)
            self.listen()

    def kill(self) -> None:
        """End it; what it was about to write goes nowhere."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def working(disk: Disk, seed: int, what: str = "careful") -> Iterator[Worker]:
    """Writers on the disk, until the end of the block."""
    (disk.live / "ws").mkdir(exist_ok=True)
    worker = Worker(disk.live, seed, what)
    try:
        yield worker
    finally:
        worker.kill()


def cut(disk: Disk, worker: Worker, dice: random.Random) -> list[str]:
    """Let them work on a little, cut the power, and say what the disk lacks of what was told."""
    worker.until_done(len(worker.told.done) + dice.randrange(1, 12))
    time.sleep(dice.random() * 0.01)
    worker.listen()
    told = worker.told
    held, done = dict(told.held), list(told.done)
    disk.snapshot()
    worker.listen()
    finished = set(done)
    possible: dict[str, set[str]] = {name: {sha} for name, sha in held.items()}
    for op, (name, sha) in told.tried.items():
        if op not in finished:
            possible.setdefault(name, {"-"}).add(sha)
    with disk.replayed() as place:
        return faults(place, possible, {op: told.tried[op] for op in done[-_LAST:]})


def faults(place: Path, possible: dict[str, set[str]], done: dict[str, tuple[str, str]]) -> list[str]:
    """Start on what the disk has, and look: what each name may hold, and the record of what was acknowledged."""
    real = os.fsencode(os.path.realpath(place / "ws"))
    history = History(str(place / "state"))
    try:
        if history.notice is not None:
            return [history.notice]
        with Rooted(real, Policy(PathRules(workspace=real))) as rooted:
            opened = {each.version: each for each in history.open_intents()}
            settling.settle(rooted, (rooted.workspace,), history)
        wrong = [f"{name} is none of what it may be" for name in possible if _sha(place, name) not in possible[name]]
        wrong += [f"an intent is still open: {each.version}" for each in history.open_intents()]
        history.prune()  # as a start does: it counts what a crash left uncounted in the trash
        wrong += [each for op in done for each in _record_wrong(history, op, *done[op])]
        temps = list((place / "ws").rglob(".picoclawd.*"))
        return wrong + [_left_over(history, opened, path, place / "ws") for path in temps]
    finally:
        history.close()


def _left_over(history: History, opened: Container[int], path: Path, ws: Path) -> str:
    """Which file, and what the history says of its last changes: what is needed to find out why it was left."""
    data, name = path.read_bytes(), str(path.parent.relative_to(ws) / "f")
    states = [
        f"{made.version} {made.action} {made.state}{' (was open)' if made.version in opened else ''} "
        f"{(made.sha256_before or '-')[:8]} -> {(made.sha256_after or '-')[:8]}"
        for made in history.versions(Filter(paths=[name.encode()]), 4)
    ]
    return (
        f"left over beside {name} ({_sha(ws.parent, name)[:8]}): {path.name}, {len(data)} bytes, "
        f"sha {hashlib.sha256(data).hexdigest()[:8]}; {states}"
    )


def _record_wrong(history: History, op: str, name: str, sha: str) -> list[str]:
    outcome = history.outcome(op)
    if outcome != "applied":
        return [f"{op} was acknowledged, and outcome.get says {outcome}"]
    made = next(each for each in history.versions(Filter(paths=[name.encode()]), 1000) if each.op == op)
    content = history.content_after(made.version)  # of a deletion, the file in the trash
    if content is None or (made.action != "delete" and hashlib.sha256(content).hexdigest() != sha):
        return [f"{op} was acknowledged, and its content is not kept"]
    return []


def _sha(place: Path, name: str) -> str:
    data = content_of(place / "ws" / name)
    return "-" if data is None else hashlib.sha256(data).hexdigest()
