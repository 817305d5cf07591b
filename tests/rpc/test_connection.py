"""One connection, over memory streams and over real sockets."""

import json
import logging
import socket
from typing import Any

import pytest
import trio
import trio.testing

from picoclawd import limits
from picoclawd.rpc.budget import ByteBudget
from picoclawd.rpc.connection import WireSettings
from picoclawd.rpc.stream import UnixStream
from tests.rpc.house import SETTINGS, House, Talk, error_of, make_connection, request, talking


def cancel(request_id: object) -> dict[str, Any]:
    return request("$/cancelRequest", params={"id": request_id})


# JSON-RPC 2.0, section 7: the specification's own examples. Error objects are compared by code and first words.

ERROR = "error"
SECTION_7 = [
    ('{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}', (19, 1)),
    ('{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}', (-19, 2)),
    ('{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}', (19, 3)),
    ('{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}', (19, 4)),
    ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', None),
    ('{"jsonrpc": "2.0", "method": "foobar"}', None),
    ('{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', ("Method not found", -32601, "1")),
    ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', ("Parse error", -32700, None)),
    ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', ("Invalid Request", -32600, None)),
    (
        '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"]',
        ("Parse error", -32700, None),
    ),
    ("[]", ("Invalid Request", -32600, None)),
    ("[1]", [("Invalid Request", -32600, None)]),
    ("[1,2,3]", [("Invalid Request", -32600, None)] * 3),
    (
        '[{"jsonrpc": "2.0", "method": "subtract", "params": [4,1], "id": "1"},'
        '{"jsonrpc": "2.0", "method": "note", "params": [7]},'
        '{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},'
        '{"foo": "boo"},'
        '{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},'
        '{"jsonrpc": "2.0", "method": "subtract", "params": [5,5], "id": "9"}]',
        [(3, "1"), (19, "2"), ("Invalid Request", -32600, None), ("Method not found", -32601, "5"), (0, "9")],
    ),
    ('[{"jsonrpc": "2.0", "method": "note", "params": [1]}, {"jsonrpc": "2.0", "method": "note"}]', None),
]


def shortened(answer: Any) -> object:
    if isinstance(answer, list):
        return [shortened(each) for each in answer]
    assert answer["jsonrpc"] == "2.0"
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    if ERROR in answer:
        return answer[ERROR]["message"].split(":")[0], answer[ERROR]["code"], answer["id"]
    return answer["result"], answer["id"]


@pytest.mark.parametrize(("line", "expected"), SECTION_7)
async def test_the_specifications_examples_are_answered_as_it_says(line: str, expected: object) -> None:
    async with talking(House()) as talk:
        await talk.send(line.encode())
        answers = await talk.end()
    assert [shortened(answer) for answer in answers] == ([] if expected is None else [expected])


# The table of bad input

DEEP = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("line", "code", "slug", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":5,"method":', -32700, "parse_error", None),
        (b'{"jsonrpc":"2.0","id":5,"method":"echo","params":["\xff"]}', -32700, "parse_error", None),
        (b'{"jsonrpc":"2.0","id":5,"method":"echo","params":["\\ud83d"]}', -32700, "parse_error", None),
        (b'{"jsonrpc":"2.0","id":5,"method":"echo","params":[NaN]}', -32700, "parse_error", None),
        (b'{"jsonrpc":"2.0","id":5,"method":"echo","params":[Infinity]}', -32700, "parse_error", None),
        (b"[" * 100_000, -32700, "parse_error", None),
        (DEEP, -32700, "parse_error", None),
        (b" " * (1 << 20) + b"x", -32600, "request_too_large", None),
        (b"[]", -32600, "invalid_request", None),
        (json.dumps([request("ping", n) for n in range(101)]).encode(), -32600, "invalid_request", None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, "invalid_request", None),
        (b'{"jsonrpc":"2.0","id":"same","method":"wait","params":3,"x":1}', -32600, "invalid_request", "same"),
    ],
)
async def test_a92_bad_input_is_answered_and_the_connection_stays_usable(
    line: bytes, code: int, slug: str, request_id: object
) -> None:
    async with talking(House()) as talk:
        assert error_of(await talk.ask(line)) == (code, slug, request_id)
        await talk.nothing_comes()


async def test_a92_a_thousand_empty_lines_are_ignored() -> None:
    async with talking(House()) as talk:
        await talk.send(b"\n" * 500 + b"\r\n" * 500)
        await talk.nothing_comes()


async def test_a92_of_two_equal_keys_the_last_counts() -> None:
    async with talking(House()) as talk:
        answer = await talk.ask(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"echo","params":{"a":1,"a":2}}')
        assert (answer["id"], answer["result"]["params"]) == (2, {"a": 2})


async def test_an_id_in_flight_is_refused_under_that_id_and_the_first_goes_on() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.call("wait", "same", name="one")
        await house.until_started("one")
        refused = await talk.ask(request("ping", "same"))
        assert error_of(refused) == (-32600, "invalid_request", "same")
        house.gate("one").set()
        assert (await talk.receive())["result"] == "one"
        assert (await talk.ask(request("ping", "same")))["result"] == {"pong": True}


async def test_a_batch_keeps_its_ids_until_its_array_is_out() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.send([request("later", 1), request("wait", 2, {"name": "one"}), request("ping", 1)])
        await house.until_started("one")
        assert error_of(await talk.ask(request("ping", 1))) == (-32600, "invalid_request", 1)
        house.gate("one").set()
        answers = await talk.receive()
        assert [answer["id"] for answer in answers] == [1, 2, 1]
        assert error_of(answers[2]) == (-32600, "invalid_request", 1)


async def test_complete_requests_are_answered_after_the_end_of_input_and_half_a_line_is_dropped() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.send(request("append", 1, {"path": "a", "text": "x"}), request("wait", 2, {"name": "one"}))
        await talk.stream.send_all(json.dumps(request("append", 3, {"path": "a", "text": "y"})).encode())
        await house.until_started("one")
        house.gate("one").set()
        answers = await talk.end()
    assert sorted(answer["id"] for answer in answers) == [1, 2]
    assert house.files == {"a": "x"}
    assert house.ended == 1


# Cases from public reports


async def test_a86_line_separators_of_unicode_do_not_end_a_line() -> None:
    text = "a\u2028b\u2029c\u0085d\r\ve"
    async with talking(House()) as talk:
        line = json.dumps(request("echo", 1, {"text": text}), ensure_ascii=False).encode()
        assert (await talk.ask(line))["result"]["params"] == {"text": text}


async def test_a87_a_long_line_is_handled_and_one_over_the_limit_is_dropped_with_bounded_memory() -> None:
    budget = ByteBudget(1 << 30)
    async with talking(House(), budget=budget) as talk:
        assert len((await talk.result("echo", text="x" * 70_000))["params"]["text"]) == 70_000
        held = []
        for _ in range(100):
            await talk.stream.send_all(b"y" * 100_000)
            await trio.testing.wait_all_tasks_blocked()
            held.append(budget.statistics().held_bytes)
        assert max(held) <= SETTINGS.max_request_bytes
        assert held[-1] == 0
        assert error_of(await talk.receive()) == (-32600, "request_too_large", None)
        await talk.send(b"")
        await talk.nothing_comes()
        assert budget.statistics().held_bytes == 0


async def test_a88_a_null_id_is_answered_and_a_missing_one_never_even_on_errors() -> None:
    async with talking(House()) as talk:
        silent = [
            request("fault"),
            request("nowhere"),
            request("boom"),
            request("approve"),
            request("echo", params=[1]),
        ]
        await talk.send(*silent)
        answer = await talk.ask(b'{"jsonrpc":"2.0","id":null,"method":"ping"}')
        assert answer == {"jsonrpc": "2.0", "id": None, "result": {"pong": True}}
        assert error_of(await talk.ask(b'{"jsonrpc":"2.0","id":null,"method":"fault"}')) == (-32005, "no_match", None)
        await talk.nothing_comes()


async def test_a89_batches_answer_calls_only_and_notifications_alone_say_nothing() -> None:
    house = House()
    async with talking(house) as talk:
        answers = await talk.ask([request("ping", 1), request("note", params=[1]), request("echo", 2)])
        assert [answer["id"] for answer in answers] == [1, 2]
        await talk.send([request("note", params=[2]), request("note", params=[3])])
        await talk.nothing_comes()
        assert sorted(map(str, house.notes)) == ["[1]", "[2]", "[3]"]


@pytest.mark.parametrize("request_id", [0, "", -1, 1.5, 2**53 + 1, 10**25, "x" * 10_000])
async def test_a90_ids_come_back_as_they_were_sent(request_id: object) -> None:
    async with talking(House()) as talk:
        for method in ("ping", "later", "fault", "nowhere"):
            assert (await talk.ask(request(method, request_id)))["id"] == request_id


async def test_a91_a_cancelled_request_stops_at_once_and_is_answered_exactly_once() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.call("wait", 1, name="one")
        await talk.call("wait", "1", name="other")
        await house.until_started("one", "other")
        assert error_of(await talk.ask(cancel(1))) == (-32800, "cancelled", 1)
        assert house.stopped == ["one"]
        await talk.send(cancel(1), cancel(99), request("$/cancelRequest", params=[1]), cancel([1]), cancel(True))
        await talk.nothing_comes()
        house.gate("other").set()
        assert (await talk.receive())["result"] == "other"
        assert len(await talk.end()) == 0


async def test_a91_a_write_past_its_intent_answers_what_it_did() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.call("shielded", 1, name="one")
        await house.until_started("one")
        await talk.send(cancel(1))
        await talk.nothing_comes()
        house.gate("one").set()
        assert (await talk.receive())["result"] == {"applied": True, "cancelled": True}


async def test_a_request_cancelled_in_the_queue_never_runs_and_lets_the_next_pass() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.call("write_at_gate", 1, name="one", path="a")
        await talk.call("append", 2, path="a", text="x")
        await talk.call("append", 3, path="./a", text="y")
        await house.until_started("one")
        answer = await talk.ask(cancel(2))
        assert error_of(answer) == (-32800, "cancelled", 2)
        assert answer["error"]["data"]["outcome"] == "not_applied"
        house.gate("one").set()
        assert sorted([(await talk.receive())["id"], (await talk.receive())["id"]]) == [1, 3]
        assert house.files == {"./a": "y"}


async def test_a_cancellation_that_asks_for_an_answer_gets_one() -> None:
    async with talking(House()) as talk:
        assert (await talk.ask(request("$/cancelRequest", 5, {"id": 1})))["result"] is None


async def test_a98_a_bug_in_a_method_ends_that_request_only_and_tells_no_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with talking(House()) as talk:
        for method in ("boom", "boom_write", "boom_at_once", "boom_lane", "unencodable"):
            caplog.clear()
            answer = await talk.ask(request(method, method))
            assert error_of(answer) == (-32603, "internal_error", method)
            text = json.dumps(answer)
            assert "secret" not in text
            assert "Traceback" not in text
            assert answer["error"]["data"]["id"] in caplog.text
            assert "Traceback" in caplog.text
            outcome = "unknown" if method == "boom_write" else None
            assert answer["error"]["data"].get("outcome") == outcome
        await talk.nothing_comes()


# Order


async def test_two_hundred_pipelined_appends_take_effect_in_the_order_sent() -> None:
    house = House()
    async with talking(house) as talk:
        lines = [request("append", n, {"path": "a", "text": f"{n},"}) for n in range(200)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(talk.send, *lines)
            answers = [await talk.receive() for _ in range(200)]
    assert house.files["a"] == "".join(f"{n}," for n in range(200))
    assert sorted(answer["id"] for answer in answers) == list(range(200))


async def test_elements_of_a_batch_keep_the_order_of_their_path_too() -> None:
    house = House()
    async with talking(house) as talk:
        batch = [request("append", n, {"path": "a", "text": str(n % 10)}) for n in range(99)]
        answers = await talk.ask([*batch, request("read", "end", {"path": "a"})])
    assert answers[-1]["result"] == "".join(str(n % 10) for n in range(99))


async def test_a_slow_request_holds_up_only_its_own_path() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.call("write_at_gate", 1, name="one", path="a")
        await talk.call("read", 2, path="/ws/x/../a")
        await talk.call("append", 3, path="b", text="free")
        assert (await talk.receive())["id"] == 3
        house.gate("one").set()
        assert [(await talk.receive())["id"], (await talk.receive())["id"]] == [1, 2]


# What a method gets and says


async def test_a_method_gets_params_meta_peer_and_client() -> None:
    async with talking(House(), role="operator") as talk:
        answer = await talk.result("echo", a=1, _meta={"dry_run": True, "mine": 2})
        assert answer == {"params": {"a": 1}, "meta": {"dry_run": True, "mine": 2}, "role": "operator", "client": 1}
        assert (await talk.ask(request("echo", 1, [1, 2])))["result"]["params"] == [1, 2]
        assert (await talk.ask(request("echo", 1)))["result"]["params"] == {}


async def test_faults_are_answered_whole_also_out_of_a_nursery() -> None:
    async with talking(House()) as talk:
        for method in ("fault", "wrapped_fault"):
            error = (await talk.ask(request(method, 1)))["error"]
            assert (error["code"], error["message"]) == (-32005, "old_text is not in a\nline 3: near")
            assert error["data"]["next"] == {"method": "read_file", "params": {"path": "a"}}


async def test_refusals_name_what_there_is() -> None:
    async with talking(House()) as talk:
        unknown = await talk.ask(request("nowhere", 1))
        assert (error_of(unknown), unknown["error"]["data"]["available"]) == (
            (-32601, "method_not_found", 1),
            ["echo", "ping"],
        )
        assert error_of(await talk.ask(request("approve", 1))) == (-32010, "operator_only", 1)
        bad_meta = await talk.ask(request("echo", 1, {"_meta": 1}))
        assert error_of(bad_meta) == (-32602, "invalid_params", 1)
    async with talking(House(), role="operator") as talk:
        assert (await talk.ask(request("approve", 1)))["result"] == {"pong": True}


async def test_progress_goes_to_who_asked_and_comes_before_the_answer() -> None:
    async with talking(House()) as talk:
        await talk.call("report", 7, _meta={"progress": True})
        told = [await talk.receive()]
        while "id" not in told[-1]:
            told.append(await talk.receive())
        assert [each["params"]["done"] for each in told[:-1]] == [0, 1, 2]
        assert told[0] == {
            "jsonrpc": "2.0",
            "method": "$/progress",
            "params": {"id": 7, "done": 0, "total": 3, "message": "scanning"},
        }


async def test_a_method_past_its_deadline_is_answered_with_timeout(autojump_clock: trio.abc.Clock) -> None:
    async with talking(House()) as talk:
        await talk.call("patience", 1)
        await trio.sleep(6)
        answer = await talk.receive()
        assert (error_of(answer), answer["error"]["data"]["retryable"]) == ((-32011, "timeout", 1), True)


async def test_notifications_reach_an_idle_peer_and_stop_with_the_connection() -> None:
    house = House()
    async with talking(house) as talk:
        await talk.nothing_comes()
        [(_, notifier)] = house.clients
        assert notifier.notify("file.changed", {"seq": 1})
        assert await talk.receive() == {"jsonrpc": "2.0", "method": "file.changed", "params": {"seq": 1}}
        assert await talk.end() == []
        assert not notifier.notify("file.changed", {"seq": 2})


async def test_a_host_without_room_says_so_and_the_connection_ends() -> None:
    house = House()
    house.full = True
    async with talking(house) as talk:
        [answer] = await talk.rest()
        assert error_of(answer) == (-32011, "overloaded", None)
        assert house.ended == 0


# Bounds


async def test_beyond_max_in_flight_nothing_more_is_read_but_cancellations_are() -> None:
    house = House()
    settings = WireSettings(1 << 20, 2, 4)
    async with talking(house, settings) as talk:
        await talk.send(*[request("wait", n, {"name": str(n)}) for n in range(2)], cancel(1), request("ping", 9))
        assert error_of(await talk.receive()) == (-32800, "cancelled", 1)
        assert (await talk.receive())["id"] == 9
        await talk.send(*[request("wait", n, {"name": str(n)}) for n in (2, 3, 4)], cancel(0))
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(house.started) == ["0", "1", "2"]
        house.gate("2").set()
        assert (await talk.receive())["id"] == 2
        await house.until_started("3")
        assert "4" not in house.started


async def test_answers_that_do_not_fit_the_budget_are_refused_for_reads_and_passed_for_writes() -> None:
    budget = ByteBudget(300_000)
    async with talking(House(), budget=budget) as talk:
        assert error_of(await talk.ask(request("big", 1, {"size": 400_000}))) == (-32011, "overloaded", 1)
        assert len(await talk.result("big_write", size=400_000)) == 400_000
        assert len(await talk.result("big", size=60_000)) == 60_000
    assert budget.statistics().held_bytes == 0


async def test_a_request_that_does_not_fit_the_budget_is_dropped_and_small_ones_pass() -> None:
    budget = ByteBudget(300_000)
    house = House()
    async with talking(house, budget=budget) as hog, talking(house, budget=budget) as talk:
        await hog.stream.send_all(b"x" * 250_000)
        await trio.testing.wait_all_tasks_blocked()
        assert error_of(await talk.ask(b"x" * 100_000)) == (-32011, "overloaded", None)
        await talk.nothing_comes()
    assert budget.statistics().held_bytes == 0


# Real sockets: what the kernel does


class Line:
    """A house's connection over a socket pair; the client's end is `talk`."""

    def __init__(
        self,
        house: House,
        nursery: trio.Nursery,
        budget: ByteBudget | None = None,
        settings: WireSettings = SETTINGS,
    ) -> None:
        ours, theirs = socket.socketpair()
        self.stream = UnixStream(ours)
        self.talk = Talk(self.stream)
        self.connection = make_connection(house, UnixStream(theirs), settings, budget=budget)
        nursery.start_soon(self.connection.serve)

    def close(self) -> None:
        """Go away."""
        self.stream.close()


async def test_a93_a_peer_that_never_reads_is_dropped_and_disturbs_nobody(
    autojump_clock: trio.abc.Clock, caplog: pytest.LogCaptureFixture
) -> None:
    house, budget = House(), ByteBudget(1 << 30)
    async with trio.open_nursery() as nursery:
        slow, other = Line(house, nursery, budget), Line(house, nursery, budget)
        await slow.talk.send(*[request("big", n, {"size": 65536}) for n in range(100)])
        await trio.testing.wait_all_tasks_blocked()
        assert slow.connection.in_flight <= SETTINGS.max_in_flight
        assert 0 < budget.statistics().held_bytes < 70 * 65536
        for _ in range(20):
            assert await other.talk.result("ping") == {"pong": True}
        await trio.sleep(limits.SLOW_CLIENT_TIMEOUT_S + 1)
        assert (house.ended, slow.connection.in_flight, budget.statistics().held_bytes) == (1, 0, 0)
        (told,) = (record for record in caplog.records if "slow_client" in record.getMessage())
        assert told.__dict__["picoclaw"] in ({"session": "s-1"}, {"session": "s-2"})  # whichever task began first
        assert await other.talk.result("ping") == {"pong": True}
        other.close()
        slow.close()
    assert house.ended == 2


async def test_a_flood_of_bad_lines_by_a_peer_that_never_reads_stays_bounded() -> None:
    house, budget = House(), ByteBudget(1 << 30)
    async with trio.open_nursery() as nursery:
        line = Line(house, nursery, budget)
        with trio.move_on_after(0.5):
            await line.talk.stream.send_all(b"bad\n" * 1_000_000)
        assert line.connection.in_flight <= SETTINGS.max_in_flight
        assert budget.statistics().held_bytes < 200_000
        line.close()


async def test_a_peer_that_goes_away_ends_what_runs_for_it_but_not_a_write_past_its_intent(
    autojump_clock: trio.abc.Clock,
) -> None:
    house = House()
    async with trio.open_nursery() as nursery:
        line = Line(house, nursery)
        await line.talk.call("wait", 1, name="search")
        await line.talk.call("shielded", 2, name="write")
        await house.until_started("search", "write")
        line.close()
        await trio.sleep(1)
        assert house.stopped == ["search"]
        assert house.ended == 0
        house.gate("write").set()
    assert (house.stopped, house.ended) == (["search", "write"], 1)


async def test_a_peer_that_only_ends_its_input_still_gets_its_answers(autojump_clock: trio.abc.Clock) -> None:
    house = House()
    async with trio.open_nursery() as nursery:
        line = Line(house, nursery)
        await line.talk.call("wait", 1, name="search")
        await line.talk.stream.send_eof()
        await trio.sleep(5)
        house.gate("search").set()
        assert [answer["result"] for answer in await line.talk.rest()] == ["search"]
        line.close()


async def test_a_peer_that_goes_away_while_nothing_more_is_read_is_noticed(autojump_clock: trio.abc.Clock) -> None:
    house = House()
    async with trio.open_nursery() as nursery:
        line = Line(house, nursery)
        await line.talk.send(*[request("wait", n, {"name": str(n)}) for n in range(70)])
        await house.until_started("63")
        line.close()
    assert len(house.stopped) == SETTINGS.max_in_flight


async def test_a_peer_that_leaves_without_reading_its_answers_ends_its_connection() -> None:
    house = House()
    async with trio.open_nursery() as nursery:
        line = Line(house, nursery)
        await line.talk.call("ping", 1)
        await trio.testing.wait_all_tasks_blocked()
        line.close()
    assert house.ended == 1


async def test_pipelined_calls_beyond_max_in_flight_do_not_wait_for_each_other(autojump_clock: trio.abc.Clock) -> None:
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        line = Line(House(), nursery, settings=WireSettings(1 << 20, 2, 4))
        await line.talk.send(*[request("ping", n) for n in range(50)], [request("ping", n) for n in range(100)])
        assert [(await line.talk.receive())["id"] for _ in range(50)] == list(range(50))
        assert len(await line.talk.receive()) == 100
        line.close()
    assert trio.current_time() == start


async def test_answers_larger_than_the_kernels_buffer_arrive_whole() -> None:
    async with trio.open_nursery() as nursery:
        line = Line(House(), nursery)
        await line.talk.send(*[request("big", n, {"size": 900_000}) for n in range(5)], request("ping", "p"))
        answers = [await line.talk.receive() for _ in range(6)]
        assert sorted(len(answer["result"]) for answer in answers) == [1, *[900_000] * 5]
        line.close()


async def test_draining_refuses_new_writes_lets_the_rest_finish_and_closes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    house = House()
    async with trio.open_nursery() as nursery:
        busy, idle = Line(house, nursery), Line(house, nursery)
        await idle.talk.nothing_comes()
        await busy.talk.call("wait", 1, name="one")
        await house.until_started("one")
        busy.connection.drain()
        idle.connection.drain()
        assert await idle.talk.rest() == []
        refused = await busy.talk.ask(request("append", 2, {"path": "a", "text": "x"}))
        assert error_of(refused) == (-32011, "shutting_down", 2)
        assert (await busy.talk.ask(request("ping", 3)))["result"] == {"pong": True}
        house.gate("one").set()
        assert [answer["result"] for answer in await busy.talk.rest()] == ["one"]
        idle.close()
        busy.close()
    assert (house.files, caplog.text) == ({}, "")
