"""Run one request through jsonrpcserver's loop-free pieces, under the one guard that turns a bug into -32603.

`jsonrpcserver.async_dispatch` itself awaits `asyncio.gather`, which trio does not run; its pieces do not. Everything
imported from that library is imported here, when the first dispatcher is made: it takes longer than all the rest.
"""

import importlib
import inspect
import secrets
import time
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.rpc import envelope, meter
from picoclawd.rpc.lanes import Ticket
from picoclawd.rpc.method import LATER, Exchange, Host, Method, Params
from picoclawd.text.context import fields


def preload() -> None:
    """Import what the first dispatcher needs, before anybody waits for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # see Dispatcher
        importlib.import_module("jsonrpcserver")


class Job:
    """A request that the reader has admitted: in its lanes, not yet running.

    `refusal` is raised in place of running the method, so that all failures take one way out.
    """

    __slots__ = ("admitted_s", "exchange", "method", "params", "refusal", "request", "ticket")

    def __init__(
        self,
        request: envelope.Request,
        exchange: Exchange,
        method: Method | None,
        params: Params,
        ticket: Ticket,
        refusal: Exception | None,
    ) -> None:
        self.request = request
        self.exchange = exchange
        self.method = method
        self.params = params
        self.ticket = ticket
        self.refusal = refusal
        self.admitted_s = time.perf_counter()

    @property
    def mutating(self) -> bool:
        """Whether the method may change something: then its error tells the outcome."""
        return self.method is not None and self.method.mutating

    @property
    def op(self) -> str | None:
        """The client's own name for the change, where the job may make one: it is under way until the job ends."""
        return self.exchange.meta.get("op") if self.mutating and self.refusal is None else None


class Dispatcher:
    """Answers jobs, for all connections. Making one imports jsonrpcserver (0.1 to 0.2 s)."""

    def __init__(self, host: Host) -> None:
        with warnings.catch_warnings():
            # jsonrpcserver 5.0.9 reads its schema with importlib.resources.read_text; removable when it stops.
            warnings.simplefilter("ignore", DeprecationWarning)
            from jsonrpcserver import Error, Success, async_dispatcher, dispatcher
            from jsonrpcserver.response import to_serializable
            from jsonrpcserver.sentinels import NOCONTEXT

        self._guard = _Guard(host, Success, Error)
        self._call = _Function(self._guard.run)
        self._create_request: Callable[[dict[str, Any]], Any] = dispatcher.create_request
        self._dispatch: Callable[[Any, Any, Any], Awaitable[Any]] = async_dispatcher.dispatch_request
        self._no_context = NOCONTEXT
        self._to_response: Callable[[Any, Any], Any] = dispatcher.to_response
        self._to_serializable: Callable[[Any], Any] = to_serializable

    def answer_at_once(self, job: Job) -> bytes | None:
        """Answer without waiting, where the job allows it: a refusal, or a method that has it ready. None: not so.

        jsonrpcserver's own dispatch is left out here: looking the method up and fitting the arguments is done, and
        doing it again would be a quarter of a ping. So are its envelopes around a result.
        """
        if job.refusal is None and (job.method is None or job.method.at_once is None or job.ticket.waits):
            return None
        answer = self._guard.run_at_once(job)
        if answer is None or isinstance(answer, bytes):
            return answer
        return self._encode(self._request(job), answer)

    async def answer(self, job: Job) -> bytes:
        """Run a job to its end and return the answer's line, which a notification's caller throws away.

        Leaves the job's lanes. Raises only what cancels the caller itself.
        """
        request, result = await self._dispatch({job.request.method: self._call}, self._no_context, self._request(job))
        return self._encode(request, result)

    def _request(self, job: Job) -> Any:
        return self._create_request({"method": job.request.method, "params": [job], "id": job.request.id})

    def _encode(self, request: Any, result: Any) -> bytes:
        return msgspec.json.encode(self._to_serializable(self._to_response(request, result)))


class _Fits(inspect.Signature):
    """A signature that any arguments fit: ours are always the same two, and binding them costs as much as decoding."""

    def bind(self, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
        return _NO_ARGUMENTS


_NO_ARGUMENTS = inspect.Signature().bind()


class _Function:
    """A callable that jsonrpcserver finds a ready signature on: it asks for it at each call."""

    __signature__ = _Fits()

    def __init__(self, function: Callable[[Job], Awaitable[Any]]) -> None:
        self._function = function

    def __call__(self, job: Job) -> Awaitable[Any]:
        return self._function(job)


class _Guard:
    """What jsonrpcserver calls for every method, and the only place where a bug becomes an answer."""

    def __init__(self, host: Host, success: Callable[[Any], Any], error: Callable[..., Any]) -> None:
        self._host = host
        self._success = success
        self._error = error

    async def run(self, job: Job) -> Any:
        """Run a job to its end, in its own scope; returns jsonrpcserver's `Result`."""
        try:
            with job.exchange.scope:
                result = self._success(await _result(job))
                self._count(job, meter.OK)
                return result
            failure: Exception = _gave_up(job.exchange)
        except Exception as exc:  # noqa: BLE001 - the one guard: only this request dies
            failure = exc
        finally:
            self._end(job)
        return self._failed(job, failure)

    def run_at_once(self, job: Job) -> Any:
        """Try a job without waiting: a whole line, or jsonrpcserver's `Result` of a failure.

        None, nothing done, where it has to be `run`.
        """
        answer: Any
        try:
            answer = _line_at_once(job)
            if answer is None:
                return None
            self._count(job, meter.OK)
        except Exception as exc:  # noqa: BLE001 - the same guard, for what needs no task
            answer = self._failed(job, exc)
        self._end(job)
        return answer

    def _end(self, job: Job) -> None:
        job.exchange.finish()
        job.ticket.leave()
        if job.op is not None:
            self._host.underway.end(job.op)

    def _failed(self, job: Job, exc: Exception) -> Any:
        fault = _sole_fault(exc) or self._internal(job, exc)
        self._count(job, fault.slug.value)
        return self._error(**envelope.fault_error(fault, mutating=job.mutating))

    def _count(self, job: Job, outcome: str) -> None:
        """Count a request that ended, and tell of one that was slow."""
        took_s = time.perf_counter() - job.admitted_s
        waits = job.exchange.waited
        name = job.method.name if job.method is not None else meter.UNKNOWN
        if self._host.meter.count(name, outcome, took_s, waits):
            subject = self._host.subject(job.exchange.client)
            meter.tell_slow(self._host.log, name, job.params, outcome, took_s, job.exchange.waits, subject)

    def _internal(self, job: Job, exc: Exception) -> Fault:
        """Log the bug under a short id and say no more than that id."""
        bug_id = secrets.token_hex(4)
        name = job.method.name if job.method is not None else "?"
        session_id = self._host.subject(job.exchange.client).session_id
        about = fields(session=session_id, tool=name)
        self._host.log.error("internal error %s in %s", bug_id, name, exc_info=exc, extra=about)
        text = f"internal error {bug_id}: this is a bug in picoclawd; its log tells more under that id."
        return Fault(Slug.INTERNAL_ERROR, text, outcome="unknown" if job.mutating else None, id=bug_id)


async def _result(job: Job) -> msgspec.Raw:
    """Wait for the job's turn and run it; encode here, so that a result which cannot be encoded meets the guard."""
    assert job.method is not None
    if job.ticket.waits:
        with job.exchange.waits.for_turn():
            await job.ticket.turn()
    return msgspec.Raw(msgspec.json.encode(await job.method.run(job.exchange, job.params)))


def _line_at_once(job: Job) -> bytes | None:
    if job.refusal is not None:
        raise job.refusal
    assert job.method is not None
    assert job.method.at_once is not None
    result = job.method.at_once(job.exchange, job.params)
    return None if result is LATER else envelope.result_line(result, job.request.id)


def _gave_up(exchange: Exchange) -> Fault:
    """Name the reason for which the scope ended the method."""
    if exchange.timed_out:
        return Fault(Slug.TIMEOUT, "timeout: the request took too long and was stopped. Ask for less, or again later.")
    return Fault(Slug.CANCELLED, "cancelled: stopped before it took effect.")


def _sole_fault(exc: Exception) -> Fault | None:
    """Find the one fault that a nursery inside a method has wrapped."""
    while isinstance(exc, ExceptionGroup) and len(exc.exceptions) == 1:
        exc = exc.exceptions[0]
    return exc if isinstance(exc, Fault) else None
