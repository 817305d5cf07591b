"""Right answers at once, however much happens to the workspace and however it is built: a real daemon over its socket.

Each answer is compared with a fresh walk, and asked for with `verified` names, which wait for nothing.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.index.watcher import COMMAND
from tests.conftest import needs
from tests.depths import dug
from tests.e2e.daemon import Client, Daemon, RpcError
from tests.files.conftest import as_nobody
from tests.house import House

__all__ = ["as_nobody"]

PAGE = 200
_MAKE = """
import os, sys
top, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for number in range(first, first + count):
    folder = f"{top}/{number % 97}/{number % 31}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/f{number}.txt", "w") as file:
        file.write("needle\\n" if number % 1000 == 7 else "hay\\n")
"""


def search(client: Client, pattern: str, **params: Any) -> dict[str, Any]:
    data: dict[str, Any] = client.call("search_files", pattern=pattern, limit=PAGE, **params)["data"]
    return data


def paths(data: dict[str, Any]) -> list[str]:
    return [row["path"] for row in data["results"]]


def names_total(client: Client, **params: Any) -> int:
    total = search(client, "", target="files", **params)["total"]
    assert isinstance(total, int)
    return total


def needles(client: Client) -> int:
    """How many lines hold `needle`. A search that ran out of its time says so, and is asked again: none is wrong."""
    end = time.monotonic() + 180
    while not (found := search(client, "needle"))["complete"]:
        assert found["total"] is None
        assert time.monotonic() < end
    total = found["total"]
    assert isinstance(total, int)
    return total


def files_of(root: Path) -> int:
    return sum(len(files) for folder, _, files in os.walk(root) if "/.picoclaw" not in folder)


def wait_until_ready(client: Client) -> None:
    end = time.monotonic() + 120
    while client.call("workspace.status")["data"]["index"]["state"] != "ready":
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_thousand_files_moved_in_are_searched_at_once(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        wait_until_ready(client)
        for number in range(1000):
            (daemon.outside / f"d{number % 10}").mkdir(exist_ok=True)
            (daemon.outside / f"d{number % 10}/f{number}.txt").write_text("needle\n" if number < 100 else "hay\n")
        for turn in range(3):
            (daemon.root / f"turn{turn}").mkdir()
            for number in range(10):
                (daemon.outside / f"d{number}").rename(daemon.root / f"turn{turn}/d{number}")
            assert names_total(client) == 1000
            found = search(client, "needle")
            assert (found["total"], {path.split("/")[0] for path in paths(found)}) == (100, {f"turn{turn}"})
            assert names_total(client, consistency="watched") == 1000
            for number in range(10):
                (daemon.root / f"turn{turn}/d{number}").rename(daemon.outside / f"d{number}")
            assert names_total(client) == 0


def test_a_root_that_is_renamed_is_gone_until_it_is_back(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        daemon.write("a.txt", "needle\n")
        wait_until_ready(client)
        assert paths(search(client, "needle")) == ["a.txt"]
        away = tmp_path / "away"
        daemon.root.rename(away)
        for params in ({"target": "files"}, {}):
            assert client.error("search_files", pattern="needle", **params).slug == "root_gone"
        assert not daemon.root.exists()  # it is never made anew
        (away / "b.txt").write_text("needle\n")
        away.rename(daemon.root)
        assert paths(search(client, "needle")) == ["a.txt", "b.txt"]
        shutil.move(daemon.root, away)
        daemon.root.mkdir()
        daemon.write("c.txt", "needle\n")
        assert client.error("search_files", pattern="needle").slug == "root_gone"  # another one in its place
        daemon.root.joinpath("c.txt").unlink()
        daemon.root.rmdir()
        away.rename(daemon.root)
        assert paths(search(client, "needle")) == ["a.txt", "b.txt"]


class FewWatches(Daemon):
    """A daemon in a user namespace in which only so many watches may be made."""

    PREFIX = ("unshare", "--user", "--map-root-user", "sh", "-c")

    def command(self) -> list[str]:
        script = 'echo 20 > /proc/sys/user/max_inotify_watches; exec "$@"'
        return [*self.PREFIX, script, "sh", *super().command()]


@pytest.fixture
def namespace() -> None:
    needs("unshare")
    if subprocess.run([*FewWatches.PREFIX, "echo 20 > /proc/sys/user/max_inotify_watches"], check=False).returncode:
        pytest.skip("no user namespace can be made here")


@pytest.mark.usefixtures("namespace")
def test_a84_with_twenty_watches_everything_is_right_and_the_reason_is_said(tmp_path: Path) -> None:
    for number in range(100):
        folder = tmp_path / f"ws/d{number}"
        folder.mkdir(parents=True)
        (folder / "f.txt").write_text("hay\n")
    with FewWatches(tmp_path) as daemon, daemon.client() as client:
        wait_until_ready(client)
        end = time.monotonic() + 20
        while "watch limit" not in str(client.call("workspace.status")["data"]["watcher"]):
            assert time.monotonic() < end
            time.sleep(0.05)
        for number in range(0, 100, 7):
            daemon.write(f"d{number}/new.txt", f"needle{number}\n")
            for consistency in ("verified", "watched"):
                answer = client.call("search_files", pattern=f"needle{number}$", consistency=consistency)
                assert paths(answer["data"]) == [f"d{number}/new.txt"]
                assert answer["data"]["consistency"] == "verified"
        assert "fs.inotify.max_user_watches" in answer["content"]
        assert names_total(client) == files_of(daemon.root)


def test_a77_twenty_five_levels_of_link_diamonds_cost_nothing(tmp_path: Path) -> None:
    """Followed, they would be 2 ** 25 ways to one file."""
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        for level in range(25):
            (daemon.root / f"d{level}").mkdir()
            for side in ("left", "right"):
                (daemon.root / f"d{level}/{side}").symlink_to(f"../d{level + 1}")
        daemon.write("d25/needle.txt", "needle\n")
        (daemon.root / "d0/file").symlink_to("../d25/needle.txt")
        wait_until_ready(client)
        assert paths(search(client, "needle")) == ["d0/file", "d25/needle.txt"]
        assert paths(search(client, "", target="files")) == ["d0/file", "d25/needle.txt"]
        deep = "d0/" + "left/right/" * 12 + "left/needle.txt"
        assert "needle" in client.call("read_file", path=deep)["content"]


def test_a78_fifteen_hundred_levels_are_searched_as_deep_as_paths_reach(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, dug(daemon.root, 1500, (50, 1500)), daemon.client() as client:
        daemon.write("shallow.txt", "needle\n")
        for _ in range(2):
            found = search(client, "needle")
            assert paths(found) == ["d/" * 50 + "needle", "shallow.txt"]
            assert found["skipped"]["too_deep"] == 1
            wait_until_ready(client)
        (daemon.root / "d").rename(daemon.root / "moved")
        try:
            assert paths(search(client, "needle")) == ["moved/" + "d/" * 49 + "needle", "shallow.txt"]
        finally:
            (daemon.root / "moved").rename(daemon.root / "d")


@pytest.fixture
def half_shut(tmp_path: Path) -> Path:
    """Twenty directories, of which every second one is closed to all but its owner."""
    root = tmp_path / "ws"
    for number in range(20):
        (root / f"d{number}/below").mkdir(parents=True)
        (root / f"d{number}/below/f.txt").write_text("needle\n")
        (root / f"d{number}").chmod(0o755 if number % 2 else 0o700)
    tmp_path.chmod(0o755)
    return root


@pytest.mark.parametrize("indexed", [False, True])
async def test_directories_that_may_not_be_read_hide_nothing_else(
    half_shut: Path, as_nobody: Callable[[], AbstractContextManager[None]], indexed: bool
) -> None:
    root = half_shut
    house = House(root)
    try:
        async with trio.open_nursery() as nursery:
            with as_nobody():
                if indexed:
                    await house.start_index(nursery)
                found = await house.call("search_files", pattern="needle")
                assert len(found["data"]["results"]) == 10
                assert found["data"]["skipped"]["unreadable"] == 10
            (root / "d0").chmod(0o755)
            with as_nobody():
                found = await house.call("search_files", pattern="needle")
                assert found["data"]["results"][0]["path"] == "d0/below/f.txt"
                assert found["data"]["skipped"]["unreadable"] == 9
            nursery.cancel_scope.cancel()
    finally:
        house.close()


def storm(root: Path, count: int) -> None:
    """Let two processes make so many files at once, and wait for both."""
    halves = [(0, count // 2), (count // 2, count - count // 2)]
    makers = [
        subprocess.Popen([sys.executable, "-c", _MAKE, str(root), str(first), str(part)]) for first, part in halves
    ]
    for maker in makers:
        assert maker.wait(600) == 0


class Pings:
    """Another client, which pings all the time; how long each took."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._over = threading.Event()
        self.seconds: list[float] = []
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._over.wait(0.005):
            began = time.monotonic()
            self._client.call("ping")
            self.seconds.append(time.monotonic() - began)

    def __enter__(self) -> "Pings":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)


def storm_is_survived(tmp_path: Path, count: int) -> str:
    """Storm a daemon's workspace, ask at once, start another daemon on what is there; and what the pings took."""
    with Daemon(tmp_path) as daemon, daemon.client() as client, daemon.client() as other:
        wait_until_ready(client)
        with Pings(other) as pings:
            storm(daemon.root, count)
            assert names_total(client) == count
            assert needles(client) == len(range(7, count, 1000))
            daemon.write("late.txt", "needle\n")
            assert needles(client) == len(range(7, count, 1000)) + 1
            for number in range(7, count, 2000):
                (daemon.root / f"{number % 97}/{number % 31}/f{number}.txt").unlink()
            assert needles(client) == len(range(1007, count, 2000)) + 1
        left = names_total(client)
        assert left == files_of(daemon.root)
        try:
            client.call("search_files", pattern="needle", consistency="watched")
        except RpcError as error:
            raise AssertionError(error.message) from error
    start_s = first_answer_s(Daemon(tmp_path), left)
    (tmp_path / "empty").mkdir()
    empty_s = first_answer_s(Daemon(tmp_path / "empty"), 0)
    assert start_s < 4 * empty_s, "a start that waits for the tree"
    worst = sorted(pings.seconds)
    return (
        f"{count} files, {len(worst)} pings: median {worst[len(worst) // 2]:.4f} s, worst {worst[-1]:.3f} s; "
        f"start {start_s:.2f} s, of an empty workspace {empty_s:.2f} s"
    )


def first_answer_s(daemon: Daemon, files: int) -> float:
    """From the start of a daemon to its first answer; then it has to know all names, indexed or not."""
    began = time.monotonic()
    with daemon, daemon.client() as client:
        client.call("ping")
        took = time.monotonic() - began
        assert names_total(client) == files
    return took


class Steps(trio.abc.Instrument):
    """The longest that one task kept the loop from all others, in processor time of the loop's thread."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._began_s = time.thread_time()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began_s = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.longest_s = max(self.longest_s, time.thread_time() - self._began_s)


async def loop_is_never_held(tmp_path: Path, count: int) -> str:
    """Storm a workspace in process, with a real watcher, and ask while it goes on."""
    (tmp_path / "ws").mkdir()
    house = House(tmp_path / "ws", watcher_command=COMMAND)
    steps = Steps()
    try:
        async with trio.open_nursery() as nursery:
            await house.start_index(nursery)
            trio.lowlevel.add_instrument(steps)
            async with trio.open_nursery() as storming:
                storming.start_soon(trio.to_thread.run_sync, storm, house.root, count)
                while len(storming.child_tasks):
                    await house.call("search_files", pattern="needle", consistency="watched", limit=1)
                    await trio.sleep(0.01)
            found = await house.call("search_files", pattern="", target="files", limit=1)
            assert found["data"]["total"] == count
            trio.lowlevel.remove_instrument(steps)
            nursery.cancel_scope.cancel()
    finally:
        house.close()
    assert steps.longest_s < 0.1
    return f"{count} files: the longest step of the loop took {steps.longest_s * 1e3:.0f} ms of processor time"


async def test_a_storm_of_ten_thousand_files_does_not_hold_the_loop(tmp_path: Path) -> None:
    print(await loop_is_never_held(tmp_path, 10_000))


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_a_storm_of_a_hundred_thousand_files_does_not_hold_the_loop(tmp_path: Path) -> None:
    print(await loop_is_never_held(tmp_path, 100_000))


def test_ten_thousand_files_by_two_processes_are_all_seen_at_once(tmp_path: Path) -> None:
    print(storm_is_survived(tmp_path, 10_000))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_hundred_thousand_files_by_two_processes_are_all_seen_at_once(tmp_path: Path) -> None:
    print(storm_is_survived(tmp_path, 100_000))
