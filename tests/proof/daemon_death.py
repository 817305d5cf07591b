"""V2, the machine: a daemon is killed at a system call of one request, and the next is asked what became of it."""

import random
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import needs
from tests.e2e.daemon import Client, Daemon
from tests.proof.cases import ADDED, LARGE, NEW, OLD, content_of

_TRACER_S = 0.2  # detaching takes milliseconds
# What a thread does while it waits for others, or for memory: killed there it is killed nowhere in particular.
_IDLE = frozenset({"epoll_wait", "futex", "restart_syscall", "mmap", "munmap", "madvise", "brk", "mprotect"})


@dataclass(frozen=True)
class Ask:
    """One request on a file of its own, and what it makes of it."""

    name: str
    method: str
    params: dict[str, Any]
    before: bytes | None
    after: bytes | None


ASKS = (
    Ask("create", "write_file", {"content": OLD.decode()}, None, OLD),
    Ask("overwrite", "write_file", {"content": NEW.decode(), "overwrite": True}, OLD, NEW),
    Ask("overwrite_large", "write_file", {"content": LARGE.decode(), "overwrite": True}, OLD, LARGE),
    Ask("append", "append_file", {"content": ADDED.decode()}, OLD, OLD + ADDED),
    Ask("edit", "edit_file", {"old_text": "line 7 ", "new_text": "LINE 7 "}, OLD, NEW),
    Ask("remove", "remove_file", {}, OLD, None),
)


class Machine:
    """Kills one daemon after the other, all on one workspace. `wrong` is what must not have been."""

    def __init__(self, directory: Path, seed: int) -> None:
        needs("strace")
        self._directory = directory
        self._dice = random.Random(seed)
        self._daemon = Daemon(directory).start()
        self._count = 0
        self.killed = self.answered = 0
        self.places: set[str] = set()
        self.wrong: list[str] = []
        self._rules = {ask.name: self._measured(ask) for ask in ASKS}

    def close(self) -> None:
        """End the daemon that is left."""
        self._daemon.stop()

    def cycle(self) -> None:
        """Ask, kill, start anew, look."""
        ask = self._dice.choice(ASKS)
        rule = self._dice.choice(self._rules[ask.name])
        path, op = self._fresh(ask)
        with self._connected() as client:
            with self._traced(["-o", "/dev/null", "-e", f"inject={rule}"]):
                answered = _ask(client, ask, path, op)
            killed_there = not answered or self._daemon.process is None or self._daemon.process.poll() is not None
        self.killed += killed_there
        self.answered += answered
        self.places.add(rule if killed_there else f"{ask.name}: after the answer")
        self._daemon.stop(signal.SIGKILL)  # also the one that got away
        self._daemon = Daemon(self._directory).start()
        self.wrong += [f"{ask.name}, killed at {rule}: {each}" for each in self._faults(ask, path, op, answered)]

    def _faults(self, ask: Ask, path: str, op: str, answered: bool) -> list[str]:
        now = content_of(self._daemon.root / path)
        wrong = []
        if now not in (ask.before, ask.after):
            wrong.append("the file is neither old nor new")
        if answered and now != ask.after:
            wrong.append("it was acknowledged, and the file is not new")
        with self._connected() as client:
            told = client.call("outcome.get", op=op)["outcome"]
            if told != ("applied" if now == ask.after else "not_applied"):
                wrong.append(f"the file is {'new' if now == ask.after else 'old'}, and outcome.get says {told}")
            client.call("write_file", path=path, content="next\n", overwrite=True)
        left = [
            each.name for each in (self._daemon.root / path).parent.iterdir() if each.name.startswith(".picoclawd.")
        ]
        return wrong + [f"left over: {name}" for name in left]

    def _measured(self, ask: Ask) -> list[str]:
        """The rules that kill at each system call of an undisturbed request: strace counts them by thread."""
        path, op = self._fresh(ask)
        log = self._directory / "calls"
        with self._connected() as client, self._traced(["-o", str(log)]):
            assert _ask(client, ask, path, op)
        assert content_of(self._daemon.root / path) == ask.after
        seen: dict[tuple[str, str], int] = {}
        rules = []
        for thread, call in re.findall(r"^(\d+) +(\w+)\(", log.read_text(), re.MULTILINE):
            seen[thread, call] = seen.get((thread, call), 0) + 1
            if call not in _IDLE:
                rules.append(f"{call}:signal=KILL:when={seen[thread, call]}")
        return rules

    def _fresh(self, ask: Ask) -> tuple[str, str]:
        self._count += 1
        path = f"d{self._count}/f"
        if self._count > 1:
            shutil.rmtree(self._daemon.root / f"d{self._count - 1}", ignore_errors=True)
        if ask.before is not None:
            self._daemon.write(path, ask.before)
        return path, f"op-{self._count}"

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        with Client(self._daemon.operator_socket) as client:
            client.call("session.info")
            yield client

    @contextmanager
    def _traced(self, options: list[str]) -> Iterator[None]:
        """Have the daemon traced, all its threads, for the body."""
        assert self._daemon.process is not None
        command = ["strace", "-f", *options, "-p", str(self._daemon.process.pid)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr is not None
            first = tracer.stderr.readline()
            assert "attached" in first, first
            try:
                yield
            finally:
                tracer.send_signal(signal.SIGINT)
                try:
                    tracer.communicate(timeout=_TRACER_S)
                except subprocess.TimeoutExpired:  # strace waits on for what it has killed
                    tracer.kill()


def _ask(client: Client, ask: Ask, path: str, op: str) -> bool:
    """Send the request; True when it was answered, False when the daemon died over it."""
    try:
        client.call(ask.method, path=path, _meta={"op": op}, **ask.params)
    except (EOFError, ConnectionError):
        return False
    return True
