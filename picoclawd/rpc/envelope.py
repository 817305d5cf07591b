"""Read one line as JSON-RPC 2.0, and write the answers' envelopes. Pure; knows no method and no socket."""

from collections.abc import Callable
from typing import Any, Final, assert_never

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.rpc.framing import Dropped
from picoclawd.rpc.method import Params, RequestId

Redactor = Callable[[str], str]


class Request(msgspec.Struct, frozen=True):
    """One well-formed request. A notification has no id and gets no answer, whatever happens."""

    method: str
    params: Params
    id: RequestId
    is_notification: bool


class Invalid(msgspec.Struct, frozen=True):
    """Something in a request's place that is none: answered with its fault, under the id where it has a usable one."""

    fault: Fault
    id: RequestId = None


Element = Request | Invalid

_ABSENT: Final = object()


def decode(line: bytes) -> Element | list[Element]:
    """Read a line: one element, or a batch of 1 to `limits.BATCH_MAX` of them. Never raises."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        return Invalid(Fault(Slug.PARSE_ERROR, f"Parse error: {exc}. Send one JSON text a line, in UTF-8."))
    except RecursionError:
        return Invalid(Fault(Slug.PARSE_ERROR, "Parse error: nested too deeply. Send a flatter JSON text."))
    if not isinstance(value, list):
        return _element(value)
    if not 0 < len(value) <= limits.BATCH_MAX:
        return _invalid(f"a batch of {len(value)}; send 1 to {limits.BATCH_MAX} requests in one")
    return [_element(item) for item in value]


def dropped_line(why: Dropped, max_line_bytes: int) -> Invalid:
    """Say why a line was dropped before it could be read."""
    match why:
        case Dropped.OVERSIZED:
            text = (
                f"Invalid Request: the line is longer than {max_line_bytes} bytes and was dropped. Send less at once."
            )
            return Invalid(Fault(Slug.REQUEST_TOO_LARGE, text, max_request_bytes=max_line_bytes))
        case Dropped.OVER_BUDGET:
            text = "overloaded: too many bytes are waiting in the daemon, the line was dropped. Try again later."
            return Invalid(Fault(Slug.OVERLOADED, text, outcome="not_applied"))
        case _:
            assert_never(why)


def _invalid(what: str, request_id: RequestId = None) -> Invalid:
    return Invalid(Fault(Slug.INVALID_REQUEST, f"Invalid Request: {what}."), request_id)


def _element(value: Any) -> Element:
    """Check one object against JSON-RPC 2.0, section 4."""
    if not isinstance(value, dict):
        return _invalid("not an object")
    request_id = value.get("id", _ABSENT)
    is_notification = request_id is _ABSENT
    if is_notification:
        request_id = None
    elif request_id is not None and (isinstance(request_id, bool) or not isinstance(request_id, (str, int, float))):
        return _invalid("`id` must be a string, a number or null")
    if value.get("jsonrpc") != "2.0":
        return _invalid('`jsonrpc` must be "2.0"', request_id)
    method, params = value.get("method"), value.get("params", {})
    if not isinstance(method, str):
        return _invalid("`method` must be a string", request_id)
    if not isinstance(params, (dict, list)):
        return _invalid("`params` must be an object or an array, or left out", request_id)
    return Request(method, params, request_id, is_notification)


def take_meta(params: Params) -> tuple[Params, dict[str, Any]]:
    """Part `_meta` from named params and check the members that mean something here; others are left alone.

    Raises: `invalid_params`.
    """
    if isinstance(params, list) or "_meta" not in params:
        return params, {}
    meta = params["_meta"]
    if not isinstance(meta, dict):
        raise _bad_meta("_meta", "must be an object")
    for flag in ("progress", "dry_run"):
        if not isinstance(meta.get(flag, False), bool):
            raise _bad_meta(f"_meta.{flag}", "must be true or false")
    op = meta.get("op", "-")
    if not isinstance(op, str) or not 0 < len(op) <= limits.META_OP_MAX_CHARS:
        raise _bad_meta("_meta.op", f"must be a string of 1 to {limits.META_OP_MAX_CHARS} characters")
    return {key: value for key, value in params.items() if key != "_meta"}, meta


def _bad_meta(where: str, what: str) -> Fault:
    return Fault(Slug.INVALID_PARAMS, f"`{where}` {what}.", path=f"$.{where}")


def fault_error(fault: Fault, *, mutating: bool, redact: Redactor | None = None) -> dict[str, Any]:
    """Render a fault as an error object: `{code, message, data: {error, retryable, outcome?, next?, ...}}`.

    `outcome` is told of mutating methods, `not_applied` unless the fault says otherwise, and of any fault that sets it.
    `redact`, where given, is applied to the excerpt and to every string in the fault's further data.
    """
    data: dict[str, Any] = {"error": fault.slug.value, "retryable": fault.retryable}
    if fault.outcome is not None or mutating:
        data["outcome"] = fault.outcome or "not_applied"
    if fault.next_call is not None:
        data["next"] = {"method": fault.next_call.method, "params": fault.next_call.params}
    excerpt, more = fault.excerpt, fault.data
    if redact is not None:
        excerpt, more = redact(excerpt), _redacted(more, redact)
    message = f"{fault.message}\n{excerpt}" if excerpt else fault.message
    return {"code": fault.code, "message": message, "data": {**more, **data}}


def _redacted(value: Any, redact: Redactor) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(item, redact) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(item, redact) for item in value]
    return value


def result_line(result: object, request_id: RequestId) -> bytes:
    """Write a whole answer, without a line ending."""
    return msgspec.json.encode({"jsonrpc": "2.0", "result": result, "id": request_id})


def error_line(fault: Fault, request_id: RequestId, *, mutating: bool = False) -> bytes:
    """Write a whole error answer, without a line ending."""
    return msgspec.json.encode({"jsonrpc": "2.0", "error": fault_error(fault, mutating=mutating), "id": request_id})


def notification_line(method: str, params: object) -> bytes:
    """Write a whole notification, without a line ending."""
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})
