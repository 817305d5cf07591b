"""Put calls that a person must confirm before the person, through the MCP host (elicitation).

Only with `--operator-socket`, which gives the bridge, and with it the host, the person's voice. The daemon records
each answer as given through elicitation, with the processes that gave it. Hosts of the protocol with a handshake are
asked while the call waits; later ones get `input_required`, and call again with the answer.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types
import trio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from picoclawd.client import approvals, link
from picoclawd.client.failures import Failure, Lost, NoDaemon, RpcError

Context = ServerRequestContext[Any, Any]
Request = dict[str, Any]  # a row of approvals.list
Call = Callable[[], Awaitable[Any]]

_KEY = "confirm"
_FIELD = "answer"
_ANSWERS = {"allow": "once", "allow for the task": "task", "deny": "deny"}
_MESSAGE_MAX_CHARS = 6000  # hosts show a question in a dialog; what is cut is said
_TARGETS = ("path", "path_bytes", "url", "version", "task_id")  # what tells two calls of one tool apart


class Person:
    """The person behind one MCP host, asked over the operator's socket at `path`."""

    def __init__(self, nursery: trio.Nursery, path: str) -> None:
        self._nursery = nursery
        self._path = path
        self._opening = trio.Lock()
        self._link: link.Link | None = None
        self._told = trio.Event()

    async def confirm(self, ctx: Context, session_id: str, params: mcp_types.CallToolRequestParams, call: Call) -> Any:
        """Make the call, and see that the person is asked if it waits for one: the call's result, or an
        `InputRequiredResult` that asks the host to ask.

        Raises:
            RpcError, Lost: as the call.
            NoDaemon: nobody listens at the operator's socket.
        """
        if not _can_ask(ctx):
            return await call()
        operator = await self._connected(ctx)
        if params.request_state is not None and not await self._take(operator, session_id, params):
            return await call()  # dismissed: whoever else may answer, does
        asked = _asks_in_place if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS else None
        return await _Confirmed(self, operator, ctx, session_id, params).run(call, asked)

    async def request(self, operator: link.Link, session_id: str, params: Any) -> Request:
        """The request that the call waits for, as soon as there is one."""
        while True:
            told = self._told
            pending = (await operator.call("approvals.list", {}))["pending"]
            for request in pending:
                if request["session_id"] == session_id and _is_about(request, params):
                    return dict(request)
            await told.wait()

    async def _take(self, operator: link.Link, session_id: str, params: Any) -> bool:
        """Pass on what the host brings back; False where the person gave no answer."""
        result = (params.input_responses or {}).get(_KEY)
        pending = (await operator.call("approvals.list", {}))["pending"]
        for request in pending:
            if request["id"] == params.request_state and request["session_id"] == session_id:
                return await answer(operator, request, result)
        return True  # it was answered elsewhere, or is over: the call finds out

    async def _connected(self, ctx: Context) -> link.Link:
        async with self._opening:
            if self._link is None or self._link.lost:
                self._link = await self._open(ctx)
            return self._link

    async def _open(self, ctx: Context) -> link.Link:
        try:
            opened = await link.connect(self._path, self._notified, self._look_again)
        except (OSError, trio.TooSlowError):
            raise NoDaemon(
                f"no daemon listens at {self._path}, which --operator-socket names. `picoclawctl doctor` shows the "
                "operator's socket of the daemon that runs here."
            ) from None
        self._nursery.start_soon(opened.run)
        try:
            await opened.call("session.open", {"client": "picoclawctl mcp, for the person"})
            await opened.call("events.subscribe", {"kinds": ["approval.*"]})
        except BaseException:
            opened.close()
            raise
        return opened

    def _notified(self, _message: dict[str, Any]) -> None:
        self._look_again()

    def _look_again(self) -> None:
        self._told.set()
        self._told = trio.Event()


class _Confirmed:
    """One call, and the question about it."""

    def __init__(self, person: Person, operator: link.Link, ctx: Context, session_id: str, params: Any) -> None:
        self._person = person
        self._operator = operator
        self._ctx = ctx
        self._session_id = session_id
        self._params = params
        self._result: Any = None
        self._failure: Failure | None = None

    async def run(self, call: Call, asks: "Callable[[Context, link.Link, Request], Awaitable[bool]] | None") -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._make, call, nursery.cancel_scope)
            nursery.start_soon(self._watch, asks, nursery.cancel_scope)
        if self._failure is not None:
            raise self._failure
        return self._result

    async def _make(self, call: Call, scope: trio.CancelScope) -> None:
        try:
            self._result = await call()
        except (RpcError, Lost) as failure:
            self._failure = failure
        scope.cancel()  # nobody need be asked any more

    async def _watch(self, asks: Any, scope: trio.CancelScope) -> None:
        try:
            request = await self._person.request(self._operator, self._session_id, self._params)
            if asks is None:
                self._result = _input_required(request)
                scope.cancel()  # the request outlives the call, and waits for the next one
                return
            while await asks(self._ctx, self._operator, request):
                request = await self._person.request(self._operator, self._session_id, self._params)
        except (MCPError, RpcError, Lost):
            return  # the host, or the daemon, does not play along: the call waits as it would without us


async def _asks_in_place(ctx: Context, operator: link.Link, request: Request) -> bool:
    """Ask while the call waits; False where the person gave no answer."""
    result = await ctx.session.elicit_form(_message(request), _form(request), ctx.request_id)
    return await answer(operator, request, result)


async def answer(operator: link.Link, request: Request, result: Any) -> bool:
    """Pass an answer on to the daemon; False where there was none."""
    if not isinstance(result, mcp_types.ElicitResult) or result.action == "cancel":
        return False
    chosen = (result.content or {}).get(_FIELD) if result.action == "accept" else "deny"
    given = _ANSWERS.get(str(chosen), "deny")
    told = {"id": request["id"], "digest": request["digest"], "answer": given, "via": "elicitation"}
    await operator.call("approvals.answer", told)
    return True


def _can_ask(ctx: Context) -> bool:
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def _is_about(request: Request, params: Any) -> bool:
    given = params.arguments or {}
    shown = request["params"]
    return request["method"] == params.name and all(shown.get(key) == given[key] for key in _TARGETS if key in given)


def _input_required(request: Request) -> mcp_types.InputRequiredResult:
    question = mcp_types.ElicitRequest(
        params=mcp_types.ElicitRequestFormParams(message=_message(request), requested_schema=_form(request))
    )
    return mcp_types.InputRequiredResult(input_requests={_KEY: question}, request_state=request["id"])


def _message(request: Request) -> str:
    text = f"An agent asks for your consent.\n\n{approvals.described(request)}"
    if len(text) <= _MESSAGE_MAX_CHARS:
        return text
    return f"{text[:_MESSAGE_MAX_CHARS]}\n… cut here; `picoclawctl approvals {request['id']}` shows all of it"


def _form(request: Request) -> dict[str, Any]:
    offered = [word for word, given in _ANSWERS.items() if given in request.get("answers", ["once", "deny"])]
    field = {"type": "string", "title": "Your answer", "enum": offered}
    return {"type": "object", "properties": {_FIELD: field}, "required": [_FIELD]}
