"""The child's state, with watches that only the test makes happen."""

import os
import threading
from pathlib import Path

import pytest

from picoclawd.index.watcher_generations import BadName, Failed
from picoclawd.index.watcher_keeper import MISSING, Keeper, News, read, refusal, under
from tests.index.fake_backend import DEADLINE_S, Ear, FakeBackend, Maker

COOKIES = b"/cookies"
ADDED, MODIFIED, DELETED = 1, 2, 3


class Bench:
    """A keeper that runs, what it makes, and what it writes."""

    def __init__(self, room: int = 1_000_000, interval_s: float = 0.001) -> None:
        self.maker = Maker(room)
        self.ear = Ear()
        self.keeper = Keeper(self.maker, self.ear.write, interval_s=interval_s)
        self.keeper.cookie_directory = COOKIES
        threading.Thread(target=self.keeper.run, daemon=True).start()

    def watch(self, *paths: bytes, batch: int) -> list[bytes]:
        self.keeper.tell(paths, [])
        return self.ear.wait(b"ready %d" % batch)

    @property
    def last(self) -> FakeBackend:
        return self.maker.made[-1]


def many(count: int, name: str = "d") -> list[bytes]:
    return [b"/%s/%d" % (name.encode(), number) for number in range(count)]


def test_a_directory_is_dirty_after_it_is_watched_and_then_all_is_ready() -> None:
    bench = Bench()
    heard = bench.watch(b"/a", b"/b", batch=1)
    assert set(heard[:2]) == {b"dirty /a", b"dirty /b"}
    assert heard[2:] == [b"ready 1"]
    assert bench.last.directories == {b"/a", b"/b", COOKIES}


def test_an_empty_batch_is_ready_at_once() -> None:
    bench = Bench()
    bench.keeper.tell([], [])
    assert bench.ear.wait(b"ready 1") == [b"ready 1"]


def test_hints_come_before_the_cookie_of_the_same_batch() -> None:
    bench = Bench()
    bench.watch(b"/a", batch=1)
    bench.last.happen({(ADDED, "/cookies/1"), (ADDED, "/a/f"), (DELETED, "/cookies/1")})
    assert bench.ear.wait(b"cookie 1") == [b"dirty /a", b"touched /a/f", b"cookie 1"]


def test_a_cookie_counts_when_every_generation_has_seen_it() -> None:
    bench = Bench()
    bench.watch(*many(300), batch=1)
    bench.watch(b"/a", batch=2)
    old, new = bench.maker.made
    new.happen({(ADDED, "/cookies/1")})
    new.happen({(ADDED, "/a/seen")})
    assert b"cookie 1" not in bench.ear.wait(b"touched /a/seen")
    old.happen({(ADDED, "/cookies/2")})
    bench.ear.wait(b"cookie 1")
    new.happen({(ADDED, "/cookies/3")})
    assert bench.ear.wait(b"cookie 2") == [b"cookie 2"]


def test_no_cookie_is_told_while_a_directory_waits_for_its_watch() -> None:
    bench = Bench(room=3)
    bench.watch(b"/a", batch=1)
    bench.keeper.tell([b"/b", b"/c", b"/d"], [])
    bench.ear.wait(b"degraded watch limit reached")
    live = [each for each in bench.maker.made if not each.closed]
    for each in live:
        each.happen({(ADDED, "/cookies/1")})
        each.happen({(ADDED, "/a/f")})
    bench.maker.room = 100
    heard = bench.ear.wait(b"ready 2")
    assert not any(line.startswith(b"cookie") for line in heard)


def test_new_directories_join_the_small_generations_and_all_of_them_are_dirty() -> None:
    bench = Bench()
    bench.watch(*many(300), batch=1)
    bench.watch(b"/a", batch=2)
    heard = bench.watch(b"/b", batch=3)
    big, small, merged = bench.maker.made
    assert set(heard[:-1]) == {b"dirty /a", b"dirty /b"}
    assert merged.directories == {b"/a", b"/b", COOKIES}
    assert small.closed
    assert not big.closed


def test_where_both_sets_are_too_many_the_old_ones_are_given_back_first() -> None:
    bench = Bench(room=4)
    bench.watch(b"/a", b"/b", batch=1)
    heard = bench.watch(b"/c", batch=2)
    assert set(heard) == {b"dirty /a", b"dirty /b", b"dirty /c", b"ready 2"}


def test_a84_at_the_watch_limit_it_is_degraded_and_tries_again() -> None:
    bench = Bench(room=2)
    bench.keeper.tell([b"/a", b"/b"], [])
    assert b"ready 1" not in bench.ear.wait(b"degraded watch limit reached")
    bench.maker.room = 3
    assert {b"dirty /a", b"dirty /b"} < set(bench.ear.wait(b"ready 1"))


def test_what_was_absorbed_at_the_limit_is_watched_when_there_is_room_again() -> None:
    bench = Bench(room=3)
    bench.watch(b"/a", b"/b", batch=1)
    bench.keeper.tell([b"/c"], [])
    bench.ear.wait(b"degraded watch limit reached")
    bench.maker.room = 100
    assert {b"dirty /a", b"dirty /b", b"dirty /c"} < set(bench.ear.wait(b"ready 2"))
    assert bench.last.directories == {b"/a", b"/b", b"/c", COOKIES}


def test_a_name_that_is_no_name_costs_its_directory_only() -> None:
    bench = Bench()
    bench.watch(b"/a", b"/b", batch=1)
    bench.last.happen(BadName(b"/a"))
    bench.ear.wait(b"dirty /b", b"unwatched /a a name in it is not UTF-8", b"ready 1")
    assert bench.last.directories == {b"/b", COOKIES}
    assert bench.maker.made[0].closed
    bench.watch(b"/a", batch=2)
    assert bench.last.directories == {b"/a", b"/b", COOKIES}


def test_where_no_directory_can_be_watched_cookies_still_come() -> None:
    bench = Bench()
    bench.watch(b"/a", batch=1)
    bench.last.happen(BadName(b"/a"))
    bench.ear.wait(b"unwatched /a a name in it is not UTF-8", b"ready 1")
    assert bench.last.directories == {COOKIES}
    bench.last.happen({(ADDED, "/cookies/1")})
    bench.ear.wait(b"cookie 1")


def test_a_bad_name_among_the_cookies_ends_cookies_and_nothing_else() -> None:
    bench = Bench()
    bench.watch(b"/a", batch=1)
    bench.last.happen(BadName(COOKIES))
    bench.ear.wait(b"dirty /a", b"ready 1")
    assert bench.last.directories == {b"/a"}


def test_a_broken_backend_is_said_and_replaced() -> None:
    bench = Bench()
    bench.watch(b"/a", batch=1)
    bench.last.happen(Failed("bad luck"))
    heard = bench.ear.wait(b"lost watching failed: bad luck", b"dirty /a", b"ready 1")
    assert heard.count(b"dirty /a") == 1
    assert len(bench.maker.made) == 2


def test_a_replaced_directory_is_watched_anew_with_all_below() -> None:
    bench = Bench()
    bench.watch(b"/a", b"/a/b", *many(300), batch=1)
    bench.last.happen({(DELETED, "/a")})
    bench.ear.wait(b"dirty /a/b", b"ready 1")
    assert bench.last.directories == {b"/a", b"/a/b", COOKIES}


def test_what_was_missing_is_watched_when_it_comes(tmp_path: Path) -> None:
    spot = tmp_path / "a"
    bench = Bench()
    bench.watch(os.fsencode(spot), batch=1)
    spot.mkdir()
    bench.last.happen({(ADDED, str(spot))})
    bench.ear.wait(b"ready 1")
    assert len(bench.maker.made) == 2


@pytest.mark.parametrize("kind", [ADDED, MODIFIED])
def test_a_coming_that_is_told_late_and_a_changed_mode_are_no_replacement(kind: int, tmp_path: Path) -> None:
    root = os.fsencode(tmp_path)
    bench = Bench()
    bench.watch(root, batch=1)
    bench.last.happen({(kind, str(tmp_path))})
    assert bench.ear.wait(b"dirty %s" % root) == [b"dirty %s" % root]
    assert len(bench.maker.made) == 1


def test_a81_too_many_events_say_that_some_may_be_lost_and_name_no_files() -> None:
    bench = Bench()
    bench.watch(b"/a", batch=1)
    bench.last.happen({(ADDED, f"/a/{number}") for number in range(4_001)})
    assert bench.ear.wait(b"lost batch of over 4000 events") == [b"dirty /a", b"lost batch of over 4000 events"]


def test_many_small_batches_within_a_second_are_too_many_events() -> None:
    bench = Bench()
    bench.watch(b"/a", batch=1)
    for part in range(5):
        bench.last.happen({(ADDED, f"/a/{part}-{number}") for number in range(1_000)})
    bench.ear.wait(b"lost batch of over 4000 events")


def test_a_forgotten_directory_is_not_told_and_its_watch_goes_with_the_next() -> None:
    bench = Bench()
    bench.watch(b"/a", b"/b", batch=1)
    bench.keeper.tell([], [b"/a"])
    bench.ear.wait(b"ready 2")
    bench.last.happen({(ADDED, "/a/f"), (ADDED, "/b/f")})
    assert bench.ear.wait(b"touched /b/f") == [b"dirty /b", b"touched /b/f"]
    bench.watch(b"/c", batch=3)
    assert bench.last.directories == {b"/b", b"/c", COOKIES}


def test_watches_are_made_at_most_once_in_an_interval() -> None:
    bench = Bench(interval_s=0.3)
    bench.watch(b"/0", batch=1)
    for number in range(1, 10):
        bench.keeper.tell([b"/%d" % number], [])
    bench.ear.wait(b"ready 10")
    assert len(bench.maker.made) == 2


def test_a_change_is_read_for_what_it_means() -> None:
    told = {b"/w", b"/w/a"}

    def news(*changes: tuple[int, str], unwatched: frozenset[bytes] = frozenset()) -> News:
        return read(set(changes), told, unwatched, COOKIES)

    assert news((ADDED, "/w/f")) == News({b"/w"}, {b"/w/f"})
    assert news((DELETED, "/w/a")) == News({b"/w", b"/w/a"}, {b"/w/a"}, {b"/w/a"})
    assert news((ADDED, "/w/a")) == News({b"/w", b"/w/a"}, {b"/w/a"})
    assert news((ADDED, "/w/a"), unwatched=frozenset({b"/w/a"})).replaced == {b"/w/a"}
    assert news((MODIFIED, "/w/a"), unwatched=frozenset({b"/w/a"})).replaced == set()
    assert news((DELETED, "/w")) == News({b"/w"}, set(), {b"/w"})
    assert news((ADDED, "/w/a/é")) == News({b"/w/a"}, {"/w/a/é".encode()})
    assert news((ADDED, "/else/f")) == News()
    assert news((ADDED, "/cookies/12"), (DELETED, "/cookies/11")) == News(cookie=12)
    assert news((ADDED, "/cookies/x")) == News()
    assert read({(ADDED, "/f")}, {b"/"}, set(), None) == News({b"/"}, {b"/f"})


def test_what_lies_below_is_found_by_whole_components() -> None:
    found = under([b"/a", b"/a/b", b"/a/b/c", b"/ab", b"/x"], {b"/a"})
    assert found == {b"/a", b"/a/b", b"/a/b/c"}


def test_a_refusal_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    root = os.fsencode(tmp_path)
    assert refusal(root) is None
    assert refusal(root + b"/missing") == MISSING
    assert refusal(root + b"/file") == "it is no directory"
    assert refusal(root + b"/link") == "it is no directory"
    assert refusal(root + b"/\xff") == "its path is not UTF-8"


def test_orders_and_events_from_many_threads_at_once_lose_no_directory() -> None:
    bench = Bench()
    bench.watch(b"/w", batch=1)

    def tell(part: int) -> None:
        for number in range(50):
            bench.keeper.tell([b"/w/%d-%d" % (part, number)], [])

    threads = [threading.Thread(target=tell, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    heard = bench.ear.wait(b"ready 201")
    expected = {b"dirty /w/%d-%d" % (part, number) for part in range(4) for number in range(50)}
    assert expected <= set(heard)
    assert set().union(*(each.directories for each in bench.maker.made if not each.closed)) >= {
        line.removeprefix(b"dirty ") for line in expected
    }
