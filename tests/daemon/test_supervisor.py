"""Tests of what the service manager is told."""

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from picoclawd.daemon.supervisor import Supervisor, status_line, supervisor_of
from picoclawd.files.locks import LockTable
from picoclawd.files.threads import Lane, Threads
from picoclawd.workspace.index import IndexState
from tests.daemon.manager import Manager

LOG = logging.getLogger("tests.supervisor")
READY = IndexState("ready", "ready", 7, 2, 100, 7, 7, None)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with Manager(tmp_path / "notify") as made:
        yield made


def supervisor(manager: Manager, watchdog_s: float | None = None) -> Supervisor:
    return Supervisor(str(manager.path), watchdog_s, LOG)


def test_each_state_is_told_with_what_is_being_done(manager: Manager) -> None:
    told = supervisor(manager)
    before_us = time.monotonic_ns() // 1000
    told.status("opening\nthe history")
    told.ready("serving")
    told.reloading()
    told.ready("reloaded")
    told.stopping("finishing")
    opening, ready, reloading, again, stopping = manager.now()
    assert opening == {"STATUS": "opening\\nthe history"}
    assert ready == {"READY": "1", "STATUS": "serving"}
    assert reloading["RELOADING"] == "1"
    assert before_us <= int(reloading["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
    assert again == {"READY": "1", "STATUS": "reloaded"}
    assert stopping == {"STOPPING": "1", "STATUS": "finishing"}


def test_a_status_is_told_once(manager: Manager) -> None:
    told = supervisor(manager)
    for text in ("a", "a", "b", "a"):
        told.status(text)
    assert [message["STATUS"] for message in manager.now()] == ["a", "b", "a"]


def test_an_abstract_address_is_reached() -> None:
    name = f"@picoclawd-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.settimeout(5)
        end.bind("\0" + name[1:])
        assert Supervisor(name, None, LOG).notify("READY=1")
        assert end.recv(100) == b"READY=1"


@pytest.mark.parametrize("address", ["", "/no/such/socket", "/" + "x" * 200])
def test_without_a_manager_nothing_happens(address: str) -> None:
    assert not Supervisor(address, 1.0, LOG).notify("READY=1")


@pytest.mark.parametrize(
    ("variables", "watchdog_s"),
    [
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_ours_only_where_it_is_meant_for_us(
    variables: dict[str, str], watchdog_s: float | None
) -> None:
    environ = {"NOTIFY_SOCKET": "/n", "PATH": "/bin", **variables}
    assert supervisor_of(environ, 7, LOG).watchdog_s == watchdog_s
    assert environ == {"PATH": "/bin"}


@pytest.mark.parametrize("address", [None, "relative", ""])
def test_a_watchdog_without_an_address_is_none(address: str | None) -> None:
    environ = {"WATCHDOG_USEC": "3000000", **({} if address is None else {"NOTIFY_SOCKET": address})}
    assert supervisor_of(environ, 7, LOG).watchdog_s is None


async def heard(manager: Manager, count: int) -> None:
    """Wait for so many signs of life, which a thread of its own pace gives."""
    with trio.fail_after(30):
        while manager.heard.count({"WATCHDOG": "1"}) < count:
            manager.now()
            await trio.sleep(0.01)


async def complaints(caplog: pytest.LogCaptureFixture, count: int) -> None:
    """Wait until it was said so often that no thread is free."""
    for _ in range(3000):
        if caplog.text.count("no thread was free to commit") >= count:
            return
        await trio.sleep(0.01)
    raise AssertionError(f"said {caplog.text!r} in 30 s")


async def test_signs_of_life_come_and_come_again(manager: Manager) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(supervisor(manager, 0.3).feed, Threads(), LockTable())
        await heard(manager, 4)
        nursery.cancel_scope.cancel()


async def test_without_a_watchdog_feeding_ends_at_once(manager: Manager) -> None:
    with trio.fail_after(5):
        await supervisor(manager).feed(Threads(), LockTable())
    assert manager.now() == []


async def test_a_hanging_thread_starves_the_watchdog_until_it_goes_on(
    manager: Manager, caplog: pytest.LogCaptureFixture
) -> None:
    threads, locks, goes_on = Threads(commit=1), LockTable(), threading.Event()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(threads.run, Lane.COMMIT, goes_on.wait, 60.0)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(supervisor(manager, 0.3).feed, threads, locks)
            await complaints(caplog, 4)  # for longer than systemd would have waited
            assert manager.now() == []
            goes_on.set()
            await heard(manager, 2)
            nursery.cancel_scope.cancel()
    finally:
        goes_on.set()
    assert locks.statistics() == []


async def test_a_lock_that_is_never_given_back_starves_the_watchdog(
    manager: Manager, autojump_clock: trio.testing.MockClock
) -> None:
    locks = LockTable()
    async with locks.hold([(0, 0, b"watchdog")], holder="stuck"):
        with trio.move_on_after(300):
            await supervisor(manager, 30.0).feed(Threads(), locks)
        assert manager.now() == []


async def test_the_status_follows_the_index(manager: Manager, autojump_clock: trio.testing.MockClock) -> None:
    states = iter(
        [
            IndexState("building", "cold", 0, 0, 0, 0, 0, None),
            IndexState("ready", "building", 9, 1, 0, 4, 9, None),
            IndexState("ready", "building", 9, 1, 0, 4, 9, None),
        ]
    )
    with trio.move_on_after(100):
        await supervisor(manager).follow(lambda: next(states, READY), lambda: 1)
    assert [message["STATUS"] for message in manager.now()] == [
        "serving; the names of the workspace are being read",
        "serving; building the index: 4 of 9 files",
        "ready: 7 files in the index, 1 session",
    ]


def test_an_index_that_cannot_be_read_is_told() -> None:
    state = IndexState("cold", "cold", 0, 0, 0, 0, 0, "io_error: no")
    assert status_line(state, 0) == "the index is not whole: io_error: no"
