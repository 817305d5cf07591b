"""Decide in the reader, in order of arrival, what becomes of a request: its place in the lanes, or its refusal."""

from picoclawd.errors import Fault, Slug
from picoclawd.rpc import envelope
from picoclawd.rpc.dispatch import Job
from picoclawd.rpc.envelope import Request
from picoclawd.rpc.lanes import Lanes
from picoclawd.rpc.method import Exchange, Host, Method, Notifier, Params, Peer

CANCEL_METHOD = "$/cancelRequest"


class Admission:
    """Admits the requests of one connection. `closing` refuses new writes: the daemon is stopping."""

    def __init__(self, host: Host, client: object, peer: Peer, notifier: Notifier) -> None:
        self._host = host
        self._client = client
        self._peer = peer
        self._notifier = notifier
        self._lanes = Lanes()
        self.closing = False

    def admit(self, request: Request) -> Job:
        """Enter the request's lanes, now. What it is refused for is told by the guard, like all that goes wrong."""
        name = request.method
        method = self._host.methods.get(name) if name != CANCEL_METHOD else _CANCEL
        params = request.params
        meta: dict[str, object] = {}
        paths: tuple[bytes, ...] = ()
        refusal: Exception | None = None
        try:
            if "_meta" in params:
                params, meta = envelope.take_meta(params)
            self._check(method, name)
            if method is not None:
                paths = method.lane_paths(params)
        except Exception as exc:  # noqa: BLE001 - raised again under the guard
            refusal = exc
        exchange = Exchange(self._client, self._peer, request.id, meta, self._notifier)
        ticket = self._lanes.enter(paths, exclusive=method is not None and (method.mutating or method.exclusive))
        job = Job(request, exchange, method, params, ticket, refusal)
        if job.op is not None:
            self._host.underway.begin(job.op)
        return job

    def _check(self, method: Method | None, name: str) -> None:
        """Raises: `method_not_found`, `operator_only`, `shutting_down`."""
        if method is None:
            available = list(self._host.available(self._peer))
            text = f"Method not found: {name[:100]}. `available` in the error's data lists what there is."
            raise Fault(Slug.METHOD_NOT_FOUND, text, available=available)
        if method.operator_only and self._peer.role != "operator":
            raise Fault(Slug.OPERATOR_ONLY, f"{name} is for the operator's socket only; ask the person at it.")
        if method.mutating and self.closing:
            raise Fault(Slug.SHUTTING_DOWN, "shutting_down: the daemon is stopping and takes no new writes. Try again.")


def cancelled_id(element: envelope.Element) -> str | int | float | None:
    """The id that a `$/cancelRequest` names; None for everything else."""
    if not isinstance(element, Request) or element.method != CANCEL_METHOD or not isinstance(element.params, dict):
        return None
    request_id = element.params.get("id")
    return request_id if isinstance(request_id, (str, int, float)) and not isinstance(request_id, bool) else None


def _nothing(exchange: Exchange, params: Params) -> None:
    """Answer a `$/cancelRequest` that asked for an answer: the reader has already done it."""


async def _nothing_more(exchange: Exchange, params: Params) -> None:
    """Stand behind `_nothing`, which always answers."""


_CANCEL = Method(CANCEL_METHOD, _nothing_more, at_once=_nothing)
