"""Reading and writing JSON-RPC envelopes."""

import json
from typing import Any

import pytest

from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.rpc import envelope
from picoclawd.rpc.envelope import Invalid, Request
from picoclawd.rpc.framing import Dropped


def refused(line: bytes) -> tuple[str, object]:
    decoded = envelope.decode(line)
    assert isinstance(decoded, Invalid), decoded
    return decoded.fault.slug.value, decoded.id


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":5,"method":',
        b"hello",
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":["\xff"]}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":["\xed\xa0\xbd"]}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":["\\ud83d"]}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":["\\udc00x"]}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":[NaN]}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":[-Infinity]}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":[1e999]}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b"\x00",
    ],
)
def test_what_is_no_json_text_is_a_parse_error_without_id(line: bytes) -> None:
    assert refused(line) == ("parse_error", None)


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b"1", None),
        (b'"text"', None),
        (b"null", None),
        (b"{}", None),
        (b"[]", None),
        (b"[" + b",".join([b"1"] * 101) + b"]", None),
        (b'{"jsonrpc":"2.0","method":1,"params":"bar"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', None),
        (b'{"id":1,"method":"m"}', 1),
        (b'{"jsonrpc":2.0,"id":1,"method":"m"}', 1),
        (b'{"jsonrpc":"1.0","id":"x","method":"m"}', "x"),
        (b'{"jsonrpc":"2.0","id":1}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":null}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":"p"}', 1),
    ],
)
def test_what_is_no_request_is_invalid_under_the_id_that_it_has(line: bytes, request_id: object) -> None:
    assert refused(line) == ("invalid_request", request_id)


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m"}', Request("m", {}, 1, False)),
        (b'{"jsonrpc":"2.0","id":null,"method":"m","params":[1]}', Request("m", [1], None, False)),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":1},"more":2}', Request("m", {"a": 1}, None, True)),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}', Request("b", {}, 2, False)),
        ('{"jsonrpc":"2.0","id":"\u2028","method":"m"}'.encode(), Request("m", {}, "\u2028", False)),
    ],
)
def test_a_request_is_read_and_of_equal_keys_the_last_counts(line: bytes, request_: Request) -> None:
    assert envelope.decode(line) == request_


def test_a_batch_is_read_element_by_element() -> None:
    line = b'[{"jsonrpc":"2.0","id":1,"method":"m"},1,' + b'{"jsonrpc":"2.0","method":"n"},' * 97 + b"{}]"
    decoded = envelope.decode(line)
    assert isinstance(decoded, list)
    assert [type(element) for element in decoded] == [Request, Invalid, *[Request] * 97, Invalid]


def test_meta_is_taken_out_of_named_params_and_kept_whole() -> None:
    meta = {"progress": True, "dry_run": False, "op": "x" * 64, "more": [1]}
    assert envelope.take_meta({"path": "a", "_meta": meta}) == ({"path": "a"}, meta)
    assert envelope.take_meta({"path": "a"}) == ({"path": "a"}, {})
    assert envelope.take_meta(["_meta"]) == (["_meta"], {})


@pytest.mark.parametrize(
    ("meta", "path"),
    [
        ([], "$._meta"),
        (None, "$._meta"),
        ({"progress": 1}, "$._meta.progress"),
        ({"dry_run": "true"}, "$._meta.dry_run"),
        ({"op": 1}, "$._meta.op"),
        ({"op": ""}, "$._meta.op"),
        ({"op": "x" * 65}, "$._meta.op"),
        ({"op": None}, "$._meta.op"),
    ],
)
def test_a_malformed_meta_is_refused_with_its_place(meta: Any, path: str) -> None:
    with pytest.raises(Fault) as caught:
        envelope.take_meta({"_meta": meta})
    assert (caught.value.slug, caught.value.data) == (Slug.INVALID_PARAMS, {"path": path})


def test_an_error_object_has_code_message_and_data_of_the_fault() -> None:
    call = NextCall("read_file", {"path": "a"})
    fault = Fault(Slug.NO_MATCH, "not there", excerpt="line 3: x", next_call=call, closest=[3])
    assert envelope.fault_error(fault, mutating=True) == {
        "code": -32005,
        "message": "not there\nline 3: x",
        "data": {
            "error": "no_match",
            "retryable": False,
            "outcome": "not_applied",
            "next": {"method": "read_file", "params": {"path": "a"}},
            "closest": [3],
        },
    }


def test_only_mutating_methods_and_faults_that_say_so_have_an_outcome() -> None:
    assert "outcome" not in envelope.fault_error(Fault(Slug.NOT_FOUND, "x"), mutating=False)["data"]
    applied = Fault(Slug.READ_BACK_FAILED, "x", outcome="applied")
    assert envelope.fault_error(applied, mutating=True)["data"]["outcome"] == "applied"
    assert envelope.fault_error(applied, mutating=False)["data"]["outcome"] == "applied"


def test_a_redactor_sees_excerpt_and_data_but_not_the_message() -> None:
    fault = Fault(Slug.CONFLICT, "SECRET is a name", excerpt="SECRET", lines=["SECRET", {"a": "SECRET"}], count=1)
    error = envelope.fault_error(fault, mutating=False, redact=lambda text: text.replace("SECRET", "[FILTERED]"))
    assert error["message"] == "SECRET is a name\n[FILTERED]"
    assert error["data"]["lines"] == ["[FILTERED]", {"a": "[FILTERED]"}]
    assert error["data"]["count"] == 1


@pytest.mark.parametrize(
    ("why", "code", "retryable"), [(Dropped.OVERSIZED, -32600, False), (Dropped.OVER_BUDGET, -32011, True)]
)
def test_a_dropped_line_is_told_why(why: Dropped, code: int, retryable: bool) -> None:
    dropped = envelope.dropped_line(why, 1000)
    error = json.loads(envelope.error_line(dropped.fault, dropped.id))["error"]
    assert (error["code"], error["data"]["retryable"]) == (code, retryable)


@pytest.mark.parametrize("request_id", [0, "", -1, 1.5, 2**53 + 1, 2**64, 10**30, "x" * 10_000, None, "1", 1])
def test_a90_ids_are_echoed_exactly(request_id: Any) -> None:
    decoded = envelope.decode(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "m"}).encode())
    assert isinstance(decoded, Request)
    echoed = json.loads(envelope.error_line(Fault(Slug.NOT_FOUND, "x"), decoded.id))["id"]
    assert (type(echoed), echoed) == (type(request_id), request_id)
