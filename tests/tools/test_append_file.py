"""append_file: in place, through links inside, and under one lock."""

import os
import stat
from functools import partial

import trio

from picoclawd.errors import Slug
from tests.house import House


async def test_text_is_added_in_place_through_a_link(house: House) -> None:
    path = house.write("real.txt", "1\n", 0o640)
    (house.root / "link.txt").symlink_to("real.txt")
    inode = path.stat().st_ino
    result = await house.call("append_file", path="link.txt", content="2")
    assert result["content"] == "Appended to link.txt"
    assert result["display"] is None
    assert (path.read_bytes(), path.stat().st_ino) == (b"1\n2", inode)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (house.root / "link.txt").is_symlink()
    assert (result["data"]["size"], result["data"]["bytes_written"]) == (3, 1)


async def test_a_missing_file_and_its_directories_are_created(house: House) -> None:
    result = await house.call("append_file", path="a/b/new.txt", content="x")
    assert result["content"] == "Appended to a/b/new.txt"
    assert (house.root / "a/b/new.txt").read_text() == "x"


async def test_adding_nothing_changes_nothing(house: House) -> None:
    path = house.write("f.txt", "a")
    before = path.stat().st_mtime_ns
    assert (await house.call("append_file", path="f.txt", content=""))["data"]["action"] == "unchanged"
    assert path.stat().st_mtime_ns == before


async def test_a56_parallel_appends_are_all_there_once(house: House) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(partial(house.call, "append_file", path="log.txt", content=f"{number} {'x' * 300}\n"))
    lines = (house.root / "log.txt").read_text().splitlines()
    assert sorted(int(line.split()[0]) for line in lines) == list(range(50))
    assert {line.split()[1] for line in lines} == {"x" * 300}


async def test_parallel_creates_in_a_missing_directory_lose_nothing(house: House) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(30):
            path = ("n/a/log.txt", "n/b/log.txt", "n/../n/a/log.txt")[number % 3]
            nursery.start_soon(partial(house.call, "append_file", path=path, content=f"{number}\n"))
    lines = [line for name in "ab" for line in (house.root / f"n/{name}/log.txt").read_text().splitlines()]
    assert sorted(map(int, lines)) == list(range(30))


async def test_a55_edits_of_two_callers_both_hold(house: House) -> None:
    for _ in range(20):
        path = house.write("f.txt", "a\nb\nc\n")
        async with trio.open_nursery() as nursery:
            for old in "ac":
                nursery.start_soon(partial(house.call, "edit_file", path="f.txt", old_text=old, new_text=old.upper()))
        assert path.read_text() == "A\nb\nC\n"


async def test_a57_edits_that_grow_and_shrink_leave_no_tail(house: House) -> None:
    path = house.write("f.txt", "start 1 end\nstart 2 end\n")
    for _ in range(10):
        async with trio.open_nursery() as nursery:
            for number, text in ((1, "x" * 500), (2, "y")):
                patch = f"@@\n-start {number} end\n+start {number} {text} end\n"
                nursery.start_soon(partial(house.call, "edit_file", path="f.txt", patch=patch))
        assert path.read_text() == f"start 1 {'x' * 500} end\nstart 2 y end\n"
        path.write_text("start 1 end\nstart 2 end\n")


async def test_a_directory_is_not_appended_to(house: House) -> None:
    (house.root / "d").mkdir()
    await house.fault(Slug.NOT_A_FILE, "append_file", path="d", content="x")


async def test_locks_are_gone_when_nothing_runs(house: House) -> None:
    await house.call("append_file", path="f.txt", content="x")
    assert house.workspace.locks.statistics() == []
    assert not [name for name in os.listdir(house.root) if name.startswith(".picoclawd.")]
