"""Cookies: made, shared, given up."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from picoclawd.files.threads import Threads
from picoclawd.index.watcher_cookies import CookieDirectory, Cookies


class Jar(CookieDirectory):
    """A directory that only notes what is dropped; `error` is raised, if there is one."""

    def __init__(self) -> None:
        super().__init__(b"/cookies", lambda: -1)
        self.dropped: list[int] = []
        self.error: OSError | None = None

    def drop(self, number: int) -> None:
        if self.error is not None:
            raise self.error
        self.dropped.append(number)


@pytest.fixture
def jar() -> Jar:
    return Jar()


@pytest.fixture
def cookies(jar: Jar) -> Cookies:
    return Cookies(Threads(), jar)


async def until_dropped(jar: Jar, count: int) -> None:
    with trio.fail_after(5):
        while len(jar.dropped) < count:  # noqa: ASYNC110 it happens in a thread
            await trio.sleep(0.001)


async def ask(cookies: Cookies, answers: list[bool]) -> None:
    answers.append(await cookies.ask())


async def test_a_cookie_that_is_seen_is_true(cookies: Cookies, jar: Jar) -> None:
    answers: list[bool] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, cookies, answers)
        await until_dropped(jar, 1)
        cookies.saw(1)
    assert answers == [True]


async def test_a_cookie_that_does_not_come_is_false_after_100_ms(cookies: Cookies) -> None:
    began = trio.current_time()
    assert not await cookies.ask()
    assert 0.1 <= trio.current_time() - began < 1


async def test_callers_share_a_cookie_that_is_made_after_they_asked(cookies: Cookies, jar: Jar) -> None:
    answers: list[bool] = []
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(ask, cookies, answers)
        await until_dropped(jar, 1)
        cookies.saw(1)
        with trio.move_on_after(0.05):
            await until_dropped(jar, 2)
            cookies.saw(2)
    assert answers == [True] * 20
    assert len(jar.dropped) <= 2


async def test_a_cookie_that_was_made_before_is_not_shared(cookies: Cookies, jar: Jar) -> None:
    answers: list[bool] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, cookies, answers)
        await until_dropped(jar, 1)
        nursery.start_soon(ask, cookies, answers)
        await until_dropped(jar, 2)
        cookies.saw(1)
        await trio.testing.wait_all_tasks_blocked()
        assert answers == [True]
        cookies.saw(2)
    assert answers == [True, True]


async def test_a_later_cookie_settles_the_earlier_ones(cookies: Cookies, jar: Jar) -> None:
    answers: list[bool] = []
    async with trio.open_nursery() as nursery:
        for number in (1, 2):
            nursery.start_soon(ask, cookies, answers)
            await until_dropped(jar, number)
        cookies.saw(2)
    assert answers == [True, True]


async def test_a_cookie_never_made_is_no_cookie(cookies: Cookies) -> None:
    with pytest.raises(ValueError, match="a file 7 that is no cookie"):
        cookies.saw(7)


async def test_given_up_cookies_are_false_at_once(cookies: Cookies, jar: Jar) -> None:
    answers: list[bool] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, cookies, answers)
        await until_dropped(jar, 1)
        cookies.give_up()
        await trio.testing.wait_all_tasks_blocked()
        assert answers == [False]


async def test_where_none_can_be_made_there_is_none(cookies: Cookies, jar: Jar) -> None:
    jar.error = OSError(28, "No space left on device")
    assert not await cookies.ask()
    jar.error = FileNotFoundError()
    with pytest.raises(FileNotFoundError):
        await cookies.ask()


async def test_a_caller_who_is_cancelled_leaves_the_next_one_served(cookies: Cookies, jar: Jar) -> None:
    with trio.move_on_after(0):
        await cookies.ask()
    answers: list[bool] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, cookies, answers)
        await until_dropped(jar, 1)
        cookies.saw(1)
    assert answers == [True]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[CookieDirectory]:
    made = CookieDirectory(os.fsencode(tmp_path), lambda: os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY))
    yield made
    made.close()


def test_a_dropped_file_leaves_nothing_behind(directory: CookieDirectory, tmp_path: Path) -> None:
    (tmp_path / "3").touch()  # left by one that was killed
    assert directory.open()
    directory.drop(3)
    assert not os.listdir(tmp_path)


def test_a_removed_directory_is_not_found(directory: CookieDirectory, tmp_path: Path) -> None:
    assert directory.open()
    tmp_path.rmdir()
    with pytest.raises(FileNotFoundError):
        directory.drop(1)
    assert not directory.open()
    with pytest.raises(OSError, match="Bad file descriptor"):
        directory.drop(1)


def test_a_link_in_place_of_a_cookie_is_not_followed(directory: CookieDirectory, tmp_path: Path) -> None:
    (tmp_path / "1").symlink_to("victim")
    assert directory.open()
    with pytest.raises(OSError, match="symbolic links"):
        directory.drop(1)
    assert not (tmp_path / "victim").exists()
