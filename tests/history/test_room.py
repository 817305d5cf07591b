"""How much the store still takes: counted cheaply, measured when it runs out, and a flood slows nobody down."""

from picoclawd import limits
from picoclawd.history.room import ROW_BYTES, Room
from tests.history.conftest import ME, OTHER, Made, noise


class Counted:
    """A store whose size and willingness to shrink a test decides."""

    def __init__(self, used: int, freed: int = 0) -> None:
        self.used, self.freed = used, freed
        self.pruned_for: list[str | None] = []

    def used_bytes(self) -> int:
        return self.used

    def make_room(self, target_bytes: int, now_ns: int, session_id: str | None) -> None:
        self.pruned_for.append(session_id)
        self.used -= self.freed


def room(store: Counted, max_bytes: int = 80 * limits.MIB) -> Room:
    return Room(store, max_bytes)


def test_contents_leave_an_eighth_free_and_of_large_stores_16_mib() -> None:
    assert room(Counted(0)).limit_bytes == 70 * limits.MIB
    assert room(Counted(0), 1024 * limits.MIB).limit_bytes == 1008 * limits.MIB


def test_an_estimate_that_runs_out_is_measured_before_anything_is_pruned() -> None:
    store = Counted(0)
    tight = room(store)
    for _ in range(20):
        assert tight.refusal([10 * limits.MIB], "s") is None, "what is stored already costs nothing"
    assert store.pruned_for == []


def test_room_is_made_for_the_session_that_asks() -> None:
    store = Counted(69 * limits.MIB, freed=20 * limits.MIB)
    assert room(store).refusal([5 * limits.MIB], "s") is None
    assert store.pruned_for == ["s"]


def test_after_a_refusal_the_same_session_is_not_pruned_for_at_once() -> None:
    store = Counted(70 * limits.MIB)
    full = room(store)
    for _ in range(5):
        refusal = full.refusal([limits.MIB], "flood")
        assert refusal is not None and "full" in refusal
    assert full.refusal([limits.MIB], "other") is not None
    assert store.pruned_for == ["flood", "other"]


def test_a_content_over_a_quarter_of_the_store_is_refused_with_its_size() -> None:
    store = Counted(0)
    refusal = room(store).refusal([1, 20 * limits.MIB], "s")
    assert refusal is not None and str(20 * limits.MIB) in refusal
    assert store.pruned_for == []


def test_rows_count_too(made: Made) -> None:
    made.reopened(max_bytes=2 * limits.MIB)
    for n in range(300):
        made.change(noise(10), noise(10), path=b"%d" % n, author=(ME, OTHER)[n % 2])
    assert made.history.statistics().used_bytes - 60 * 1024 < 300 * ROW_BYTES, "the estimate is on the high side"
