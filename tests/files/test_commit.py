"""Commits as a whole: killed at every system call, many at once, and in the order of their locks."""

import functools
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from picoclawd.files import commit, stamps, temps
from picoclawd.files.locks import LockTable
from picoclawd.files.threads import Lane, Threads
from tests.crashes import Crashes, crashes_of
from tests.files.conftest import Folder

OLD, NEW = "old bytes, of some length\n" * 400, "the new ones\n" * 1000


@pytest.fixture(scope="module")
def crashes() -> Iterator[Crashes]:
    with crashes_of("tests.files.crash_child") as made:
        yield made


def _is_whole(action: str, left: str | None) -> bool:
    """P1: the old file or the new one; of an append the old bytes and a prefix of the addition."""
    if action == "append":
        return left is not None and left.startswith(OLD) and (OLD + NEW).startswith(left)
    return left in ((None, NEW) if action == "create" else (OLD, NEW))


def _prepare(folder: Folder, action: str) -> None:
    for name in folder.names():
        (folder.path / name).unlink()
    if action != "create":
        folder.put(OLD.encode())


@pytest.mark.parametrize("action", ["replace", "create", "append"])
def test_a_commit_killed_at_any_system_call_leaves_the_old_file_or_the_new_one(
    folder: Folder, crashes: Crashes, action: str, tmp_path: Path
) -> None:
    _prepare(folder, action)
    rules = crashes.calls(folder.path, action, NEW, tmp_path / "log")
    outcomes = []
    for rule in rules:
        _prepare(folder, action)
        assert crashes.kill(folder.path, action, NEW, rule), rule
        path = folder.path / "notes.txt"
        left = path.read_text() if path.exists() else None
        assert _is_whole(action, left), f"torn by {rule}"
        outcomes.append(left == (OLD + NEW if action == "append" else NEW))
        assert all(temps.is_temp(name.encode()) for name in set(folder.names()) - {"notes.txt"}), rule
    assert len(rules) > 8, "every commit makes more calls than that"
    assert outcomes == sorted(outcomes), "once it has taken effect, it stays"
    assert set(outcomes) == {False, True}, "some kills came before it took effect, some after"


async def _append_under_lock(folder: Folder, table: LockTable, threads: Threads, line: bytes) -> None:
    async with table.hold([(0, 0, b"notes.txt")], "appender"):
        work = functools.partial(
            commit.append,
            folder.target(),
            line,
            expected=folder.stamp() if (folder.path / "notes.txt").exists() else None,
            create_mode=0o600,
            refuse_hardlinks=True,
        )
        await threads.run(Lane.COMMIT, work)


async def test_a56_fifty_appends_at_once_all_arrive_once_and_whole(folder: Folder) -> None:
    table, threads = LockTable(), Threads()
    lines = [b"line %d, of its writer's own\n" % number for number in range(50)]
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            for line in lines:
                nursery.start_soon(_append_under_lock, folder, table, threads, line)
    assert sorted(folder.bytes().splitlines(keepends=True)) == sorted(lines)


def _toggle(old: bytes, word: bytes) -> bytes:
    """Remove the word where it is, else append it: edits that shrink and grow."""
    return old.replace(word, b"") if word in old else old + word


async def test_a57_parallel_edits_that_shrink_and_grow_a_file_end_in_some_serial_order(folder: Folder) -> None:
    table, threads = LockTable(), Threads()
    folder.put(b"")
    order: list[bytes] = []
    chance = random.Random(57)

    def edit(word: bytes) -> None:
        expected = folder.stamp()
        old = folder.bytes()
        new = _toggle(old, word)
        commit.replace(folder.target(), new, expected, old=old)
        commit.read_back(folder.target(), new)
        order.append(word)

    async def editor(word: bytes) -> None:
        for _ in range(20):
            async with table.hold([(0, 0, b"notes.txt")], "editor"):
                await threads.run(Lane.COMMIT, edit, word)

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(editor, b"<%d:%s>" % (number, b"x" * chance.randint(1, 5000)))
    assert len(order) == 160
    assert folder.bytes() == functools.reduce(_toggle, order, b"")
    assert folder.names() == ["notes.txt"]


def test_the_answer_is_the_stamp_that_the_next_change_expects(folder: Folder) -> None:
    done = commit.create(folder.target(), b"0", 0o600)
    for number in range(1, 20):
        if number % 2:
            done = commit.append(folder.target(), b"x", expected=done.stamp, create_mode=None, refuse_hardlinks=True)
        else:
            done = commit.replace(folder.target(), b"%d" % number, done.stamp)
        assert done.stamp == stamps.of((folder.path / "notes.txt").stat())
    assert re.fullmatch(b"18x", folder.bytes())
