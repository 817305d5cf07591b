"""Whatever another process does to the workspace, searches and listings say what a fresh walk and scan say."""

import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.index.contents import Contents
from picoclawd.index.corpus import Corpus
from picoclawd.index.matrix import Matrix
from picoclawd.index.trust import Facts, Trust
from picoclawd.text.display import from_path_bytes
from picoclawd.workspace.workspace import Options
from tests.e2e.daemon import Daemon
from tests.e2e.search_world import PATTERNS, Fresh, Other, look
from tests.house import House
from tests.index.truth import WithoutCtime

MEMORY = "/dev/shm"
FAULTY = str(Path(__file__).parents[1] / "index/faulty_child.py")
Ask = Callable[..., Awaitable[dict[str, Any]]]


def name_of(row: dict[str, Any]) -> bytes:
    given = row.get("path_bytes")
    if given is not None:
        return from_path_bytes(given)
    path: str = row.get("path") or row["name"]
    return path.encode()


async def every_row(ask: Ask, **params: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    offset: int | None = 0
    while offset is not None:
        data = (await ask("search_files", limit=200, offset=offset, **params))["data"]
        rows += data["results"]
        offset = data["next_offset"]
    return rows


async def compare(ask: Ask, fresh: Fresh, other: Other, consistency: str = "verified") -> None:
    """Names, rows and one listing against what is there; nothing may change meanwhile."""
    dice = other.dice
    found = [name_of(row) for row in await every_row(ask, pattern="", target="files", consistency=consistency)]
    assert found == list(fresh.files)
    pattern = dice.choice(PATTERNS)
    rows = [(name_of(row), row["line"]) for row in await every_row(ask, pattern=pattern, consistency=consistency)]
    assert rows == fresh.rows(pattern), pattern
    queries = [{"pattern": pattern, "file_pattern": "", "dir": "."}]
    counted = await ask("find_files", queries=queries, limit=1000, mode="search", consistency=consistency)
    assert counted["data"]["total"] == len({path for path, _line in rows})
    directory = dice.choice(list(fresh.directories))
    listed = await ask("list_dir", path=os.fsdecode(directory) or ".") if is_text(directory) else None
    if listed is not None:
        shown = {name_of(entry): entry["ignored"] for entry in listed["data"]["entries"]}
        shown = {name: ignored for name, ignored in shown.items() if name not in (b".git", b".picoclaw")}
        assert shown == fresh.directories[directory]


def is_text(path: bytes) -> bool:
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True


async def run_in_house(
    base: Path, steps: int, seed: int, command: tuple[str, ...] | None, options: Options | None = None
) -> None:
    """A workspace in process, its watcher as faulty as `command` makes it."""
    with Other(base, seed) as other:
        house = House(other.root, options, watcher_command=command)
        try:
            async with trio.open_nursery() as nursery:
                await house.start_index(nursery)

                async def ask(method: str, **params: Any) -> dict[str, Any]:
                    return await house.call(method, session=house.operator, **params)

                for step in range(steps):
                    await trio.to_thread.run_sync(other.step)
                    await compare(ask, look(os.fsencode(other.root)), other)
                    if options is not None and step % 3 == 0:
                        await note_again(house)
                nursery.cancel_scope.cancel()
        finally:
            house.close()


class SmallCorpus(Corpus):
    """Bundles and columns of a few files; counts the rounds in which everything was noted."""

    def __init__(self, root_fd: int, contents: Contents, trust: Trust, new_matrix: Callable[[], Matrix]) -> None:
        super().__init__(root_fd, contents, trust, new_matrix, bundle_bytes=200, join_bytes=1, column_bytes=200)
        self.rounds = 0

    def note(self) -> int:
        looked = super().note()
        self.rounds += not looked
        return looked


async def note_again(house: House) -> None:
    """Have what is old enough to be believed joined and noted."""
    corpus = house.workspace.index.contents
    assert isinstance(corpus, SmallCorpus)
    await trio.sleep(0.03)
    before = corpus.rounds
    house.workspace.index.judge_again()  # makes a sweep due, and that another round
    with trio.fail_after(20):
        while corpus.rounds == before:  # noqa: ASYNC110 - a thread is at work
            await trio.sleep(0.001)


async def run_with_daemon(base: Path, steps: int, seed: int) -> None:
    """The real daemon, over its socket, with its own watcher."""
    with Other(base, seed) as other, Daemon(base, root=other.root) as daemon, daemon.operator() as client:

        async def ask(method: str, **params: Any) -> dict[str, Any]:
            return client.call(method, **params)

        for _ in range(steps):
            other.step()
            await compare(ask, look(os.fsencode(other.root)), other)


WATCHERS = {
    "off": None,
    "losing half": (sys.executable, FAULTY, "half", "0.05"),
    "twice": (sys.executable, FAULTY, "twice", "0.05"),
}


async def test_a_verified_search_is_right_after_every_change(tmp_path: Path) -> None:
    await run_with_daemon(tmp_path, 100, 1)


@pytest.mark.parametrize("watcher", list(WATCHERS))
async def test_a_verified_search_is_right_whatever_the_watcher_says(tmp_path: Path, watcher: str) -> None:
    await run_in_house(tmp_path, 70, 2, WATCHERS[watcher])


async def test_a_verified_search_is_right_on_a_file_system_in_memory() -> None:
    if not os.access(MEMORY, os.W_OK):
        pytest.skip(f"{MEMORY} cannot be written")
    with tempfile.TemporaryDirectory(dir=MEMORY) as base:
        await run_in_house(Path(base), 100, 7, WATCHERS["twice"])


BUDGETS = {"for a few": Options(text_cache_bytes=5_000), "for none": Options(text_cache_bytes=0)}


@pytest.mark.parametrize("budget", list(BUDGETS))
async def test_a_verified_search_is_right_where_texts_stay_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: str
) -> None:
    monkeypatch.setattr("picoclawd.workspace.index.Corpus", SmallCorpus)
    await run_in_house(tmp_path, 70, 5, WATCHERS["twice"], BUDGETS[budget])


@pytest.mark.parametrize("overlooks", ["all", "those that a filter leaves out"])
async def test_a_search_that_overlooks_changed_files_on_disk_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overlooks: str
) -> None:
    if overlooks == "all":
        monkeypatch.setattr(Trust, "facts", lambda _self, stat: (stat.st_ino, stat.st_size))
    else:
        monkeypatch.setattr(Corpus, "_changed", lambda *_: [])
    monkeypatch.setattr("picoclawd.workspace.index.Corpus", SmallCorpus)
    with pytest.RaisesGroup(AssertionError):
        await run_in_house(tmp_path, 1_000, 6, None, BUDGETS["for none"])


class WithoutRacyRule(Trust):
    """Believes each stat, however young, of a clock with steps of half a second."""

    def facts(self, stat: os.stat_result) -> Facts:
        ctime_ns, mtime_ns, *others = super().facts(stat)
        return (ctime_ns // 500_000_000, mtime_ns // 500_000_000, *others)

    def settles(self, stat: os.stat_result, taken_ns: int) -> bool:
        return True


@pytest.mark.parametrize("trust", [WithoutCtime, WithoutRacyRule])
async def test_an_index_that_believes_too_much_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trust: type[Trust]
) -> None:
    monkeypatch.setattr("picoclawd.workspace.index.Trust", trust)
    with pytest.RaisesGroup(AssertionError):
        await run_in_house(tmp_path, 500, 4, None)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10, 20))
async def test_a_verified_search_is_right_for_long(tmp_path: Path, seed: int) -> None:
    watcher = list(WATCHERS)[seed % 3]
    if seed % 2:
        await run_with_daemon(tmp_path, 5_000, seed)
    else:
        await run_in_house(tmp_path, 5_000, seed, WATCHERS[watcher])


def test_a_watched_search_sees_own_writes_at_once_and_others_soon(tmp_path: Path) -> None:
    with Other(tmp_path, 3) as other, Daemon(tmp_path, root=other.root) as daemon, daemon.client() as client:
        for number in range(30):
            other.step()
            token = f"token{number}x"
            client.call("write_file", path=f"own{number % 5}.txt", content=f"{token}\n", overwrite=True)
            found = client.call("search_files", pattern=token, consistency="watched")
            assert [row["path"] for row in found["data"]["results"]] == [f"own{number % 5}.txt"]
        fresh = look(os.fsencode(other.root))
        end = time.monotonic() + 20
        while True:
            data = client.call("search_files", pattern="", target="files", limit=200, consistency="watched")["data"]
            if {name_of(row) for row in data["results"]} == set(list(fresh.files)[:200]):
                break
            assert time.monotonic() < end, "changes by another process were not seen"
            time.sleep(0.05)


def test_a_watched_search_sees_changes_of_files_on_disk(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, {"daemon.text_cache_bytes": 0})
    for number in range(100):  # before the start: what comes later is loaded with the next sweep
        daemon.write(f"{number}.txt", "nothing\n")
    with daemon, daemon.client() as client:
        end = time.monotonic() + 20

        def found(token: str) -> list[str]:
            data = client.call("search_files", pattern=token, consistency="watched")["data"]
            return [row["path"] for row in data["results"]]

        while client.call("workspace.status")["data"]["index"]["done"] < 100:
            assert time.monotonic() < end
            time.sleep(0.02)
        client.call("write_file", path="7.txt", content="token one\n", overwrite=True)
        assert found("token one") == ["7.txt"]
        daemon.write("8.txt", "token two\n")
        while found("token two") != ["8.txt"]:
            assert time.monotonic() < end, "a change by another process was not seen"
            time.sleep(0.02)


def test_three_agents_see_each_others_changes_at_once(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        for number in range(200):
            daemon.write(f"src/d{number % 9}/f{number}.py", f"def f{number}():\n    return {number}\n")
        agents = [daemon.client() for _ in range(3)]
        for number in range(60):
            writer, reader, other = (agents[(number + turn) % 3] for turn in range(3))
            path = f"src/d{number % 9}/f{number}.py"
            writer.call("edit_file", path=path, old_text=f"return {number}", new_text=f"return answer_{number}_")
            found = reader.call("search_files", pattern=f"answer_{number}_")
            assert [row["path"] for row in found["data"]["results"]] == [path]
            other.call("write_file", path=f"src/new{number}.py", content=f"fresh_{number}_\n")
            queries = [{"pattern": f"fresh_{number}_|answer_{number}_", "file_pattern": "**/*.py"}]
            found = reader.call("find_files", queries=queries, consistency="watched")
            assert [row["path"] for row in found["data"]["results"]] == [path, f"src/new{number}.py"]
            names = writer.call("search_files", pattern=f"new{number}.py", target="files")
            assert names["data"]["results"] == [{"path": f"src/new{number}.py"}]


def test_a_hostile_search_is_cancelled_in_the_middle_and_others_are_served_until_then(tmp_path: Path) -> None:
    """It would run into its deadline of 30 s: a stalled reader, or a cancellation that waits, would find it ended."""
    with Daemon(tmp_path) as daemon, daemon.client() as searcher, daemon.client() as reader:
        dice = random.Random(1)
        for number in range(60):
            letters = format(dice.getrandbits(200_000), "0200000b").translate({48: "a", 49: "b"})
            lines = [letters[start : start + 1000] for start in range(0, len(letters), 1000)]
            daemon.write(f"big/{number}.txt", "\n".join(["x c z", *lines]))
        daemon.write("small.txt", "x\n")
        queries = [{"pattern": "[ab]*a[ab]{400}c|x.{60}z", "file_pattern": "*"}]
        number = searcher.start("find_files", {"queries": queries})
        for _ in range(100):
            assert "x\n" in reader.call("read_file", path="small.txt")["content"]
        searcher.send(b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}\n' % number)
        assert searcher.answer(number)["error"]["code"] == -32800


def test_the_status_tells_how_far_the_index_is(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        for number in range(20):
            daemon.write(f"{number}.txt", "x\n")
        end = time.monotonic() + 20
        while (status := client.call("workspace.status"))["data"]["index"]["state"] != "ready":
            assert time.monotonic() < end
            time.sleep(0.02)
        assert "index: ready" in status["content"]
        assert status["data"]["index"].keys() >= {"trigrams", "files", "directories", "text_bytes", "done", "total"}
        assert status["data"]["watcher"]["state"] in ("ok", "degraded")
