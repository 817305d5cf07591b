"""The MCP server behind `picoclawctl mcp`: each tool of `tools.list` is an MCP tool, each call one daemon call.

`bridge_results` words the answers, `bridge_approvals` puts questions to the person, `bridge_resources` shows files.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, assert_never

import mcp_types
import trio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from picoclawd import limits
from picoclawd.client import discover, link, versions
from picoclawd.client.bridge_approvals import Person
from picoclawd.client.bridge_progress import relayed
from picoclawd.client.bridge_resources import Resources
from picoclawd.client.bridge_results import failed, has_schema, succeeded, tool_of
from picoclawd.client.failures import Lost, NoDaemon, RpcError

Kind = Literal["agent", "subagent"]
Structured = Literal["auto", "always", "never"]
Tools = Literal["picoclaw", "agenvoy", "all"]
Context = ServerRequestContext[Any, Any]

_NOTIFIES = NotificationOptions(resources_changed=True)

# These hosts give the model the structured content alone where there is one, and so would hide what a file says
# (anthropics/claude-code#79944, openai/codex#38287). To be removed when they show the text as well.
TEXT_HIDING_HOSTS = frozenset({"claude-code", "codex-mcp-client"})

# Whose tool is whose: a host's prompt may be written for one family, and be confused by the other's names.
FAMILIES: dict[Tools, frozenset[str]] = {
    "picoclaw": frozenset({"read_file", "write_file", "edit_file", "append_file", "list_dir", "search_files"}),
    "agenvoy": frozenset(
        {"find_files", "read_files", "edit_file", "remove_file", "restore_file", "file_history", "open_file"}
    ),
}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line says: the session's kind, whether to send structured content, which tools to offer, and
    the operator's socket where the host may ask the person."""

    kind: Kind = "agent"
    structured: Structured = "auto"
    tools: Tools = "all"
    operator_socket: str | None = None

    def offers(self, name: str) -> bool:
        """Whether the host may see the tool of this name."""
        return self.tools not in FAMILIES or name in FAMILIES[self.tools]


class Bridge:
    """One MCP host's way to the daemon: one session, opened at the first request and again after a lost daemon."""

    def __init__(self, nursery: trio.Nursery, start: str | None, wishes: Wishes) -> None:
        self._nursery = nursery
        self._start = start
        self._wishes = wishes
        self._link: link.Link | None = None
        self._opening = trio.Lock()
        self._session_id = ""
        self._tools: dict[str, dict[str, Any]] = {}
        self._person = None if wishes.operator_socket is None else Person(nursery, wishes.operator_socket)
        self.resources = Resources(self._connected)
        nursery.start_soon(self.resources.run)

    async def list_tools(
        self, ctx: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        """Answer `tools/list`: all tools on one page."""
        structured = self._shows_structured(ctx)
        try:
            return mcp_types.ListToolsResult(tools=[tool_of(row, structured) for row in await self._fetch_tools(ctx)])
        except (NoDaemon, Lost, RpcError) as failure:
            raise MCPError(mcp_types.INTERNAL_ERROR, str(failure)) from None

    async def call_tool(
        self, ctx: Context, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        """Answer `tools/call`. What fails is a result with `isError`, which the model can read."""
        structured = self._shows_structured(ctx)
        try:
            row = await self._tool(ctx, params.name)
            daemon = await self._connected(ctx)
            result = await self._make(ctx, daemon, params)
        except RpcError as error:
            return failed(error.slug, error.message, error.data if structured else None)
        except Lost as failure:
            return failed(failure.slug, f"{failure}: look before you repeat it. {self._restart()}", None)
        except NoDaemon as failure:
            return failed(failure.slug, str(failure), None)
        if isinstance(result, mcp_types.InputRequiredResult):
            return result
        return succeeded(result, structured, structured and has_schema(row))

    async def _make(self, ctx: Context, daemon: link.Link, params: mcp_types.CallToolRequestParams) -> Any:
        """The daemon's result, with progress on the way; or what the host must ask the person first."""
        async with relayed(self._nursery, ctx) as progress:
            arguments = dict(params.arguments or {})
            if progress is not None:
                arguments["_meta"] = {"progress": True}
            call = partial(daemon.call, params.name, arguments, progress)
            if self._person is None:
                return await call()
            return await self._person.confirm(ctx, self._session_id, params, call)

    async def _tool(self, ctx: Context, name: str) -> dict[str, Any]:
        if name not in self._tools:
            await self._fetch_tools(ctx)
        if name not in self._tools:
            raise MCPError(mcp_types.INVALID_PARAMS, f"no tool named {name}")
        return self._tools[name]

    async def _fetch_tools(self, ctx: Context) -> list[dict[str, Any]]:
        daemon = await self._connected(ctx)
        listed: list[dict[str, Any]] = (await daemon.call("tools.list", {}))["tools"]
        self._tools = {row["name"]: row for row in listed if self._wishes.offers(row["name"])}
        return list(self._tools.values())

    async def _connected(self, ctx: Context) -> link.Link:
        async with self._opening:
            if self._link is None or self._link.lost:
                self._link = await self._open(ctx)
            return self._link

    async def _open(self, ctx: Context) -> link.Link:
        opened = await self._reach()
        self._nursery.start_soon(opened.run)
        greeted = False
        try:
            told = await opened.call("session.open", {"client": _client_name(ctx), "kind": self._wishes.kind})
            self._session_id = str(told.get("session_id", ""))
            with suppress(RpcError):  # an older daemon has no events: the tools work all the same
                await self.resources.attach(opened)
            greeted = True
        finally:
            if not greeted:
                opened.close()
        return opened

    async def _reach(self) -> link.Link:
        for endpoint in discover.candidates("agent", self._start):
            try:
                return await link.connect(endpoint.path, self.resources.notified)
            except (OSError, trio.TooSlowError):
                continue
        raise NoDaemon(f"no picoclawd daemon answers. {self._restart()}")

    def _restart(self) -> str:
        here = discover.start_directory(self._start)
        return f"Start it again with `picoclawd serve --workspace {here}`; the next call connects to it."

    def _shows_structured(self, ctx: Context) -> bool:
        match self._wishes.structured:
            case "always":
                return True
            case "never":
                return False
            case "auto":
                return _host(ctx) not in TEXT_HIDING_HOSTS
            case _ as never:
                assert_never(never)


async def serve(start: str | None, wishes: Wishes) -> None:
    """Serve one MCP host over stdin and stdout until it closes stdin. `start`: the directory to find a daemon for."""
    try:
        async with trio.open_nursery() as nursery:
            server = make_server(Bridge(nursery, start, wishes))
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options(_NOTIFIES))
            nursery.cancel_scope.cancel()
    except* BrokenPipeError:
        pass  # the host went away without closing stdin first


def make_server(bridge: Bridge) -> Server[Any]:
    """The MCP server of a bridge, for any transport."""
    return Server(
        "picoclawd",
        version=versions.client_version(),
        title="picoclawd",
        on_list_tools=bridge.list_tools,
        on_call_tool=bridge.call_tool,
        on_list_resources=bridge.resources.list_resources,
        on_list_resource_templates=bridge.resources.list_templates,
        on_read_resource=bridge.resources.read,
        on_subscribe_resource=bridge.resources.subscribe,
        on_unsubscribe_resource=bridge.resources.unsubscribe,
        on_subscriptions_listen=bridge.resources.listen,
    )


def _host(ctx: Context) -> str:
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""


def _client_name(ctx: Context) -> str:
    printable = "".join(char for char in _host(ctx) if char.isprintable())
    return f"mcp:{printable or 'unknown'}"[: limits.CLIENT_NAME_MAX_CHARS]
