"""Changes by others, as the feed tells of them: once, and not ours again."""

import os
from typing import Any

import pytest
import trio

from picoclawd.index.changes import Difference, Found
from picoclawd.index.listing import Kind
from picoclawd.workspace.actors import Role
from picoclawd.workspace.announcer import REMEMBERED_MAX, Announcer
from tests.house import House


class Ear:
    """Collects events of one role; `until` waits for a number of them."""

    def __init__(self, house: House, role: Role = Role.OPERATOR) -> None:
        self.events: list[dict[str, Any]] = []
        self._came = trio.Event()
        session = house.operator if role is Role.OPERATOR else house.agent
        house.workspace.feed.subscribe(self, session.actor, self._deliver)

    def _deliver(self, method: str, params: object) -> bool:
        assert isinstance(params, dict)
        self.events.append({"kind": method, **params})
        self._came.set()
        return True

    async def until(self, count: int) -> list[tuple[Any, ...]]:
        with trio.fail_after(10):
            while len(self.events) < count:
                self._came = trio.Event()
                await self._came.wait()
        return [(each.get("path"), each.get("action"), each.get("by")) for each in self.events]


@pytest.fixture
async def announcer(house: House, nursery: trio.Nursery) -> Announcer:
    nursery.start_soon(house.workspace.announcer.run)
    return house.workspace.announcer


async def test_a_hint_counts_once_and_only_where_the_file_differs(house: House, announcer: Announcer) -> None:
    ear = Ear(house)
    path = house.write("f.txt", "1")
    await announcer.touched([b"f.txt"])
    assert await ear.until(1) == [("f.txt", "modify", "outside")]
    house.write("g.txt", "1")
    await announcer.touched([b"f.txt", b"g.txt"])
    assert (await ear.until(2))[1] == ("g.txt", "modify", "outside")
    os.utime(path, ns=(1, 1))
    await announcer.touched([b"f.txt"])
    assert (await ear.until(3))[2] == ("f.txt", "modify", "outside")


async def test_names_that_came_and_went(house: House, announcer: Announcer) -> None:
    ear = Ear(house)
    path = house.write("f.txt", "1")
    await announcer.named(Difference(created=(Found(b"f.txt", Kind.FILE), Found(b"d", Kind.DIRECTORY))))
    assert await ear.until(1) == [("f.txt", "create", "outside")]
    path.unlink()
    await announcer.named(Difference(removed=(Found(b"f.txt", Kind.FILE),)))
    assert (await ear.until(2))[1] == ("f.txt", "delete", "outside")
    house.write("f.txt", "2")
    await announcer.touched([b"f.txt"])
    assert (await ear.until(3))[2] == ("f.txt", "create", "outside")


async def test_of_a_file_that_came_and_went_the_half_that_was_not_told_is_told(
    house: House, announcer: Announcer
) -> None:
    ear = Ear(house)
    await house.call("write_file", path="f.txt", content="1")
    (house.root / "f.txt").unlink()
    await announcer.named(Difference(passing=(b"f.txt", b"never told.txt")))
    assert [event[:2] for event in await ear.until(2)] == [("f.txt", "create"), ("f.txt", "delete")]
    house.write("f.txt", "2")
    await announcer.named(Difference(passing=(b"f.txt",)))
    assert (await ear.until(3))[2] == ("f.txt", "create", "outside")
    await announcer.named(Difference(passing=(b"f.txt",)))
    house.write("g.txt", "1")
    await announcer.touched([b"g.txt"])
    assert (await ear.until(4))[3][0] == "g.txt", "told once"


async def test_an_editor_that_deletes_and_creates_has_modified(house: House, announcer: Announcer) -> None:
    ear = Ear(house)
    house.write("f.txt", "1")
    await announcer.named(Difference(removed=(Found(b"f.txt", Kind.FILE),)))
    assert await ear.until(1) == [("f.txt", "modify", "outside")]


async def test_a_file_that_came_and_went_unseen_is_no_news(house: House, announcer: Announcer) -> None:
    ear = Ear(house)
    await announcer.named(Difference(created=(Found(b"gone.txt", Kind.FILE),)))
    await announcer.touched([b"never.txt"])
    house.write("f.txt", "1")
    await announcer.touched([b"f.txt"])
    assert [path for path, _, _ in await ear.until(1)] == ["f.txt"]


async def test_names_that_a_changed_rule_shows_or_hides_are_no_news(house: House, announcer: Announcer) -> None:
    ear = Ear(house)
    house.write("f.txt", "1")
    await announcer.named(Difference(created=(Found(b"f.txt", Kind.FILE),), rules_changed=True))
    house.write("g.txt", "1")
    await announcer.touched([b"g.txt"])
    assert [path for path, _, _ in await ear.until(1)] == ["g.txt"]


async def test_our_own_writes_are_told_once_with_their_author(recorded: House, nursery: trio.Nursery) -> None:
    ear = Ear(recorded)
    nursery.start_soon(recorded.workspace.announcer.run)
    await recorded.call("write_file", path="f.txt", content="1")
    await recorded.workspace.announcer.touched([b"f.txt"])
    await recorded.workspace.announcer.named(Difference(created=(Found(b"f.txt", Kind.FILE),)))
    recorded.write("g.txt", "1")
    await recorded.workspace.announcer.touched([b"g.txt"])
    assert [(path, by == "outside") for path, _, by in await ear.until(2)] == [("f.txt", False), ("g.txt", True)]


async def test_a_hint_that_comes_while_we_write_is_looked_at_afterwards(house: House, announcer: Announcer) -> None:
    ear = Ear(house)
    house.write("f.txt", "ours")
    with announcer.changing(b"f.txt"):
        await announcer.touched([b"f.txt"])
        house.write("g.txt", "1")
        await announcer.touched([b"g.txt"])
        assert [path for path, _, _ in await ear.until(1)] == ["g.txt"]
        announcer.note(b"f.txt", None)
    house.write("f.txt", "theirs")
    await house.call("write_file", path="f.txt", content="theirs", overwrite=True)
    await announcer.touched([b"f.txt"])
    assert (await ear.until(2))[1] == ("f.txt", "create", "outside")


async def test_protected_files_are_for_operators_only(house: House, announcer: Announcer) -> None:
    operator, agent = Ear(house), Ear(house, Role.AGENT)
    house.write(".env", "K=1")
    house.write("f.txt", "1")
    await announcer.touched([b".env", b"f.txt"])
    assert [path for path, _, _ in await operator.until(2)] == [".env", "f.txt"]
    assert [path for path, _, _ in await agent.until(1)] == ["f.txt"]


async def test_lost_hints_are_said_to_be(house: House, announcer: Announcer) -> None:
    ear = Ear(house)
    announcer.lost()
    await announcer.named(Difference(complete=False))
    await ear.until(2)
    assert [event["kind"] for event in ear.events] == ["resync", "resync"]


async def test_only_so_many_files_are_remembered(house: House) -> None:
    announcer = house.workspace.announcer
    for number in range(REMEMBERED_MAX + 10):
        announcer.note(b"%d" % number, None)
    assert len(announcer._seen) == REMEMBERED_MAX
