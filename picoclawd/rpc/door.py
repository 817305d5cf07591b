"""The methods beside the tools, as the wire calls them."""

import inspect

from picoclawd.errors import Fault, Slug
from picoclawd.rpc import events, history, people, sessions, status, undo
from picoclawd.rpc.describe import describe_tools, openrpc
from picoclawd.rpc.method import Exchange, Method, Params, no_paths
from picoclawd.rpc.rows import Answer, Caller, Guest, House, NoParams, Row
from picoclawd.tools._decode import decode
from picoclawd.tools._spec import path_of


def methods(house: House) -> list[Method]:
    """One `Method` for each row of the table below. Those that need not wait are answered at once."""
    return [_method(house, row) for row in ROWS]


def _method(house: House, row: Row) -> Method:
    order = row.params.__struct_encode_fields__

    def lane_paths(params: Params) -> tuple[bytes, ...]:
        named = dict(zip(order, params, strict=False)) if isinstance(params, list) else params
        key = house.workspace.lane_key(path_of(named))
        return () if key is None else (key,)

    def at_once(exchange: Exchange, params: Params) -> object:
        assert isinstance(exchange.client, Guest)
        if isinstance(params, list):
            if len(params) > len(order):
                raise Fault(Slug.INVALID_PARAMS, f"{row.name} takes at most {len(order)} parameters.", path="$")
            params = dict(zip(order, params, strict=False))
        return row.handler(house, Caller(exchange.client, exchange), decode(row.name, row.params, params))

    async def run(exchange: Exchange, params: Params) -> object:
        answer = at_once(exchange, params)
        return await answer if inspect.isawaitable(answer) else answer

    waits = inspect.iscoroutinefunction(row.handler)
    return Method(
        row.name,
        run,
        at_once=None if waits else at_once,
        operator_only=row.operator_only,
        mutating=row.mutating,
        lane_paths=lane_paths if row.in_lane else no_paths,
        exclusive=row.in_lane,
    )


def _ping(house: House, caller: Caller, params: NoParams) -> Answer:
    return {"pong": True}


def _tools_list(house: House, caller: Caller, params: NoParams) -> Answer:
    return {"tools": describe_tools(house.toolbox, house.workspace.options.output_dir)}


def _discover(house: House, caller: Caller, params: NoParams) -> Answer:
    return openrpc(house.toolbox, [(row.name, row.summary, row.params) for row in ROWS], house.facts.version)


ROWS: tuple[Row, ...] = (
    Row("ping", "Answer at once.", NoParams, _ping),
    Row("tools.list", "The tools that are switched on, with their schemas.", NoParams, _tools_list),
    Row("rpc.discover", "This daemon's OpenRPC document.", NoParams, _discover),
    *sessions.ROWS,
    *events.ROWS,
    *people.ROWS,
    *history.ROWS,
    *undo.ROWS,
    *status.ROWS,
)
