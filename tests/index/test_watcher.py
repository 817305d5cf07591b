"""The watcher with its real child on a real file system."""

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import trio

from picoclawd.index import watcher
from picoclawd.index.watcher import WatcherState, back_off
from tests.index.model_tree import QUICK, Tree


@pytest.fixture
def idle_tree(tmp_path: Path) -> Iterator[Tree]:
    tree = Tree(tmp_path)
    yield tree
    tree.close()


@pytest.fixture
async def tree(idle_tree: Tree, nursery: trio.Nursery) -> AsyncIterator[Tree]:
    await nursery.start(idle_tree.watcher.run)
    await idle_tree.settle()
    idle_tree.dirty.clear()
    yield idle_tree


def kill(tree: Tree) -> None:
    pid = tree.watcher.statistics().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


async def test_the_start_waits_for_no_child(idle_tree: Tree, nursery: trio.Nursery) -> None:
    await nursery.start(idle_tree.watcher.run)
    assert idle_tree.watcher.state == WatcherState("degraded", "the watcher is starting")
    assert not await idle_tree.watcher.cookie()
    await idle_tree.until(lambda: idle_tree.watcher.state.state == "ok")


async def test_directories_are_dirty_once_they_are_watched(idle_tree: Tree, nursery: trio.Nursery) -> None:
    await nursery.start(idle_tree.watcher.run)
    await idle_tree.settle()
    assert idle_tree.dirty == {idle_tree.root}


async def test_what_happens_to_a_file_makes_its_directory_dirty_and_names_it(tree: Tree, tmp_path: Path) -> None:
    file, other = tmp_path / "f", tmp_path / "g"
    steps: list[tuple[Callable[[], object], set[str]]] = [
        (lambda: file.write_text("1"), {"f"}),
        (lambda: file.write_text("2"), {"f"}),
        (lambda: file.chmod(0o600), {"f"}),
        (lambda: file.rename(other), {"f", "g"}),
        (other.unlink, {"g"}),
    ]
    for act, names in steps:
        tree.dirty.clear()
        tree.touched.clear()
        act()
        await tree.settle()
        assert tree.dirty == {tree.root}
        assert tree.touched == {tree.path(name) for name in names}
    assert tree.watcher.state == WatcherState("ok")
    assert not tree.lost


async def test_reading_makes_nothing_dirty(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1")
    await tree.settle()
    tree.dirty.clear()
    (tmp_path / "f").read_text()
    os.listdir(tmp_path)
    await tree.settle()
    assert not tree.dirty


async def test_a_cookie_shows_nowhere(tree: Tree, tmp_path: Path) -> None:
    for _ in range(5):
        await tree.settle()
    assert not tree.dirty
    assert not tree.touched
    assert not os.listdir(tmp_path / ".picoclaw" / "cookies")


async def test_a_cookie_that_came_means_that_all_before_it_has_been_told(tree: Tree, tmp_path: Path) -> None:
    for round_no in range(20):
        (tmp_path / f"f{round_no}").touch()
        await tree.settle()
        assert tree.knows(f"f{round_no}")


async def test_a80_files_made_right_after_their_directories_are_found(tree: Tree, tmp_path: Path) -> None:
    script = "for i in $(seq 100); do mkdir -p n$i/a/b && echo x > n$i/a/b/f; done"
    await trio.run_process(["sh", "-c", script], cwd=tmp_path)
    await tree.settle()
    assert all(tree.knows(f"n{round_no}/a/b/f") for round_no in range(1, 101))


async def test_a81_a_flood_is_told_or_said_to_be_lost(tree: Tree, tmp_path: Path) -> None:
    for number in range(8_000):  # nobody reads meanwhile: this does not await
        os.close(os.open(tmp_path / str(number), os.O_CREAT | os.O_WRONLY))
    await tree.until(lambda: any("events" in each for each in tree.lost))
    tree.rescan(tree.root)  # the sweep that is due
    await tree.settle()
    assert tree.names == tree.truth()
    assert tree.watcher.state == WatcherState("ok")


async def test_a82_a_file_saved_by_rename_is_named_each_time(tree: Tree, tmp_path: Path) -> None:
    for text in ("1", "2", "3"):
        tree.touched.clear()
        (tmp_path / "f.tmp").write_text(text)
        (tmp_path / "f.tmp").rename(tmp_path / "f")
        await tree.settle()
        assert tree.path("f") in tree.touched


async def test_a83_a_directory_replaced_by_a_file_and_back(tree: Tree, tmp_path: Path) -> None:
    spot = tmp_path / "f"
    for _ in range(2):
        spot.mkdir()
        (spot / "g").touch()
        await tree.settle()
        assert tree.knows("f/g")
        shutil.rmtree(spot)
        spot.touch()
        await tree.settle()
        assert tree.names == tree.truth()
        spot.unlink()


async def test_a85_create_and_rename_at_once_shows_the_last_name(tree: Tree, tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / ".swap").touch()
        (tmp_path / ".swap").rename(tmp_path / f"f{number}")
    await tree.settle()
    assert set(tree.names[tree.root]) == {b"f%d" % number for number in range(50)}


async def test_a_tree_that_is_moved_in_is_found_and_watched(
    tree: Tree, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "tree"
    for number in range(100):
        (outside / f"d{number}" / "e").mkdir(parents=True)
    outside.rename(tmp_path / "in")
    await tree.settle()
    assert tree.names == tree.truth()
    (tmp_path / "in" / "d7" / "e" / "f").touch()
    await tree.settle()
    assert tree.knows("in/d7/e/f")


async def test_a_directory_moved_away_and_back_is_watched_with_all_below(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    await tree.settle()
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "c").rename(tmp_path / "a")
    await tree.settle()
    (tmp_path / "a" / "b" / "f").touch()
    await tree.settle()
    assert tree.knows("a/b/f")


async def test_a_directory_made_again_at_once_is_watched(tree: Tree, tmp_path: Path) -> None:
    spot = tmp_path / "a"
    spot.mkdir()
    await tree.settle()
    for number in range(5):
        spot.rmdir()
        spot.mkdir()
        await tree.settle()
        (spot / f"f{number}").touch()
        await tree.settle()
        assert tree.knows(f"a/f{number}")
        (spot / f"f{number}").unlink()


async def test_a_told_directory_that_comes_later_is_watched(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "a").symlink_to("other")
    await tree.settle()
    tree.watcher.update([tree.path("a"), tree.path("b")])
    await tree.settle()
    for name in ("a", "b"):
        (tmp_path / f"{name}.tmp").mkdir()
    (tmp_path / "a").unlink()
    for name in ("a", "b"):
        (tmp_path / f"{name}.tmp").rename(tmp_path / name)
    await tree.settle()
    for name in ("a", "b"):
        (tmp_path / name / "f").touch()
    await tree.settle()
    assert tree.knows("a/f")
    assert tree.knows("b/f")


async def test_a_directory_moved_over_an_empty_one_is_watched(tree: Tree, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    await tree.settle()
    (tmp_path / "b").rename(tmp_path / "a")
    await tree.settle()
    (tmp_path / "a" / "f").touch()
    await tree.settle()
    assert tree.knows("a/f")


async def test_a_name_that_is_not_utf8_costs_its_directory_and_no_other(tree: Tree, tmp_path: Path) -> None:
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
    await tree.settle()
    os.mkdir(tree.path("bad") + b"/\xff \"'\\\n")
    await tree.until(lambda: tree.watcher.unwatched)
    assert tree.watcher.unwatched == {tree.path("bad"): "a name in it is not UTF-8"}
    await tree.settle()
    assert tree.names == tree.truth()
    (tmp_path / "good" / "f").touch()
    await tree.settle()
    assert tree.knows("good/f")
    assert tree.watcher.state == WatcherState("ok")


async def test_a_directory_whose_name_is_not_utf8_is_told_as_unwatched(tree: Tree) -> None:
    spot = tree.root + b"/\xc3("
    os.mkdir(spot)
    await tree.until(lambda: spot in tree.watcher.unwatched)
    assert tree.watcher.unwatched[tree.root] == "a name in it is not UTF-8"
    os.rmdir(spot)
    tree.rescan(tree.root)
    tree.watcher.update([tree.root])
    await tree.settle()
    assert not tree.watcher.unwatched


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_directory_that_may_not_be_read_is_told_as_unwatched(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir(mode=0o300)
    await tree.until(lambda: tree.watcher.unwatched)
    assert tree.watcher.unwatched == {tree.path("secret"): "no permission to read it"}


async def test_links_are_not_followed(tree: Tree, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (tmp_path / "link").symlink_to(outside)
    await tree.settle()
    tree.watcher.update([tree.path("link")])
    await tree.until(lambda: tree.watcher.unwatched == {tree.path("link"): "it is no directory"})
    tree.dirty.clear()
    (outside / "f").touch()
    await tree.settle()
    assert not tree.dirty


async def test_a_forgotten_directory_is_told_of_no_more(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    await tree.settle()
    tree.watcher.update([], [tree.path("a")])
    await tree.settle()
    tree.dirty.clear()
    (tmp_path / "a" / "f").touch()
    await tree.settle()
    assert tree.path("a") not in tree.dirty


async def test_until_all_is_watched_there_is_no_cookie(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    tree.watcher.update([tree.path("a")])
    assert not await tree.watcher.cookie()
    await tree.settle()


async def test_a_killed_child_is_replaced_and_nothing_is_missed(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "BACK_OFF_MIN_S", 0.05)
    (tmp_path / "a").mkdir()
    await tree.settle()
    kill(tree)
    await tree.until(lambda: tree.watcher.state.state == "degraded")
    assert "the watcher ended; it is started again in" in str(tree.watcher.state.reason)
    assert tree.lost == [tree.watcher.state.reason]
    assert not await tree.watcher.cookie()
    (tmp_path / "a" / "f").touch()
    await tree.settle()
    assert tree.watcher.state == WatcherState("ok")
    assert tree.knows("a/f")
    assert tree.watcher.statistics().starts == 2


async def test_a_removed_cookie_directory_is_made_again(tree: Tree, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / ".picoclaw")
    assert not await tree.watcher.cookie()
    await tree.until(lambda: "cookie directory was removed" in str(tree.watcher.state.reason))
    await tree.settle()
    (tmp_path / "f").touch()
    await tree.settle()
    assert tree.knows("f")


async def test_where_no_cookie_directory_can_be_made_there_are_hints_and_no_cookies(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    (tmp_path / ".picoclaw").touch()
    tree = Tree(tmp_path)
    await nursery.start(tree.watcher.run)
    await tree.until(lambda: tree.watcher.state.state == "ok")
    (tmp_path / "f").touch()
    await tree.until(lambda: tree.knows("f"))
    assert not await tree.watcher.cookie()
    tree.close()


async def test_a_watcher_that_is_off_says_so(tmp_path: Path, nursery: trio.Nursery) -> None:
    tree = Tree(tmp_path, command=None)
    await nursery.start(tree.watcher.run)
    assert tree.watcher.state == WatcherState("off")
    assert not await tree.watcher.cookie()
    tree.close()


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["/nonexistent/program"], "the watcher cannot be started (No such file or directory)"),
        (["true"], "the watcher ended"),
        (["echo", "hello"], "the watcher told no report: b'hello'"),
        (["sh", "-c", "echo cookie 7"], "the watcher told a file 7 that is no cookie"),
        (["sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x"], "the watcher told a line without an end"),
    ],
)
async def test_a_child_that_is_no_child_degrades_and_is_tried_again(
    command: list[str], reason: str, tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "BACK_OFF_MIN_S", 0.01)
    tree = Tree(tmp_path, command)
    await nursery.start(tree.watcher.run)
    await tree.until(lambda: tree.watcher.statistics().starts > 2)
    assert tree.lost[0] == f"{reason}; it is started again in 0 s"
    assert tree.watcher.state.state == "degraded"
    tree.close()


def test_the_back_off_doubles_up_to_a_minute_and_a_long_life_resets_it() -> None:
    waits = [0.0]
    for _ in range(8):
        waits.append(back_off(3.0, waits[-1]))
    assert waits[1:] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert back_off(61.0, waits[-1]) == 1


async def test_the_child_ends_with_its_service(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(tree.watcher.run)
        await tree.settle()
        pid = tree.watcher.statistics().pid
        nursery.cancel_scope.cancel()
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    tree.close()


async def test_a_child_that_does_not_end_is_killed(
    tmp_path: Path, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_END_S", 0.1)
    script = 'while read -r line; do [ "$line" = end-of-batch ] && break; done; echo ready 1; exec sleep 1000'
    tree = Tree(tmp_path, ["sh", "-c", script])
    await nursery.start(tree.watcher.run)
    await tree.until(lambda: tree.watcher.state.state == "ok")
    pid = tree.watcher.statistics().pid
    nursery.cancel_scope.cancel()
    with trio.CancelScope(shield=True):
        await tree.until(lambda: tree.watcher.statistics().pid is None)
        assert pid is not None
        await tree.until(lambda: not _lives(pid))
    tree.close()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _random_rounds(tree: Tree, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(rounds):
        for _ in range(40):
            _act(chance, Path(os.fsdecode(tree.root)))
        await tree.settle()
        assert tree.names == tree.truth()


def _act(chance: random.Random, root: Path) -> None:
    """Do one random thing below the root; what cannot be done is left."""
    spot = root.joinpath(*(chance.choice("abc") for _ in range(chance.randint(1, 3))))
    other = root.joinpath(*(chance.choice("abc") for _ in range(chance.randint(1, 3))))
    try:
        match chance.randrange(6):
            case 0 | 1:
                spot.mkdir(parents=True)
            case 2:
                spot.touch()
            case 3:
                spot.rename(other)
            case 4:
                spot.unlink()
            case _:
                shutil.rmtree(spot)
    except OSError:
        return


async def test_after_a_cookie_the_tree_is_right_whatever_happened(tree: Tree) -> None:
    await _random_rounds(tree, 8, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
async def test_after_a_cookie_the_tree_is_right_whatever_happened_at_length(tree: Tree, seed: int) -> None:
    await _random_rounds(tree, 60, seed)


async def test_hints_that_come_twice_do_no_harm(tmp_path: Path, nursery: trio.Nursery) -> None:
    tree = Tree(tmp_path, (*QUICK[:2], "twice", QUICK[3]))
    await nursery.start(tree.watcher.run)
    await _random_rounds(tree, 3, seed=2)
    tree.close()


@pytest.mark.parametrize(("mode", "least", "most"), [("silent", 0, 0), ("half", 1, 19), ("sound", 20, 20)])
async def test_a_faulty_child_loses_what_it_says(
    mode: str, least: int, most: int, tmp_path: Path, nursery: trio.Nursery
) -> None:
    tree = Tree(tmp_path, (*QUICK[:2], mode, QUICK[3]))
    await nursery.start(tree.watcher.run)
    await tree.settle()
    found = 0
    for number in range(20):
        tree.dirty.clear()
        (tmp_path / "f").write_text(str(number))
        await tree.settle()
        found += len(tree.dirty)
    assert least <= found <= most
    tree.close()


@pytest.mark.slow
async def test_100_000_directories_are_told_within_seconds(tmp_path: Path, nursery: trio.Nursery) -> None:
    script = "import os,sys\nfor i in range(100_000): os.makedirs(f'{sys.argv[1]}/{i // 100}/{i % 100}')"
    await trio.run_process([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.DEVNULL)
    tree = Tree(tmp_path)
    began = trio.current_time()
    await nursery.start(tree.watcher.run)
    await tree.settle()
    assert tree.watcher.statistics().directories == 101_001
    assert trio.current_time() - began < 15
    tree.close()
