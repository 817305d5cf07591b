"""Count the requests: by method and outcome, how long they took, what they waited for, and which were slow."""

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterator

import msgspec

from picoclawd.errors import Slug
from picoclawd.files.waits import Waits
from picoclawd.rpc.budget import BudgetStatistics
from picoclawd.text.calls import call_line
from picoclawd.text.context import fields
from picoclawd.text.display import log_line

# Upper bounds in seconds: a ping takes 0.1 ms, an edit some ms, a search of a large tree some seconds.
BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
OK = "ok"
UNKNOWN = "unknown"  # the name that stands for every name that is no method: a client may make up any number of them
INVALID = "invalid"  # and for what is no request at all


class ServerStatistics(msgspec.Struct, frozen=True):
    """A look at the server: open connections, requests in flight on them, refused peers, bytes held."""

    connections: int
    in_flight: int
    refused: int
    budget: BudgetStatistics


class Served(msgspec.Struct):
    """The requests of one method: how many came to which outcome (`ok` or an error's slug), how many took at most each
    of `BOUNDS_S` and no less than the one before (the last: longer than all), and seconds in all."""

    outcomes: dict[str, int]
    buckets: list[int]
    seconds: float = 0.0


class Subject(msgspec.Struct, frozen=True):
    """Whose call it was: the session's id and its client's name."""

    session_id: str = ""
    client: str = ""


class Meter:
    """The daemon's counters. Loop only. `slow_s`: a call that takes longer is told in the log; 0: none is.

    `server` gives the server's own counts, once there is one.
    """

    def __init__(self, slow_s: float = 0.0) -> None:
        self.slow_s = slow_s
        self.slow_calls = 0
        self.received_bytes = 0
        self.sent_bytes = 0
        self.waited = Waits()
        self.server: Callable[[], ServerStatistics] | None = None
        self._served: dict[str, Served] = {}

    def count(self, method: str, outcome: str, took_s: float, waits: Waits | None = None) -> bool:
        """Count one request that ended; True where it was slow. Waiting for a person is not slow."""
        served = self._served.get(method)
        if served is None:
            served = self._served[method] = _none_served()
        served.outcomes[outcome] = served.outcomes.get(outcome, 0) + 1
        served.buckets[bisect_left(BOUNDS_S, took_s)] += 1
        served.seconds += took_s
        own_s = took_s
        if waits is not None:
            self._add(waits)
            own_s -= waits.person_s
        if not 0 < self.slow_s < own_s:
            return False
        self.slow_calls += 1
        return True

    def count_refused(self, slug: Slug) -> None:
        """Count what came in a request's place and was none."""
        served = self._served.setdefault(INVALID, _none_served())
        served.outcomes[slug.value] = served.outcomes.get(slug.value, 0) + 1

    def served(self) -> Iterator[tuple[str, Served]]:
        """Every method that was called, in order of its name."""
        yield from sorted(self._served.items())

    def _add(self, waits: Waits) -> None:
        self.waited.turn_s += waits.turn_s
        self.waited.locks_s += waits.locks_s
        self.waited.person_s += waits.person_s


def tell_slow(
    log: logging.Logger, method: str, params: object, outcome: str, took_s: float, waits: Waits, subject: Subject
) -> None:
    """Log one slow call: what it was, whose, and what of its time it waited for. Of its parameters only the path."""
    call = call_line(method, params if isinstance(params, dict) else {}, b"")
    at_work_s = max(0.0, took_s - waits.turn_s - waits.locks_s - waits.person_s)
    parts = [
        f"{seconds:.2f} s {what}"
        for seconds, what in (
            (waits.turn_s, "for earlier calls of its connection on this path"),
            (waits.locks_s, "for locks"),
            (waits.person_s, "for a person"),
        )
        if seconds >= 0.005
    ]
    whose = f"session {subject.session_id}" + (f", client {subject.client}" if subject.client else "")
    waited = f"waiting {', '.join(parts)}; " if parts else ""
    path = call.partition("(")[2].removesuffix(")")
    log.warning(
        "slow call: %s took %.2f s (%s%.2f s at work) and ended with %s; %s",
        call,
        took_s,
        waited,
        at_work_s,
        outcome,
        log_line(whose),
        extra=fields(session=subject.session_id, client=subject.client, tool=method, path=path),
    )


def _none_served() -> Served:
    return Served({}, [0] * (len(BOUNDS_S) + 1))
