"""What a tool's call waited for is told to whoever made it."""

import os
from collections.abc import Callable
from typing import Any

import trio
import trio.testing

from picoclawd.files.waits import Waits
from picoclawd.tools._call import Asked, call_tool
from picoclawd.workspace import questions
from picoclawd.workspace.actors import Role
from picoclawd.workspace.workspace import Options
from tests.house import House


async def until(holds: Callable[[], object]) -> None:
    """Wait for what threads bring about; 20 s at most."""
    for _ in range(4000):
        if holds():
            return
        await trio.sleep(0.005)
    raise AssertionError("it never came true")


async def call(house: House, waits: Waits, name: str, params: dict[str, Any]) -> None:
    asked = Asked(house.agent, lambda: False, lambda done, total, message: None, waits=waits)
    await call_tool(house.toolbox, house.workspace, name, params, asked)


async def test_a_change_that_waits_for_a_lock(house: House) -> None:
    path = house.write("a.txt", "a\n")
    held = os.stat(house.root)
    waits = Waits()
    async with trio.open_nursery() as nursery:
        async with house.workspace.locks.hold([(held.st_dev, held.st_ino, b"a.txt")], "other"):
            nursery.start_soon(call, house, waits, "append_file", {"path": "a.txt", "content": "b\n"})
            await until(lambda: any(row.waiters for row in house.workspace.locks.statistics()))
    assert path.read_text() == "a\nb\n"
    assert waits.locks_s > 0
    assert waits.person_s == 0


async def test_a_change_that_waits_for_a_person(make_house: Callable[..., House]) -> None:
    house = make_house(options=Options(approvals=questions.Settings()), confirm_write_globs=("*.cfg",))
    waits, asked = Waits(), house.workspace.confirmations
    person = house.session(Role.OPERATOR).actor
    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, house, waits, "write_file", {"path": "a.cfg", "content": "b\n"})
        await until(lambda: asked.unanswered)
        (row,) = asked.pending(person)
        asked.answer(person, row["id"], row["digest"], "once")
    assert (house.root / "a.cfg").read_text() == "b\n"
    assert waits.person_s > 0
    assert waits.locks_s == 0
    assert (asked.unanswered, asked.answers["once"]) == (0, 1)
