"""Admitting requests. What the peer sees of it is tested with the connection."""

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.rpc.admission import Admission, cancelled_id
from picoclawd.rpc.dispatch import Job
from picoclawd.rpc.envelope import Element, Invalid, Request
from picoclawd.rpc.method import Params, Peer, Role
from picoclawd.rpc.notifications import Notifications
from tests.rpc.house import House


def admission(role: Role = "agent") -> Admission:
    return Admission(House(), None, Peer(role, 1, 1), Notifications(lambda line, sent: None))


def request(method: str, params: Params) -> Request:
    return Request(method, params, 1, False)


def slug_of(job: Job) -> Slug | None:
    return job.refusal.slug if isinstance(job.refusal, Fault) else None


def test_requests_enter_their_lanes_when_admitted() -> None:
    admitting = admission()
    jobs = [admitting.admit(request("append", {"path": path, "text": ""})) for path in ("a", "./b/../a", "b")]
    assert [job.ticket.waits for job in jobs] == [False, True, False]
    jobs[0].ticket.leave()
    assert not jobs[1].ticket.waits


def test_closing_refuses_writes_only() -> None:
    admitting = admission()
    admitting.closing = True
    assert slug_of(admitting.admit(request("append", {}))) is Slug.SHUTTING_DOWN
    assert admitting.admit(request("read", {})).refusal is None


def test_the_operators_methods_are_refused_to_agents_before_anything_is_looked_at() -> None:
    refused = admission().admit(request("approve", {}))
    assert (slug_of(refused), refused.ticket.paths) == (Slug.OPERATOR_ONLY, ())
    assert admission("operator").admit(request("approve", {})).refusal is None


def test_meta_goes_to_the_exchange_and_leaves_the_params() -> None:
    job = admission().admit(request("echo", {"a": 1, "_meta": {"op": "x"}}))
    assert (job.params, job.exchange.meta) == ({"a": 1}, {"op": "x"})


@pytest.mark.parametrize(
    ("element", "named"),
    [
        (request("$/cancelRequest", {"id": 5}), 5),
        (request("$/cancelRequest", {"id": "5"}), "5"),
        (request("$/cancelRequest", {"id": True}), None),
        (request("$/cancelRequest", {"id": None}), None),
        (request("$/cancelRequest", {}), None),
        (request("$/cancelRequest", [5]), None),
        (request("ping", {"id": 5}), None),
        (Invalid(Fault(Slug.INVALID_REQUEST, "x")), None),
    ],
)
def test_only_a_cancellation_names_an_id(element: Element, named: object) -> None:
    assert cancelled_id(element) == named
