"""Which files a search looks at: from the tree and from a walk alike."""

import random
import threading
from collections.abc import Callable
from functools import partial

import pytest
import trio

from picoclawd.errors import Fault, Slug
from picoclawd.files.threads import Lane
from picoclawd.index.watcher import COMMAND
from picoclawd.workspace.scope import Candidates, OutOfTimeError
from tests.house import House

FORMS = ("", "a", "b/", "*.x", "*a*", "a/**", "**/b/*.y", "{a,b}.x", "[ab]?.*", "c/d", "\n", "é")


def no_poll(_looked: int) -> None:
    return


async def candidates(house: House, form: str = "", path: str = ".") -> Candidates:
    finder = house.workspace.finder
    place = await finder.place(house.workspace.parse(path))
    return await finder.find(place, form, None, no_poll)


async def test_the_tree_and_a_walk_choose_the_same(house: House, nursery: trio.Nursery) -> None:
    dice = random.Random(3)
    for _ in range(120):
        name = "/".join(dice.choice(("a", "b", "c", "d", "é")) for _ in range(dice.randint(0, 3)))
        last = dice.choice("ab") + dice.choice(("", "1", "li\nne")) + dice.choice((".x", ".y"))
        house.write(f"{name}/{last}".lstrip("/"), "")
    house.write_bytes_name(b"caf\xe9.x", b"")
    house.write(".gitignore", "b/c/\n*1.x\n")
    (house.root / "link.x").symlink_to("caf")
    (house.root / "a/link.x").symlink_to("../.gitignore")
    walked = [(form, path, (await candidates(house, form, path))) for form in FORMS for path in (".", "a", "b/c")]
    await house.start_index(nursery)
    for form, path, found in walked:
        again = await candidates(house, form, path)
        assert (again.files, again.skipped) == (found.files, found.skipped), (form, path)


async def test_what_is_at_hand_waits_for_nobody_in_the_lane(
    make_house: Callable[..., House], nursery: trio.Nursery
) -> None:
    # A page of what is everywhere waited for the names that another search was having verified.
    house = make_house(watcher_command=COMMAND)
    house.write("a.txt", "needle\n")
    (house.root / "link").symlink_to("a.txt")
    (house.root / "out").symlink_to("..")
    await house.start_index(nursery)
    search = partial(house.call, "search_files", pattern="needle", consistency="watched")
    with trio.fail_after(30):
        while (first := await search())["data"]["consistency"] != "watched":  # noqa: ASYNC110 - until it watches
            await trio.sleep(0.01)
    await search()
    assert [row["path"] for row in first["data"]["results"]] == ["a.txt", "link"]
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        go_on.wait(30)

    async with trio.open_nursery() as holding:
        holding.start_soon(house.workspace.threads.run, Lane.INDEX, hold)
        while not held.is_set():  # noqa: ASYNC110 - a thread sets it
            await trio.sleep(0.001)
        try:
            with trio.fail_after(10):
                assert (await search())["data"] == first["data"]
        finally:
            go_on.set()


async def test_a_walk_that_runs_out_of_time_gives_what_it_has(house: House) -> None:
    for number in range(1200):
        house.write(f"{number:04}", "")

    def poll(looked: int) -> None:
        if looked >= 500:
            raise OutOfTimeError

    place = await house.workspace.finder.place(house.workspace.parse("."))
    found = await house.workspace.finder.find(place, "", None, poll)
    assert not found.complete
    assert found.files == [b"%04d" % number for number in range(500)]


async def test_a_cancelled_walk_ends(house: House) -> None:
    house.write("a", "")

    def poll(looked: int) -> None:
        raise Fault(Slug.CANCELLED, "cancelled")

    place = await house.workspace.finder.place(house.workspace.parse("."))
    with pytest.raises(Fault):
        await house.workspace.finder.find(place, "", None, poll)


async def test_a_named_file_is_its_scope_whatever_its_name(house: House) -> None:
    house.write(".gitignore", "*.log\n")
    house.write("a.log", "")
    assert (await candidates(house, "*.py", "a.log")).files == [b"a.log"]


async def test_a_directory_outside_that_was_exchanged_for_a_link_is_not_walked(
    make_house: Callable[..., House],
) -> None:
    house = make_house(allow_read=(r"/out/open(/|$)",))
    outside = house.root.parent / "out"
    for name in ("open", "closed"):
        (outside / name).mkdir()
        (outside / name / "a.txt").write_text("x")
    finder = house.workspace.finder
    place = await finder.place(house.workspace.parse(str(outside / "open")))
    assert (await finder.find(place, "", None, no_poll)).files == [b"a.txt"]
    (outside / "open").rename(outside / "was")
    (outside / "open").symlink_to("closed")
    with pytest.raises(Fault):
        await finder.find(place, "", None, no_poll)


async def test_a_link_that_leads_to_a_file_only_now_is_searched(house: House, nursery: trio.Nursery) -> None:
    house.write(".gitignore", "hidden/\n")
    house.write("a.txt", "needle\n")
    (house.root / "hidden").mkdir()
    (house.root / "link").symlink_to("hidden/b.txt")
    await house.start_index(nursery)
    queries = [{"pattern": "needle", "file_pattern": "*"}]
    for wanted in (1, 2, 1):
        for _ in range(2):
            assert (await house.call("find_files", queries=queries))["data"]["total"] == wanted
        if wanted == 1:
            house.write("hidden/b.txt", "needle\n")
        else:
            (house.root / "hidden/b.txt").unlink()
