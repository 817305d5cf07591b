"""The index as a service: it builds, loads, says how far it is, and is right with and without hints."""

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from picoclawd.errors import Fault, Slug
from picoclawd.files.threads import Lane
from picoclawd.index.contents import Allowance, Text
from picoclawd.index.requirements import Literal, trigram_query
from picoclawd.index.scan import never
from picoclawd.workspace.index import Known
from picoclawd.workspace.workspace import Options
from tests.house import House
from tests.index.model_tree import QUICK

MANY = 1_000_000


def no_poll(_looked: int) -> None:
    return


async def files_of(house: House, scope: bytes = b"", wanted: Any = "verified") -> list[bytes]:
    known = await house.workspace.index.known(scope, wanted, MANY, no_poll)
    assert known is not None
    return known.names.files.lines()


async def test_before_it_is_built_nothing_is_known(house: House) -> None:
    assert await house.workspace.index.known(b"", None, MANY, no_poll) is None
    assert house.workspace.index.state().state == "cold"
    assert house.workspace.index.watcher_state().state == "off"


async def test_names_are_verified_for_every_scope(house: House, nursery: trio.Nursery) -> None:
    house.write("a/b/c.txt", "x")
    await house.start_index(nursery)
    house.write("a/d.txt", "x")
    assert await files_of(house) == [b"a/b/c.txt", b"a/d.txt"]
    assert await files_of(house, b"a/b") == [b"a/b/c.txt"]
    assert await house.workspace.index.known(b"none", "verified", MANY, no_poll) is None


async def test_texts_are_loaded_in_the_background_and_the_progress_is_told(house: House, nursery: trio.Nursery) -> None:
    for number in range(300):
        house.write(f"{number}.txt", "x\n")
    await trio.sleep(0.03)  # out of the racy window
    await house.start_index(nursery)
    with trio.fail_after(10):
        while house.workspace.index.state().done < 300:  # noqa: ASYNC110 - a thread is at work
            await trio.sleep(0.01)
    state = house.workspace.index.state()
    assert (state.state, state.files, state.directories) == ("ready", 300, 1)
    assert (state.done, state.total) == (300, 300)
    assert state.text_bytes > 600
    found = house.workspace.index.contents.text(b"0.txt", Allowance(0, 0))
    assert isinstance(found, Text)


async def test_where_the_budget_is_full_only_trigrams_are_kept(
    make_house: Callable[..., House], nursery: trio.Nursery
) -> None:
    house = make_house(options=Options(text_cache_bytes=10_000))
    for number in range(200):
        house.write(f"{number:03}.txt", b"x" * 1000)
    await trio.sleep(0.03)
    await house.start_index(nursery)
    await noted(house)
    state = house.workspace.index.state()
    assert (state.done, state.total) == (200, 200)
    contents = house.workspace.index.contents
    assert contents.statistics().files == 7
    assert contents.select([b"100.txt"], trigram_query(Literal(b"xyz")), verified=True, stop=never).parts == []
    assert contents.select([b"100.txt"], trigram_query(Literal(b"xxx")), verified=True, stop=never).parts != []


async def noted(house: House) -> None:
    """Wait until all trigrams are known."""
    with trio.fail_after(10):
        while house.workspace.index.state().trigrams != "ready":  # noqa: ASYNC110 - a thread is at work
            await trio.sleep(0.01)


async def test_files_beyond_what_is_kept_account_of_are_told(
    make_house: Callable[..., House], nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("picoclawd.index.noting.COLUMNS_MAX", 1)
    monkeypatch.setattr("picoclawd.index.noting.COLUMN_FILES_MAX", 50)
    house = make_house(options=Options(text_cache_bytes=0))
    for number in range(200):
        house.write(f"{number:03}.txt", b"needle\n")
    await trio.sleep(0.03)
    await house.start_index(nursery)
    await noted(house)
    state = house.workspace.index.state()
    assert 0 < state.done == state.total < 200
    queries = [{"pattern": "needle", "file_pattern": "*"}]
    assert (await house.call("find_files", queries=queries))["data"]["total"] == 200


async def test_an_own_write_that_the_tree_cannot_take_in_is_no_failure(
    house: House, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.start_index(nursery)

    def fails(path: bytes, *, is_file: bool) -> None:
        raise Fault(Slug.PATH_BUSY, "busy")

    monkeypatch.setattr(house.workspace.index.tree, "noted", fails)
    assert (await house.call("write_file", path="a.txt", content="needle\n"))["data"]["success"]
    assert await files_of(house) == [b"a.txt"]


async def test_watched_names_hold_what_the_watcher_told(
    make_house: Callable[..., House], nursery: trio.Nursery
) -> None:
    house = make_house(watcher_command=QUICK)
    house.write("a/b.txt", "x")
    await house.start_index(nursery)
    known = await watched(house)
    assert known.names.files.lines() == [b"a/b.txt"]
    house.write("a/c.txt", "x")
    assert (await watched(house)).names.files.lines() == [b"a/b.txt", b"a/c.txt"]


async def watched(house: House) -> Known:
    """Ask until the watcher is there to be trusted."""
    with trio.fail_after(20):
        while True:
            known = await house.workspace.index.known(b"", "watched", MANY, no_poll)
            assert known is not None
            if known.consistency == "watched":
                return known
            await trio.sleep(0.02)


async def test_a_new_policy_is_heeded_before_the_next_watched_answer(
    make_house: Callable[..., House], nursery: trio.Nursery
) -> None:
    house = make_house(watcher_command=QUICK, unprotect=(r"\.env$",))
    house.write(".env", "x")
    house.write("a.txt", "x")
    await house.start_index(nursery)
    assert (await watched(house)).names.files.lines() == [b".env", b"a.txt"]
    plain = House(house.root)
    house.workspace.reconfigure(plain.rooted.policy, house.workspace.options)
    plain.close()
    assert await files_of(house, wanted="watched") == [b"a.txt"]


async def test_large_scopes_are_watched_and_say_why_where_they_cannot_be(
    make_house: Callable[..., House], nursery: trio.Nursery
) -> None:
    command = ("/bin/false",)
    house = make_house(watcher_command=command)
    for number in range(5):
        house.write(f"{number}", "x")
    await house.start_index(nursery)
    await trio.sleep(0.05)
    known = await house.workspace.index.known(b"", None, 2, no_poll)
    assert known is not None
    assert known.consistency == "verified"
    assert known.degraded
    small = await house.workspace.index.known(b"", None, 5, no_poll)
    assert small is not None
    assert small.degraded is None


async def test_texts_of_removed_files_are_dropped_by_a_sweep(house: House, nursery: trio.Nursery) -> None:
    for number in range(10):
        house.write(f"{number}.txt", "x\n")
    await trio.sleep(0.03)
    await house.start_index(nursery)
    contents = house.workspace.index.contents
    for number in range(10):
        contents.text(b"%d.txt" % number, Allowance(MANY, MANY))
    assert contents.statistics().files == 10
    for number in range(9):
        os.unlink(house.root / f"{number}.txt")
    house.workspace.index.judge_again()  # makes a sweep due
    with trio.fail_after(10):
        while contents.statistics().files > 1:  # noqa: ASYNC110 - a thread is at work
            await trio.sleep(0.01)


async def test_a_search_that_is_cancelled_takes_no_hints_with_it(house: House) -> None:
    index, threads, thread_is_free = house.workspace.index, house.workspace.threads, threading.Event()
    await threads.run(Lane.INDEX, index.tree.build)
    house.write("f.txt", "x")
    index._on_dirty(frozenset([os.fsencode(house.root)]), frozenset())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(threads.run, Lane.INDEX, thread_is_free.wait, 10)
        await trio.testing.wait_all_tasks_blocked()
        with trio.CancelScope() as search:

            async def give_up() -> None:
                await trio.testing.wait_all_tasks_blocked()
                search.cancel()
                await trio.testing.wait_all_tasks_blocked()
                thread_is_free.set()

            nursery.start_soon(give_up)
            await index._drain_hints()
    assert search.cancelled_caught
    await index._drain_hints()
    names = index.tree.names(b"")
    assert names is not None
    assert names.files.lines() == [b"f.txt"]


async def test_a_great_many_hints_leave_the_loop_to_others(house: House) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        await house.workspace.announcer.touched(b"%d" % number for number in range(10_000))
        assert turns >= 10
        nursery.cancel_scope.cancel()
