"""Tests of how requests are counted, and of how slow ones are told."""

import logging

import pytest
import trio

from picoclawd.errors import Slug
from picoclawd.files.waits import Waits
from picoclawd.rpc.meter import BOUNDS_S, INVALID, UNKNOWN, Meter, Subject, tell_slow
from tests.rpc.house import House, request, talking

LOG = logging.getLogger("tests.meter")


def outcomes(meter: Meter) -> dict[str, dict[str, int]]:
    return {method: served.outcomes for method, served in meter.served()}


def test_each_duration_is_in_the_first_bucket_that_holds_it() -> None:
    meter = Meter()
    for took_s in (0.0, BOUNDS_S[0], BOUNDS_S[0] * 1.01, BOUNDS_S[-1], 1000.0):
        meter.count("ping", "ok", took_s, Waits())
    ((method, served),) = meter.served()
    assert (method, served.outcomes) == ("ping", {"ok": 5})
    assert served.buckets == [2, 1, *[0] * (len(BOUNDS_S) - 3), 1, 1]
    assert served.seconds == pytest.approx(1030.001, abs=0.01)


@pytest.mark.parametrize(
    ("slow_s", "took_s", "person_s", "slow"),
    [
        (1.0, 1.5, 0.0, True),
        (1.0, 0.5, 0.0, False),
        (1.0, 90.0, 89.5, False),
        (1.0, 90.0, 88.0, True),
        (0, 9.0, 0, False),
    ],
)
def test_time_that_a_person_takes_is_not_slow(slow_s: float, took_s: float, person_s: float, slow: bool) -> None:
    meter = Meter(slow_s)
    assert meter.count("write_file", "ok", took_s, Waits(person_s=person_s)) is slow
    assert meter.slow_calls == slow


async def test_every_way_out_is_counted_once() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.result("ping")
        await talk.result("later")
        for method in ("fault", "boom", "boom_at_once", "made up", "made up, too", "approve"):
            await talk.ask(request(method, 1))
        await talk.ask(b"{")
        await talk.ask(b"[]")
        await talk.send(request("note", None, [1]))
        await talk.nothing_comes()
    assert outcomes(house.meter) == {
        "ping": {"ok": 2},
        "later": {"ok": 1},
        "note": {"ok": 1},
        "fault": {"no_match": 1},
        "boom": {"internal_error": 1},
        "boom_at_once": {"internal_error": 1},
        "approve": {"operator_only": 1},
        UNKNOWN: {"method_not_found": 2},
        INVALID: {Slug.PARSE_ERROR.value: 1, Slug.INVALID_REQUEST.value: 1},
    }
    assert house.meter.received_bytes > 300
    assert house.meter.sent_bytes > 300


async def test_a_cancelled_call_is_counted_as_one() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.call("wait", 1, name="a")
        await house.until_started("a")
        await talk.send(request("$/cancelRequest", params={"id": 1}))
        assert (await talk.receive())["error"]["code"] == -32800
    assert outcomes(house.meter)["wait"] == {"cancelled": 1}


async def test_a_slow_call_is_told_with_what_it_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    house = House()
    house.meter.slow_s = 0.02
    async with talking(house) as talk:
        await talk.call("write_at_gate", 1, path="a\n.txt", name="first", token="ghp_secret")
        await talk.call("write_at_gate", 2, path="a\n.txt", name="second")
        await house.until_started("first")
        await trio.sleep(0.06)  # real: what is measured is real time
        house.gate("first").set()
        await house.until_started("second")
        house.gate("second").set()
        assert {(await talk.receive())["id"], (await talk.receive())["id"]} == {1, 2}
        await talk.result("ping")
    first, second = (record for record in caplog.records if "slow call" in record.getMessage())
    assert "at work) and ended with ok; session s-1, client tester" in first.getMessage()
    assert "earlier calls" not in first.getMessage()
    assert "for earlier calls of its connection on this path" in second.getMessage()
    about = {"session": "s-1", "client": "tester", "tool": "write_at_gate", "path": "a\\n.txt"}
    assert first.__dict__["picoclaw"] == second.__dict__["picoclaw"] == about
    assert "secret" not in caplog.text
    assert house.meter.slow_calls == 2
    assert house.meter.waited.turn_s > 0.05


def test_each_wait_is_named_and_the_rest_is_work(caplog: pytest.LogCaptureFixture) -> None:
    waits = Waits(turn_s=1.0, locks_s=2.0, person_s=0.001)
    tell_slow(LOG, "edit_file", {"path": "a.txt"}, "no_match", 4.5, waits, Subject("s-9"))
    (record,) = caplog.records
    assert record.getMessage() == (
        "slow call: edit_file(a.txt) took 4.50 s (waiting 1.00 s for earlier calls of its connection on this path, "
        "2.00 s for locks; 1.50 s at work) and ended with no_match; session s-9"
    )


def test_positional_parameters_name_no_path(caplog: pytest.LogCaptureFixture) -> None:
    tell_slow(LOG, "read_file", ["secret.txt"], "ok", 4.5, Waits(), Subject("s-9"))
    assert "read_file()" in caplog.text


async def test_a_bug_is_logged_with_whose_call_it_was(caplog: pytest.LogCaptureFixture) -> None:
    async with talking(House()) as talk:
        await talk.ask(request("boom", 1))
    (record,) = (record for record in caplog.records if "internal error" in record.getMessage())
    assert record.__dict__["picoclaw"] == {"session": "s-1", "tool": "boom"}
