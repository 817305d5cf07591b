"""Two agents and a person's shell on a real project, one agent making mistakes: all is listed, attributed and undone.

`PICOCLAWD_DAY_S` sets how long the long form works; its figures are printed (`-s`).
"""

import json
import os
import random
import shutil
import sysconfig
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Daemon, RpcError

CONFIG = {"daemon.approvals": {"mode": "ask", "timeout_s": 20}}
_PACKAGES = ("json", "email", "logging", "http")
# What the careful agent may run into, because the other one is at work in the same files.
_REFUSALS = "not_fresh no_match ambiguous_match not_found conflict path_busy"
_EXPECTED = frozenset((*_REFUSALS.split(), "confirmation_denied", "confirmation_pending"))


class Agent:
    """A client with a task, and what it did."""

    def __init__(self, daemon: Daemon, name: str, objective: str, seed: int) -> None:
        self.client = daemon.client(timeout_s=60)
        self.session_id = self.client.call("session.open", client=name)["session_id"]
        self.task_id = self.client.call("task.begin", objective=objective)["task_id"]
        self.random = random.Random(seed)
        self.versions: list[int] = []
        self.refused: dict[str, int] = {}
        self.surprises: list[str] = []

    def call(self, tool: str, **params: Any) -> dict[str, Any] | None:
        try:
            data = self.client.call(tool, **params)
        except RpcError as error:
            slug = str(error.slug)
            self.refused[slug] = self.refused.get(slug, 0) + 1
            if slug not in _EXPECTED:
                self.surprises.append(f"{tool} {params.get('path')}: {error}")
            return None
        version = data["data"].get("version")
        if version is not None:
            self.versions.append(version)
        return data


def careful(agent: Agent, names: list[str], end: float) -> None:
    """Read, then change one line; the next time read again where somebody else was faster."""
    count = 0
    while time.monotonic() < end:
        name = agent.random.choice(names)
        read = agent.call("read_files", files=[{"path": name, "limit": 400}])
        rows = [] if read is None else [row.split("\t", 1)[1] for row in read["content"].splitlines() if "\t" in row]
        lines = [row for row in rows if len(row) > 20]
        if lines:
            count += 1
            line = agent.random.choice(lines)
            agent.call(
                "edit_file", path=name, targets=[{"old_string": f"{line}\n", "new_string": f"{line}  # note {count}\n"}]
            )
        time.sleep(0.02)


def careless(agent: Agent, names: list[str], end: float) -> None:
    """Overwrite, truncate, append to the wrong file, remove."""
    while time.monotonic() < end:
        name = agent.random.choice(names)
        match agent.random.randrange(5):
            case 0:
                agent.call("write_file", path=name, content="oops\n", overwrite=True)
            case 1:
                agent.call("append_file", path=name, content="<<<<<<< what is this\n")
            case 2:
                agent.call("edit_file", path=name, old_text="import", new_text="export")
            case 3:
                agent.call("remove_file", path=name)
            case _:
                agent.call("write_file", path=f"junk/{agent.random.randrange(1000)}.tmp", content="x" * 100)
        time.sleep(0.05)


def answering(daemon: Daemon, stop: threading.Event, answered: list[str]) -> None:
    """The person: says yes to every second call that waits."""
    operator = daemon.operator(timeout_s=60)
    while not stop.wait(0.2):
        for request in operator.call("approvals.list")["pending"]:
            answer = "once" if len(answered) % 2 == 0 else "deny"
            command = ("approve", "--yes") if answer == "once" else ("deny", "--yes")
            done = daemon.control(command[0], request["id"], *command[1:])
            if done.returncode == 0:
                answered.append(answer)


def tree_of(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".picoclaw" not in path.parts
    }


def work(tmp_path: Path, seconds: float) -> dict[str, Any]:
    with Daemon(tmp_path, CONFIG) as daemon:
        stdlib = Path(sysconfig.get_paths()["stdlib"])
        for package in _PACKAGES:
            shutil.copytree(stdlib / package, daemon.root / package, ignore=shutil.ignore_patterns("__pycache__"))
        before = tree_of(daemon.root)
        names = [name for name in before if name.endswith(".py")]
        good = Agent(daemon, "careful", "add notes", 1)
        bad = Agent(daemon, "careless", "clean up", 2)
        end = time.monotonic() + seconds
        stop, answered = threading.Event(), list[str]()
        threads = [
            threading.Thread(target=careful, args=(good, names, end)),
            threading.Thread(target=careless, args=(bad, names, end)),
            threading.Thread(target=answering, args=(daemon, stop, answered)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads[:2]:
            thread.join(seconds + 60)
        stop.set()
        threads[2].join(60)
        surprises = good.surprises + bad.surprises
        assert not surprises, surprises[:5]
        assert {good.session_id, bad.session_id} == listed(daemon, good, bad)
        undone = daemon.control("undo", "--last", "60m", "--yes", "--force")
        assert undone.returncode == 0, undone.stdout[-2000:] + undone.stderr
        assert tree_of(daemon.root) == before
        return {
            "seconds": seconds,
            "careful": (len(good.versions), good.refused),
            "careless": (len(bad.versions), bad.refused),
            "answers": {answer: answered.count(answer) for answer in set(answered)},
            "undone": len(undone.stdout.splitlines()),
        }


def listed(daemon: Daemon, *agents: Agent) -> set[str]:
    """Every change that was answered is in the person's list, under its agent and task; whose changes there are."""
    told = daemon.control("history", "--limit", "100000", "--json")
    assert told.returncode == 0, told.stderr
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    by_version = {row["version"]: row for row in rows}
    for agent in agents:
        for version in agent.versions:
            row = by_version[version]
            assert (row["session_id"], row["task_id"]) == (agent.session_id, agent.task_id), row
    return {row["session_id"] for row in rows if row["action"] != "external"}


@pytest.mark.timeout(240)
def test_some_seconds_of_two_agents_and_a_shell(tmp_path: Path) -> None:
    work(tmp_path, 8)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_minutes_of_two_agents_and_a_shell(tmp_path: Path) -> None:
    print(work(tmp_path, float(os.environ.get("PICOCLAWD_DAY_S", "600"))))
