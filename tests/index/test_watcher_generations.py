"""Sets of watches, and when they become one."""

import threading

import pytest

from picoclawd.index.watcher_generations import BadName, Failed, Generation, to_absorb
from tests.index.fake_backend import FakeBackend


def generation(name: bytes, size: int) -> Generation:
    return Generation(FakeBackend(), frozenset(b"/%s/%d" % (name, number) for number in range(size)), 0)


def sizes(existing: list[int], new: int) -> list[int]:
    generations = [generation(b"%d" % index, size) for index, size in enumerate(existing)]
    return [len(each.directories) for each in to_absorb(generations, new, lambda path: True)]


@pytest.mark.parametrize(
    ("existing", "new", "absorbed"),
    [
        ([], 1, []),
        ([256], 1, [256]),
        ([257], 1, []),
        ([10_000, 250], 1, [250]),
        ([900, 250], 1, [250, 900]),
        ([1_000], 250, [1_000]),
        ([1_001], 250, []),
    ],
)
def test_small_ones_are_absorbed(existing: list[int], new: int, absorbed: list[int]) -> None:
    assert sizes(existing, new) == absorbed


def test_one_of_which_most_is_forgotten_is_absorbed() -> None:
    old = generation(b"old", 10_000)
    kept = sorted(old.directories)[:4_999]
    assert to_absorb([old], 1, set(kept).__contains__) == [old]


def test_a_hundred_thousand_that_come_one_by_one_stay_few_sets() -> None:
    held: list[int] = []
    watched = most = 0
    for _ in range(100_000 // 50):
        taken = list(sizes(held, 50)) if sum(held) < 3_000 else _absorb_sizes(held, 50)
        for size in taken:
            held.remove(size)
        held.append(50 + sum(taken))
        watched += held[-1]
        most = max(most, len(held))
    assert sum(held) == 100_000
    assert most <= 7
    assert watched < 25 * 100_000


def _absorb_sizes(held: list[int], new: int) -> list[int]:
    """The rule of `to_absorb`, on sizes alone, for sets too many to make."""
    chosen: list[int] = []
    for size in sorted(held):
        if size <= max(256, 4 * (new + sum(chosen))):
            chosen.append(size)
    return chosen


@pytest.mark.parametrize("end", [BadName(b"/a"), Failed("no")])
def test_what_ends_a_backend_is_handed_on_once(end: Exception) -> None:
    backend = FakeBackend()
    heard: list[object] = []
    done = threading.Event()

    def broken(generation: Generation, exc: Exception) -> None:
        heard.append(exc)
        done.set()

    made = Generation(backend, frozenset(), 0)
    made.start(lambda generation, changes: heard.append(changes), broken)
    backend.happen({(1, "/a/f")})
    backend.happen(end)
    assert done.wait(10)
    made.stop()
    assert heard == [{(1, "/a/f")}, end]


def test_after_stop_nothing_is_heard() -> None:
    backend = FakeBackend()
    heard: list[object] = []
    made = Generation(backend, frozenset(), 0)
    made.start(lambda generation, changes: heard.append(changes), lambda generation, exc: heard.append(exc))
    made.stop()
    backend.happen({(1, "/a/f")})
    assert backend.closed
    assert not heard
