"""Several clients at work on a few files of one daemon that is killed now and then, and a judge of what they saw.

Versions are numbers in the order in which changes took effect: so every answer can be judged by them. A change that was
answered before another was sent has the lower number, and a read shows the newest state that was answered before it was
sent, or a newer one that was sent before it was answered.
"""

import hashlib
import os
import random
import signal
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.daemon import Client, Daemon, RpcError

PATHS = tuple(f"d{number % 2}/f{number}.txt" for number in range(6))
SAVED_OUTSIDE = "saved.txt"
CONFIG = {"daemon.approvals": {"mode": "allow"}}
_PAGE = 1000
# What a change may be refused with when others work on the same files: nothing of it has happened then.
_REFUSALS = frozenset(
    {"no_match", "ambiguous_match", "not_fresh", "not_found", "conflict", "file_exists", "would_empty", "path_busy"}
)


@dataclass(frozen=True)
class Change:
    """A change that was answered, or of which nobody knows. Times are monotonic seconds."""

    path: str
    op: str
    sent: float
    answered: float | None
    version: int | None


@dataclass(frozen=True)
class Read:
    """A read that was answered; no sha: there was no file."""

    path: str
    sha256: str | None
    sent: float
    answered: float


@dataclass
class Seen:
    """What one client did and saw."""

    changes: list[Change] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)


class Worker:
    """One client, which connects again whenever its daemon was killed."""

    def __init__(self, world: "World", number: int, seed: int) -> None:
        self._world = world
        self._name = f"w{number}"
        self._random = random.Random(f"{seed}-{number}")
        self._count = 0
        self._client: Client | None = None
        self.seen = Seen()

    def run(self) -> None:
        """Work until all steps are done."""
        while self._world.takes_a_step():
            try:
                self._step()
            except (OSError, EOFError):
                self._disconnect()
        self._disconnect()

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _connected(self) -> Client:
        while self._client is None:
            try:
                self._client = Client(self._world.daemon.agent_socket, timeout_s=60)
                self._client.call("session.open", client=self._name)
                self._client.call("task.begin", objective=f"the work of {self._name}")
            except (OSError, EOFError):
                self._disconnect()
                time.sleep(0.02)
        return self._client

    def _step(self) -> None:
        path = self._random.choice(PATHS)
        self._count += 1
        token = f"{self._name}-{self._count}"
        kind = self._random.choice(
            ("read", "read", "write", "append", "edit", "targets", "content", "remove", "restore")
        )
        match kind:
            case "read":
                self._read(path)
            case "write":
                self._change(path, token, "write_file", content=f"{token}\n", overwrite=True)
            case "append":
                self._change(path, token, "append_file", content=f"{token}\n")
            case "content":
                self._read(path)
                self._change(path, token, "edit_file", content=f"{token}\n")
            case "edit" | "targets":
                self._edit(path, token, kind)
            case "remove":
                self._change(path, token, "remove_file")
            case "restore":
                made = [each for each in self.seen.changes[-20:] if each.version is not None and each.path == path]
                if made:
                    version = self._random.choice(made).version
                    self._change(path, token, "restore_file", name=False, version=version, force=True)

    def _edit(self, path: str, token: str, kind: str) -> None:
        content = self._read(path)
        lines = (content or "").splitlines()
        if not lines:
            return
        old = self._random.choice(lines) + "\n"
        if kind == "edit":
            self._change(path, token, "edit_file", old_text=old, new_text=f"{token}\n")
        else:
            self._change(path, token, "edit_file", targets=[{"old_string": old, "new_string": f"{token}\n{old}"}])

    def _read(self, path: str) -> str | None:
        client = self._connected()
        sent = time.monotonic()
        try:
            data = client.call("read_file", path=path)
        except RpcError as error:
            if error.slug != "not_found":
                self.seen.surprises.append(f"read_file {path}: {error}")
                return None
            self.seen.reads.append(Read(path, None, sent, time.monotonic()))
            return None
        self.seen.reads.append(Read(path, data["data"]["sha256"], sent, time.monotonic()))
        return str(data["content"]).split("\n\n", 1)[1]

    def _change(self, path: str, op: str, tool: str, *, name: bool = True, **params: Any) -> None:
        client = self._connected()
        sent = time.monotonic()
        where = {"path": path} if name else {}
        try:
            data = client.call(tool, **where, **params, _meta={"op": op})["data"]
        except RpcError as error:
            if error.slug in _REFUSALS:
                self.seen.refused.append(op)
            else:
                self.seen.surprises.append(f"{tool} {op}: {error}")
            return
        except (OSError, EOFError):
            self.seen.changes.append(Change(path, op, sent, None, None))
            raise
        answered = time.monotonic()
        rows = data.get("files", [data])
        for row in rows:
            if row.get("error"):
                if row["error"]["error"] not in _REFUSALS:
                    self.seen.surprises.append(f"{tool} {op}: {row['error']}")
            elif row.get("version") is not None:
                self.seen.changes.append(Change(path, op, sent, answered, row["version"]))


class Editor:
    """Another program that saves one file over and over, by rename, as editors do."""

    def __init__(self, root: Path) -> None:
        self._path = root / SAVED_OUTSIDE
        self.saved: set[str] = set()
        self._stop = threading.Event()

    def run(self) -> None:
        count = 0
        while not self._stop.wait(0.003):
            count += 1
            text = f"outside {count}\nkept\n"
            beside = self._path.with_name(".saving")
            beside.write_text(text)
            self.saved.add(sha_of(text.encode()))
            os.rename(beside, self._path)

    def stop(self) -> None:
        self._stop.set()


class World:
    """`steps` steps of `workers` clients, with `kills` ends of the daemon by SIGKILL in between."""

    def __init__(self, directory: Path, seed: int, *, steps: int, workers: int = 8, kills: int = 3) -> None:
        self.daemon = Daemon(directory, CONFIG)
        self._steps = steps
        self._kill_at = {steps * (each + 1) // (kills + 1) for each in range(kills)}
        self._left = steps
        self._lock = threading.Lock()
        self._killing = threading.Event()
        self.workers = [Worker(self, number, seed) for number in range(workers)]
        self.editor = Editor(self.daemon.root)

    def takes_a_step(self) -> bool:
        """Count a step of some client; False where all are done."""
        with self._lock:
            self._left -= 1
            if self._left in self._kill_at:
                self._killing.set()
            return self._left >= 0

    def run(self) -> None:
        """Let everybody work, then wait for them."""
        with self.daemon:
            threads = [threading.Thread(target=worker.run) for worker in self.workers]
            outside = [threading.Thread(target=self.editor.run), threading.Thread(target=self._edit_saved)]
            for thread in (*threads, *outside):
                thread.start()
            while any(thread.is_alive() for thread in threads):
                if self._killing.wait(0.05):
                    self._killing.clear()
                    self.daemon.stop(signal.SIGKILL)
                    self.daemon.start()
            self.editor.stop()
            for thread in outside:
                thread.join(60)
            judge(self)

    def _edit_saved(self) -> None:
        """An agent that edits the file that the other program saves."""
        client: Client | None = None
        count = 0
        while not self.editor._stop.is_set():
            try:
                client = client or Client(self.daemon.agent_socket, timeout_s=60)
                count += 1
                client.call("edit_file", path=SAVED_OUTSIDE, old_text="kept\n", new_text=f"ours {count}\nkept\n")
            except RpcError:
                time.sleep(0.002)
            except (OSError, EOFError):
                if client is not None:
                    client.close()
                client = None
                time.sleep(0.02)
        if client is not None:
            client.close()


def sha_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def judge(world: World) -> None:
    """Raise AssertionError for anything that was lost, torn, out of order or not true."""
    surprises = [each for worker in world.workers for each in worker.seen.surprises]
    assert not surprises, surprises[:5]
    operator = world.daemon.operator(timeout_s=120)
    versions = {path: history_of(operator, path) for path in (*PATHS, SAVED_OUTSIDE)}
    changes = [each for worker in world.workers for each in worker.seen.changes]
    reads = [each for worker in world.workers for each in worker.seen.reads]
    for path in PATHS:
        rows = versions[path]
        numbers = {row["version"] for row in rows}
        here = [each for each in changes if each.path == path]
        lost = [each for each in here if each.version is not None and each.version not in numbers]
        assert not lost, f"acknowledged, and not in the history: {lost[:3]}"
        in_order(here)
        truthful(path, rows, here, [each for each in reads if each.path == path])
        as_left(world.daemon.root / path, rows)
        joined(rows)
    for each in (each for each in changes if each.answered is None):
        assert operator.call("outcome.get", op=each.op)["outcome"] in ("applied", "not_applied")
    for op in [op for worker in world.workers for op in worker.seen.refused][:200]:
        assert operator.call("outcome.get", op=op)["outcome"] == "not_applied", op
    nothing_of_the_editor_lost(versions[SAVED_OUTSIDE], world.editor.saved, world.daemon.root / SAVED_OUTSIDE)
    leftovers = [name for _, _, names in os.walk(world.daemon.root) for name in names if ".picoclawd." in name]
    assert not leftovers, leftovers


def history_of(operator: Client, path: str) -> list[dict[str, Any]]:
    """All versions of a path, oldest first."""
    rows: list[dict[str, Any]] = []
    before: dict[str, Any] = {}
    while True:
        page = operator.call("file_history", path=path, limit=_PAGE, **before)["data"]
        rows += page["versions"]
        if len(page["versions"]) < _PAGE:
            return rows[::-1]
        before = {"before": page["versions"][-1]["version"]}


def in_order(changes: list[Change]) -> None:
    """What was answered before something else was sent has the lower version."""
    known = sorted((each for each in changes if each.version is not None), key=lambda each: each.version or 0)
    latest_sent = 0.0
    for each in known:
        assert each.answered is not None
        assert each.answered >= latest_sent, f"{each} took effect after one that was sent later than its answer"
        latest_sent = max(latest_sent, each.sent)


def truthful(path: str, rows: list[dict[str, Any]], changes: list[Change], reads: list[Read]) -> None:
    """Each read shows a state that was current at some moment between its question and its answer."""
    states: defaultdict[str | None, list[int]] = defaultdict(list)
    states[None].append(0)  # before the first version there was no file
    for row in rows:
        states[row["sha256_after"]].append(row["version"])
    sent_at = {each.version: each.sent for each in changes}
    answers = sorted((each.answered, each.version) for each in changes if each.version and each.answered)
    seen: list[tuple[float, int]] = []  # (answered, version) of reads that were judged
    for read in sorted(reads, key=lambda read: read.sent):
        floor = max((version for answered, version in answers if answered < read.sent), default=0)
        floor = max([floor, *(version for answered, version in seen[-200:] if answered < read.sent)])
        fitting = [
            version for version in states[read.sha256] if version >= floor and sent_at.get(version, 0) <= read.answered
        ]
        assert fitting, f"{path}: {read} shows no state since version {floor}"
        seen.append((read.answered, fitting[0]))


def as_left(path: Path, rows: list[dict[str, Any]]) -> None:
    """The disk is as the newest version left it."""
    now = sha_of(path.read_bytes()) if path.exists() else None
    assert now == (rows[-1]["sha256_after"] if rows else None), path


def joined(rows: list[dict[str, Any]]) -> None:
    """Each change began where the one before it had ended: none was made on a stale base."""
    state: str | None = None
    for row in rows:
        assert row["sha256_before"] == state, row
        state = row["sha256_after"]


def nothing_of_the_editor_lost(rows: list[dict[str, Any]], saved: set[str], path: Path) -> None:
    """What our changes replaced is a version of ours or a save of theirs, and is kept."""
    ours: set[str] = set()
    replaced = [row for row in rows if row["action"] == "modify"]
    assert replaced, "the agent was never in time"
    for row in rows:
        if row["action"] == "external":
            assert row["sha256_after"] in saved | ours, row
        else:
            assert row["sha256_before"] in saved | ours, row
            ours.add(row["sha256_after"])
    assert sha_of(path.read_bytes()) in saved | ours
