"""The thread lanes: each has its own threads, and none is ever abandoned."""

import threading

import pytest
import trio
import trio.lowlevel

from picoclawd.files.threads import Lane, LaneStatistics, Threads
from picoclawd.files.turns import working_for


async def test_the_result_of_the_work_comes_back_from_another_thread() -> None:
    def work(text: str, count: int) -> tuple[str, int]:
        return text * count, threading.get_ident()

    text, thread = await Threads().run(Lane.READ, work, "ab", 2)
    assert text == "abab"
    assert thread != threading.get_ident()


async def test_what_the_work_raises_comes_back() -> None:
    def fail() -> None:
        raise FileNotFoundError("gone")

    with pytest.raises(FileNotFoundError, match="gone"):
        await Threads().run(Lane.COMMIT, fail)


async def test_a_full_lane_does_not_delay_another() -> None:
    threads = Threads(read=1, commit=1, scan=1, history=1)
    release = threading.Event()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(threads.run, Lane.COMMIT, release.wait, 10.0)
            while threads.statistics()[Lane.COMMIT] != LaneStatistics(threads=1, busy=1, waiting=1):
                await trio.lowlevel.checkpoint()
            assert await threads.run(Lane.READ, str, 7) == "7"
            assert not release.is_set()
            release.set()
    assert threads.statistics()[Lane.COMMIT] == LaneStatistics(threads=1, busy=0, waiting=0)


async def test_a_lane_s_turns_go_round_those_who_wait() -> None:
    """One client's thousand big reads had every other client's edit wait for all of them."""
    threads = Threads(read=1)
    release, order = threading.Event(), list[str]()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(threads.run, Lane.READ, release.wait, 10.0)
            while not threads.statistics()[Lane.READ].busy:
                await trio.lowlevel.checkpoint()
            for number, asker in enumerate("aaab", 1):
                with working_for(asker):
                    nursery.start_soon(threads.run, Lane.READ, order.append, asker)
                while threads.statistics()[Lane.READ].waiting < number:
                    await trio.lowlevel.checkpoint()
            release.set()
    assert "".join(order) == "abaa"


async def test_work_that_runs_is_finished_and_its_outcome_told_although_the_caller_is_cancelled() -> None:
    threads = Threads()
    started, release = threading.Event(), threading.Event()
    outcomes: list[str] = []

    def work() -> str:
        started.set()
        assert release.wait(10)
        return "done"

    async def call() -> None:
        outcomes.append(await threads.run(Lane.COMMIT, work))

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await trio.to_thread.run_sync(started.wait, 10)
            nursery.cancel_scope.cancel()
            release.set()
    assert outcomes == ["done"]


async def test_a_call_that_waits_for_a_thread_can_be_cancelled_and_never_runs() -> None:
    threads = Threads(commit=1)
    release = threading.Event()
    ran: list[int] = []
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(threads.run, Lane.COMMIT, release.wait, 10.0)
            while not threads.statistics()[Lane.COMMIT].busy:
                await trio.lowlevel.checkpoint()
            with trio.move_on_after(0.01):
                await threads.run(Lane.COMMIT, ran.append, 1)
            release.set()
    assert ran == []


async def test_the_lanes_have_the_sizes_that_they_were_given() -> None:
    sizes = {lane: row.threads for lane, row in Threads(scan=3).statistics().items()}
    assert sizes == {Lane.READ: 8, Lane.COMMIT: 8, Lane.SCAN: 3, Lane.INDEX: 1, Lane.HISTORY: 1, Lane.SPILL: 2}
    assert Threads().statistics()[Lane.SCAN].threads >= 2
