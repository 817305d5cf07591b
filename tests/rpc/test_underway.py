"""A named change is under way from being read until its end, whatever becomes of its connection."""

import pytest
import trio

from picoclawd.rpc.underway import Underway
from tests.rpc.house import House, talking


def test_an_op_that_was_sent_twice_is_under_way_until_both_have_ended() -> None:
    underway = Underway()
    assert "a" not in underway
    underway.begin("a")
    underway.begin("a")
    underway.end("a")
    assert "a" in underway
    underway.end("a")
    assert "a" not in underway


@pytest.mark.parametrize("method", ["append", "fault", "boom_write"])
async def test_a_change_that_has_ended_is_not_under_way(method: str) -> None:
    house = House()
    async with talking(house) as talk:
        await talk.call(method, path="a", text="x", _meta={"op": "one"})
        await talk.receive()
        assert "one" not in house.underway


async def test_a_change_that_waits_is_under_way_also_when_its_connection_is_gone() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.call("shielded", name="slow", _meta={"op": "one"})
        await house.until_started("slow")
        assert "one" in house.underway
        await talk.stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        assert "one" in house.underway
        house.gate("slow").set()
        await trio.testing.wait_all_tasks_blocked()
        assert "one" not in house.underway


async def test_a_change_in_its_lane_is_under_way_and_one_that_is_refused_never_was() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.call("write_at_gate", path="a", name="first", request_id=1)
        await house.until_started("first")
        await talk.call("append", path="a", text="x", request_id=2, _meta={"op": "one"})
        await talk.call("approve", request_id=3, _meta={"op": "two"})
        assert (await talk.receive())["id"] == 3
        assert "one" in house.underway
        assert "two" not in house.underway
        house.gate("first").set()
        assert {(await talk.receive())["id"], (await talk.receive())["id"]} == {1, 2}
        assert "one" not in house.underway
