"""After every change, however it was made and hidden, a verified tree says what is there."""

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from picoclawd.index.trust import Trust
from tests.index.truth import TICK_NS, Coarse, CoarseWithoutRacyRule, WithoutCtime, World, difference, make_tree, run

MEMORY = "/dev/shm"


@pytest.fixture(params=["disk", "memory"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[bytes]:
    """An empty directory, on the disk's file system and on one in memory."""
    if request.param == "disk":
        yield os.fsencode(tmp_path)
    elif not os.access(MEMORY, os.W_OK):
        pytest.skip(f"{MEMORY} cannot be written")
    else:
        with tempfile.TemporaryDirectory(dir=MEMORY) as made:
            yield os.fsencode(made)


def test_the_tree_is_right_after_every_change(base: bytes) -> None:
    assert run(World(base, 1), Trust(TICK_NS), 1_000) is None


def test_the_tree_is_right_where_times_are_coarse(base: bytes) -> None:
    assert run(World(base, 2), Coarse(TICK_NS), 300) is None


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(100, 125))
def test_the_tree_is_right_for_long(base: bytes, seed: int) -> None:
    assert run(World(base, seed), Trust(TICK_NS) if seed % 2 else Coarse(TICK_NS), 1_000) is None


@pytest.mark.parametrize("trust", [WithoutCtime(TICK_NS), CoarseWithoutRacyRule(TICK_NS)])
def test_a_tree_that_believes_too_much_is_caught(tmp_path: Path, trust: Trust) -> None:
    assert run(World(os.fsencode(tmp_path), 3), trust, 2_000) is not None


def test_a_tree_that_reads_rule_files_once_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("picoclawd.index.tree.are_current", lambda *_: True)
    assert run(World(os.fsencode(tmp_path), 4), Trust(TICK_NS), 2_000) is not None


def test_threads_that_verify_at_once_leave_the_tree_right(tmp_path: Path) -> None:
    world = World(os.fsencode(tmp_path), 5)
    tree, fd = make_tree(world.root)
    stop = threading.Event()

    def verify(scope: bytes) -> None:
        while not stop.is_set():
            tree.verify(scope)
            tree.names(scope)

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(verify, scope) for scope in (b"", b"a", b"b")]
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline:
            world.step()
        stop.set()
    for thread in running:
        thread.result(timeout=30)
    tree.verify(b"")
    assert difference(tree, world.root) is None
    os.close(fd)
