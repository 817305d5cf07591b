"""Clients that use files as registers, and note each call with its times and its answer.

They lose their connections in the middle of changes, and their daemon is killed. Of a change whose answer was lost
they ask what became of it, and believe what they are told.
"""

import random
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, assert_never

from tests.e2e.daemon import Client, RpcError
from tests.proof._linear import Kind, Operation

PATHS = tuple(f"d{number % 3}/r{number}.txt" for number in range(8))
# A session that read a file is refused an unconditional write over what it has not seen: here that is not asked about.
CONFIG = {
    "daemon.approvals": {"mode": "allow"},
    "tools.write_file.refuse_known_stale": False,
    "tools.edit_file.freshness": "off",
}
LEAVES_OF = 40  # of so many changes, one is left by its client before the answer
ASKED_TIMES, ASK_PAUSE_S = 100, 0.05  # what became of a change: until it is known

_KINDS = (Kind.READ, Kind.READ, *Kind)


class Notes:
    """All that was seen, by path. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.operations: defaultdict[str, list[Operation]] = defaultdict(list)
        self.ended: Counter[str] = Counter()

    def add(self, path: str, operation: Operation) -> None:
        """Note one call that is over."""
        told = operation.result if operation.kind is not Kind.READ else "seen"
        with self._lock:
            self.operations[path].append(operation)
            self.ended[f"{operation.kind.value} {told}"] += 1

    def count(self, what: str) -> None:
        """Note something else that happened."""
        with self._lock:
            self.ended[what] += 1


class RegisterClient:
    """One client; `run` works until `over` is set."""

    def __init__(self, socket: Path, notes: Notes, over: threading.Event, name: str, seed: int) -> None:
        self._socket, self._notes, self._over, self._name = socket, notes, over, name
        self._random = random.Random(f"{seed}-{name}")
        self._count = 0
        self._client: Client | None = None
        self._seen: dict[str, str | None] = {}
        self._lines: dict[str, list[str]] = {}

    def run(self) -> None:
        """Call and note."""
        while not self._over.is_set():
            self._one()
        self._leave()

    def _one(self) -> None:
        path, kind = self._random.choice(PATHS), self._random.choice(_KINDS)
        if kind is Kind.READ:
            self._read(path)
            return
        self._count += 1
        token = f"{self._name}.{self._count}\n"
        expected = self._seen.get(path)
        if kind is Kind.EDIT:
            expected = self._random.choice(self._lines.get(path) or ["no such line\n"])
        self._change(path, kind, token, expected)

    def _read(self, path: str) -> None:
        called = time.monotonic()
        try:
            answer = self._connected().call("read_file", path=path)
        except RpcError as error:
            assert error.slug == "not_found", error
            sha256, lines = None, []
        except (OSError, EOFError):
            self._leave()
            return
        else:
            sha256 = answer["data"]["sha256"]
            lines = answer["content"].split("\n\n", 1)[1].splitlines(keepends=True)
        self._notes.add(path, Operation(Kind.READ, called, time.monotonic(), sha256))
        self._seen[path], self._lines[path] = sha256, lines

    def _change(self, path: str, kind: Kind, token: str, expected: str | None) -> None:
        tool, params = _call(kind, token, expected)
        op = token.strip()
        called = time.monotonic()
        try:
            client = self._connected()
            called = time.monotonic()
            number = client.start(tool, {"path": path, **params, "_meta": {"op": op}})
            if self._random.randrange(LEAVES_OF) == 0:
                self._leave()
                self._notes.count("left")
                result = self._became(op)
            else:
                result = _told(client.answer(number))
        except (OSError, EOFError):
            self._leave()
            result = self._became(op)
        if result != "not_applied":
            returned = float("inf") if result == "unknown" else time.monotonic()
            self._notes.add(path, Operation(kind, called, returned, result, token.encode(), expected, op))

    def _became(self, op: str) -> str:
        """What became of a change: "done", "not_applied", or "unknown" when nobody knew for long."""
        for _ in range(ASKED_TIMES):
            try:
                outcome = self._connected().call("outcome.get", op=op)["outcome"]
            except (OSError, EOFError):
                self._leave()
                continue
            if outcome != "unknown":
                return "done" if outcome == "applied" else "not_applied"
            time.sleep(ASK_PAUSE_S)
        return "unknown"

    def _connected(self) -> Client:
        deadline = time.monotonic() + 60
        while self._client is None:
            try:
                self._client = Client(self._socket, timeout_s=60)
                self._client.call("session.open", client=self._name)
            except (OSError, EOFError):
                self._leave()
                assert time.monotonic() < deadline, "the daemon is not there any more"
                time.sleep(0.02)
        return self._client

    def _leave(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _told(answer: dict[str, Any]) -> str:
    if "result" in answer:
        return "done"
    slug: str = answer["error"]["data"]["error"]
    assert answer["error"]["data"]["outcome"] == "not_applied", answer
    return slug


def _call(kind: Kind, token: str, expected: str | None) -> tuple[str, dict[str, Any]]:
    """The tool and its parameters, beside the path."""
    match kind:
        case Kind.WRITE:
            return "write_file", {"content": token, "overwrite": True}
        case Kind.WRITE_IF:
            return "write_file", {"content": token, "overwrite": True, "if_match": expected or ""}
        case Kind.CREATE:
            return "write_file", {"content": token}
        case Kind.APPEND:
            return "append_file", {"content": token}
        case Kind.EDIT:
            return "edit_file", {"old_text": expected, "new_text": token}
        case Kind.REMOVE:
            return "remove_file", {}
        case Kind.READ:
            return "read_file", {}
        case unknown:
            assert_never(unknown)
