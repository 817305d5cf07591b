"""Answers on the loop. What a call answers is tested with each tool."""

import os
import time
from typing import Any

import msgspec
import pytest

from picoclawd.errors import Slug
from picoclawd.tools._call import Asked, Toolbox, call_at_once
from picoclawd.tools.read_file import ReadFileSettings
from picoclawd.workspace.sessions import Session
from picoclawd.workspace.workspace import Options
from tests.house import House

TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def at_once(house: House, session: Session | None = None, toolbox: Toolbox | None = None, **params: Any) -> Any:
    asked = Asked(session or house.agent, lambda: False, lambda done, total, message: None)
    answer = call_at_once(toolbox or house.toolbox, house.workspace, "read_file", params, asked)
    return None if answer is None else msgspec.json.decode(answer)


@pytest.fixture
def settled(house: House) -> House:
    """A house with one file that was last changed so long ago that its text is kept."""
    old_ns = time.time_ns() - 10_000_000_000
    os.utime(house.write("f.txt", f"one\n{TOKEN}\n"), ns=(old_ns, old_ns))
    time.sleep(0.03)  # ctime cannot be set: wait until it is older than the racy window
    if at_once(house, path="f.txt") is None:
        pytest.skip("this file system does not read without waiting")
    assert house.workspace.reader.statistics()["files"] == 1
    return house


async def test_what_is_answered_at_once_is_what_the_call_answers(settled: House) -> None:
    for params in ({}, {"mode": "lines"}, {"offset": 2, "length": 3}, {"offset": 99}):
        for session in (settled.agent, settled.operator):
            answers = [at_once(settled, session, path="f.txt", **params) for _ in range(3)]
            assert answers == [await settled.call("read_file", session=session, path="f.txt", **params)] * 3


def test_a_kept_answer_is_for_readers_who_see_the_same(settled: House) -> None:
    assert TOKEN in at_once(settled, settled.operator, path="f.txt")["content"]
    assert TOKEN not in at_once(settled, path="f.txt")["content"]
    assert TOKEN in at_once(settled, settled.operator, path="f.txt")["content"]


def test_a_kept_answer_is_for_one_state_of_the_file(settled: House) -> None:
    at_once(settled, path="f.txt")
    settled.write("f.txt", "two\n")
    assert at_once(settled, path="f.txt")["content"].endswith("two\n")


def test_a_kept_answer_is_for_one_configuration(settled: House) -> None:
    assert at_once(settled, path="f.txt")["data"]["eof"]
    tool, _ = settled.toolbox.entries["read_file"]
    small = Toolbox({"read_file": (tool, ReadFileSettings(max_read_file_size=2))})
    assert at_once(settled, toolbox=small, path="f.txt")["data"]["length"] == 2
    settled.workspace.options = Options(inline_chars=10)
    assert at_once(settled, path="f.txt") is None  # too long now: it is to be spilled, which waits


async def test_a_kept_answer_is_no_way_around_the_policy(settled: House) -> None:
    at_once(settled, path="f.txt")
    (settled.root / ".ssh").mkdir()
    os.rename(settled.root / "f.txt", settled.root / ".ssh" / "id_rsa")
    os.symlink(".ssh/id_rsa", settled.root / "f.txt")
    assert at_once(settled, path="f.txt") is None
    await settled.fault(Slug.PROTECTED_PATH, "read_file", path="f.txt")
