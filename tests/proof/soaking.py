"""V11, the load: agents, a person and another program at work at a given pace, who can be asked to rest.

What the agents do is in `soak_calls.py`, scene by scene; each scene removes what it has made.
"""

import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.documents import made
from tests.e2e.daemon import Client, Daemon, RpcError
from tests.proof.soak_calls import DENIED, SCENES, UNANSWERED, Agent

AGENTS = 4
OUTSIDE_PER_S = 5.0
DEADLINE_S = 60.0  # of one call, and of what everybody does until they rest

DIRECTORIES = 150
FILES_PER_DIRECTORY = 20
MARKED_OF = 50  # one file in so many holds the word that searches look for
IGNORED = 100
FILLED = 22_000  # more than the announcer remembers, and than changes are kept for changes.since
_FILL_AT_ONCE = 1000

CONFIG = {"daemon.approvals": {"mode": "ask", "timeout_s": DEADLINE_S / 2}, "tools.confirm_write_globs": ["*.asked"]}


def furnish(daemon: Daemon) -> None:
    """Some thousand files that stay, in nested directories, and a desktop that takes what is opened."""
    daemon.write(".gitignore", "ignored/\n*.log\n!kept.log\n")
    for number in range(DIRECTORIES * FILES_PER_DIRECTORY):
        place = number % DIRECTORIES
        word = "landmark" if number % MARKED_OF == 0 else "ordinary"
        lines = "".join(f"{word} line {line} of file {number}\n" for line in range(5 + number % 40))
        daemon.write(f"tree/t{place % 10}/u{place // 10}/f{number}.txt", lines)
    for number in range(IGNORED):
        daemon.write(f"ignored/i{number}.txt", "landmark that nobody sees\n")
        daemon.write(f"tree/t{number % 10}/x{number}.log", "landmark in a log\n")
    daemon.write("standing/letter.docx", made.docx())
    daemon.write("standing/table.csv", "name,count\n" + "".join(f"row{number},{number}\n" for number in range(40)))
    daemon.write("standing/dot.png", made.png(8, 8))
    daemon.write("standing/wide.txt", "".join(f"wide {number} {'word ' * 30}\n" for number in range(400)))
    opener = daemon.directory / "bin/xdg-open"
    opener.parent.mkdir(exist_ok=True)
    opener.write_text("#!/bin/sh\nexit 0\n")
    opener.chmod(0o755)


@dataclass
class Work:
    """What everybody shares: whether it is over, what came out wrong, and how often each thing was done."""

    over: threading.Event = field(default_factory=threading.Event)
    wrong: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    resting: int = 0
    working: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _pause: bool = False

    def may_go_on(self) -> bool:
        """Rest while that is asked for; False when it is over. Between two scenes."""
        with self._changed:
            self.resting += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._pause or self.over.is_set())
            self.resting -= 1
        return not self.over.is_set()

    def fail(self) -> None:
        """Note the exception that is being handled; everybody stops."""
        with self._changed:
            self.wrong.append(traceback.format_exc())
            self.over.set()
            self._changed.notify_all()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Have all that work rest for the body."""
        with self._changed:
            self._pause = True
            rests = self._changed.wait_for(lambda: self.resting >= self.working or self.over.is_set(), DEADLINE_S)
        assert not self.wrong, self.wrong[0]
        assert rests, f"{self.working - self.resting} of {self.working} do not come to rest"
        try:
            yield
        finally:
            with self._changed:
                self._pause = False
                self._changed.notify_all()

    def wait_for_scenes(self, rounds: int, deadline_s: float) -> None:
        """Wait until every scene was played so often by each, on average."""
        end = time.monotonic() + deadline_s
        while not self.over.is_set() and any(self.done[scene.__name__] < rounds * AGENTS for scene in SCENES):
            assert time.monotonic() < end, f"the scenes take too long: {self.done}"
            self.over.wait(0.1)

    def stop(self) -> None:
        """Have everybody stop, also who rests."""
        with self._changed:
            self.over.set()
            self._changed.notify_all()


class Pace:
    """At most so many steps a second; what was missed is not made up for."""

    def __init__(self, per_s: float, over: threading.Event) -> None:
        self._interval_s = 1 / per_s
        self._over = over
        self._next = time.monotonic()

    def step(self) -> None:
        """Wait until it is time for the next one."""
        now = time.monotonic()
        self._next = max(self._next + self._interval_s, now)
        self._over.wait(self._next - now)


class Load:
    """`with Load(...) as load:` everybody works until the end of the block, agents at `calls_per_s` together."""

    def __init__(self, daemon: Daemon, calls_per_s: float, seed: int) -> None:
        self.work = Work()
        self._daemon = daemon
        self._calls_per_s = calls_per_s
        self._seed = seed
        self._threads = [
            *(threading.Thread(target=self._run, args=(self._agent, number)) for number in range(AGENTS)),
            threading.Thread(target=self._run, args=(self._outsider, 0)),
        ]
        self._person = threading.Thread(target=self._run, args=(self._answer, 0))
        self._all_left = threading.Event()

    def __enter__(self) -> "Load":
        self.work.working = len(self._threads)
        for thread in (self._person, *self._threads):
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.work.stop()
        for thread in self._threads:
            thread.join(DEADLINE_S)
        self._all_left.set()  # not before: they may wait for an answer
        self._person.join(DEADLINE_S)
        assert not any(thread.is_alive() for thread in (*self._threads, self._person)), "somebody does not stop"

    def _run(self, what: Callable[[int], None], number: int) -> None:
        try:
            what(number)
        except BaseException:  # noqa: BLE001 - of a thread: told by whoever waits for it
            self.work.fail()

    def _agent(self, number: int) -> None:
        """Play all scenes in an order of the dice, and again."""
        pace = Pace(self._calls_per_s / AGENTS, self.work.over)
        agent = Agent(self._daemon, f"a{number}", pace.step, self.work.done)
        dice = random.Random(f"{self._seed}-{number}")
        scenes = list(SCENES)
        try:
            while True:
                dice.shuffle(scenes)
                for scene in scenes:
                    if not self.work.may_go_on():
                        return
                    scene(agent)
                    self.work.done[scene.__name__] += 1
        finally:
            agent.close()

    def _answer(self, _: int) -> None:
        """The person: told of each request, denies what is named so, says nothing to some, and allows the rest."""
        operator = self._daemon.operator(DEADLINE_S)
        operator.call("events.subscribe", kinds=["approval.requested"])
        for asked in operator.call("approvals.list")["pending"]:
            self._decide(operator, asked)
        operator.sock.settimeout(0.2)
        while not self._all_left.is_set():
            try:
                note = operator.line()
            except TimeoutError:
                continue
            operator.sock.settimeout(DEADLINE_S)
            self._decide(operator, note["params"])
            for note in operator.notes:
                self._decide(operator, note["params"])
            operator.notes.clear()
            operator.sock.settimeout(0.2)

    def _decide(self, operator: Client, asked: dict[str, Any]) -> None:
        if UNANSWERED in asked["path"]:
            return
        answer = "deny" if DENIED in asked["path"] else "task" if "task" in asked["answers"] else "once"
        try:
            operator.call("approvals.answer", id=asked["id"], digest=asked["digest"], answer=answer)
        except RpcError as error:
            assert error.slug == "unknown_approval", error  # who asked has gone
        self.work.done[f"answered {answer}"] += 1

    def _outsider(self, _: int) -> None:
        """Another program, which makes, changes, moves and removes files, in a directory of its own."""
        pace = Pace(OUTSIDE_PER_S, self.work.over)
        program = Outsider(self._daemon.root / "outside")
        while self.work.may_go_on():
            program.act()
            self.work.done["outside changes"] += 1
            pace.step()


class Outsider:
    """At most twenty files are there at a time, and each of them comes, changes in each way, and goes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._count = 0
        root.mkdir(exist_ok=True)

    def act(self) -> None:
        """Do the next thing."""
        self._count += 1
        turn, step = divmod(self._count, 5)
        path = self._root / f"d{turn % 20}" / f"o{turn}.txt"
        match step:
            case 0:
                path.parent.mkdir(exist_ok=True)
                path.write_text(f"outside {turn}\n")
            case 1 if path.exists():
                with path.open("a") as file:
                    file.write("appended in place\n")
            case 2 if path.exists():
                saved = path.with_suffix(".new")
                saved.write_text(f"outside {turn}, saved\n")
                saved.rename(path)
            case 3 if path.exists():
                path.rename(path.with_suffix(".moved"))
            case _:
                path.with_suffix(".moved").unlink(missing_ok=True)
                if path.parent.exists() and turn % 3 == 0:
                    path.parent.rmdir()


def fill(daemon: Daemon) -> None:
    """Let files come and go until what is bounded by a number is full: it would be growth, and is none."""
    place = daemon.root / "filling"
    place.mkdir()
    with daemon.client(DEADLINE_S) as client:
        for first in range(0, FILLED, _FILL_AT_ONCE):
            paths = [place / f"filling{number}.txt" for number in range(first, first + _FILL_AT_ONCE)]
            for path in paths:
                path.write_text("x\n")
            _seen(client, len(paths))
            for path in paths:
                path.unlink()
            _seen(client, 0)
    place.rmdir()


def _seen(client: Client, count: int) -> None:
    """Wait until the daemon has heard of it: what came and went between two looks would be nothing."""
    end = time.monotonic() + DEADLINE_S
    query = {"dir": "filling", "pattern": "*.txt"}
    while client.call("find_files", queries=[query], mode="glob", limit=1)["data"]["total"] != count:
        assert time.monotonic() < end, "files that came or went are not seen"
        time.sleep(0.05)
