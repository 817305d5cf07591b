"""Each failure has its exit code and the error object that `--json` prints."""

import pytest

from picoclawd.client.failures import CALL_FAILED, CONFIRMATION, NO_DAEMON, USAGE, Failure, Lost, NoDaemon, UsageFault
from picoclawd.client.failures import RpcError as Answered


@pytest.mark.parametrize(
    ("failure", "code", "data"),
    [
        (Failure("x"), CALL_FAILED, {"error": "failed"}),
        (UsageFault("x"), USAGE, {"error": "usage"}),
        (NoDaemon("x"), NO_DAEMON, {"error": "no_daemon"}),
        (Lost("x"), CALL_FAILED, {"error": "connection_lost", "outcome": "unknown"}),
    ],
)
def test_a_failure_of_our_own_looks_like_the_daemons(failure: Failure, code: int, data: dict[str, str]) -> None:
    assert failure.exit_code == code
    assert failure.as_json() == {"code": None, "message": "x", "data": data}


@pytest.mark.parametrize(
    ("slug", "code"),
    [("not_found", CALL_FAILED), ("confirmation_denied", CONFIRMATION), ("confirmation_unavailable", CONFIRMATION)],
)
def test_the_daemons_error_is_passed_on_as_it_is(slug: str, code: int) -> None:
    error = {"code": -32002, "message": "no such file", "data": {"error": slug, "next": 1}}
    failure = Answered(error)
    assert (str(failure), failure.slug, failure.exit_code) == ("no such file", slug, code)
    assert failure.as_json() == error


@pytest.mark.parametrize("error", [{}, {"data": None}, {"data": "text"}, {"code": 1, "message": "x", "data": [1]}])
def test_an_error_that_is_no_daemons_is_still_one(error: dict[str, object]) -> None:
    failure = Answered(error)
    assert (failure.slug, failure.exit_code, failure.data) == ("error", CALL_FAILED, {})
