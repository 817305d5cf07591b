"""V7, promise P5: what 16 clients see of 8 files can be put into one order, file by file, kills and all.

Clients go away in the middle of changes, and the daemon is killed now and then. What `outcome.get` says of a change
whose answer was lost is taken at its word: a change that was not applied must never show, one that was must.
"""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.e2e.daemon import Daemon
from tests.proof._linear import Kind, Operation, first_lie, hash_of
from tests.proof._register_clients import CONFIG, PATHS, Notes, RegisterClient
from tests.proof.figures import FIXED_SEED, SECONDS, long_form, tell

CLIENTS = 16


def operation(
    kind: Kind, called: float, returned: float, result: str | None, new: str = "", expected: str = ""
) -> Operation:
    return Operation(kind, called, returned, result, new.encode(), expected or None)


A, B = hash_of(b"a"), hash_of(b"b")
TRUE = {
    "one after the other": [
        operation(Kind.WRITE, 0, 1, "done", "a"),
        operation(Kind.READ, 2, 3, A),
        operation(Kind.WRITE_IF, 4, 5, "done", "b", A or ""),
        operation(Kind.READ, 6, 7, B),
    ],
    "a read beside a write sees either": [
        operation(Kind.WRITE, 0, 1, "done", "a"),
        operation(Kind.WRITE, 2, 9, "done", "b"),
        operation(Kind.READ, 3, 4, A),
        operation(Kind.READ, 5, 6, B),
    ],
    "the one that nobody knows of was done": [
        operation(Kind.WRITE, 0, float("inf"), "unknown", "a"),
        operation(Kind.READ, 5, 6, A),
    ],
    "the one that nobody knows of was not": [
        operation(Kind.WRITE, 0, float("inf"), "unknown", "a"),
        operation(Kind.READ, 5, 6, None),
    ],
}
LIES = {
    "a stale read": [
        operation(Kind.WRITE, 0, 1, "done", "a"),
        operation(Kind.WRITE, 2, 3, "done", "b"),
        operation(Kind.READ, 4, 5, A),
    ],
    "back in time": [
        operation(Kind.WRITE, 0, 1, "done", "a"),
        operation(Kind.WRITE, 2, 9, "done", "b"),
        operation(Kind.READ, 3, 4, B),
        operation(Kind.READ, 5, 6, A),
    ],
    "a lost append": [
        operation(Kind.APPEND, 0, 5, "done", "a"),
        operation(Kind.APPEND, 0, 5, "done", "b"),
        operation(Kind.READ, 6, 7, B),
    ],
    "two winners": [
        operation(Kind.CREATE, 0, 5, "done", "a"),
        operation(Kind.CREATE, 1, 5, "done", "b"),
    ],
    "two conditional writes from one base": [
        operation(Kind.WRITE, 0, 1, "done", "a"),
        operation(Kind.WRITE_IF, 2, 5, "done", "b", A or ""),
        operation(Kind.WRITE_IF, 2, 5, "done", "c", A or ""),
    ],
    "refused without a reason": [
        operation(Kind.WRITE, 0, 1, "done", "a"),
        operation(Kind.WRITE_IF, 2, 3, "conflict", "b", A or ""),
    ],
}


@pytest.mark.parametrize("name", TRUE)
def test_a_history_with_an_order_is_taken(name: str) -> None:
    assert first_lie(TRUE[name]) is None


@pytest.mark.parametrize("name", LIES)
def test_a_history_without_one_is_not(name: str) -> None:
    assert first_lie(LIES[name]) is not None


def run(tmp_path: Path, seconds: float, kills: int, seed: int) -> str:
    """Let the clients work and the daemon die, then look for the order; the figure."""
    notes, over = Notes(), threading.Event()
    with Daemon(tmp_path, CONFIG) as daemon:
        clients = [RegisterClient(daemon.agent_socket, notes, over, f"c{n}", seed) for n in range(CLIENTS)]
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            over.wait(seconds / (kills + 1))
            daemon.stop(signal.SIGKILL)
            daemon.start()
        over.wait(seconds / (kills + 1))
        over.set()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
        now = time.monotonic()
        for path in PATHS:
            place = daemon.root / path
            notes.add(path, Operation(Kind.READ, now, now, hash_of(place.read_bytes() if place.exists() else None)))
        assert "internal error" not in daemon.log()
    for path in PATHS:
        lie = first_lie(notes.operations[path])
        assert lie is None, f"{path}: no order gets past {lie}"
    assert not [name for _, _, names in os.walk(daemon.root) for name in names if ".picoclawd." in name]
    assert notes.ended["left"] > 0
    calls = sum(len(each) for each in notes.operations.values())
    return f"{calls} calls by {CLIENTS} clients on {len(PATHS)} files, {kills} kills: {dict(notes.ended.most_common())}"


def test_there_is_one_order_of_all_that_was_seen_in_5_s_with_2_kills(tmp_path: Path) -> None:
    print(run(tmp_path, 5, 2, FIXED_SEED))


@pytest.mark.slow
@long_form
def test_there_is_one_order_of_all_that_was_seen_for_long(tmp_path: Path) -> None:
    tell("V7", run(tmp_path, SECONDS, max(2, int(SECONDS / 5)), FIXED_SEED), FIXED_SEED)
