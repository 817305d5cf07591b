"""The MCP server behind `picoclawctl mcp`: each tool of `tools.list` is an MCP tool, each call one daemon call.

The text of a result is the daemon's `content`, whole. The structured content is the daemon's `data` where that says
what the text does not: without the rows that the text lists (`ROWS`), and not at all where the text is that JSON
itself. Pictures are image content, and not in the structured one. Of an error the text is `[slug] message`.
"""

from dataclasses import dataclass
from typing import Any, Literal, assert_never

import mcp_types
import trio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from picoclawd import limits
from picoclawd.client import discover, link, versions
from picoclawd.client.failures import Lost, NoDaemon, RpcError

Kind = Literal["agent", "subagent"]
Structured = Literal["auto", "always", "never"]
Tools = Literal["picoclaw", "agenvoy", "all"]
Context = ServerRequestContext[Any, Any]

ROWS = ("results",)  # the rows of a search stand in both `content` and `data`

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
    """What the command line says: the session's kind, whether to send structured content, and which tools to offer."""

    kind: Kind = "agent"
    structured: Structured = "auto"
    tools: Tools = "all"

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
        self._names: frozenset[str] = frozenset()

    async def list_tools(
        self, ctx: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        """Answer `tools/list`: all tools on one page."""
        try:
            return mcp_types.ListToolsResult(tools=[_tool(tool) for tool in await self._fetch_tools(ctx)])
        except (NoDaemon, Lost, RpcError) as failure:
            raise MCPError(mcp_types.INTERNAL_ERROR, str(failure)) from None

    async def call_tool(self, ctx: Context, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        """Answer `tools/call`. What fails is a result with `isError`, which the model can read."""
        try:
            if params.name not in self._names and params.name not in await self._fetch_names(ctx):
                raise MCPError(mcp_types.INVALID_PARAMS, f"no tool named {params.name}")
            daemon = await self._connected(ctx)
            result = await daemon.call(params.name, params.arguments or {})
        except RpcError as error:
            return failed(error.slug, error.message, error.data if self._shows_structured(ctx) else None)
        except Lost as failure:
            return failed(failure.slug, f"{failure}: look before you repeat it. {self._restart()}", None)
        except NoDaemon as failure:
            return failed(failure.slug, str(failure), None)
        return succeeded(result, self._shows_structured(ctx))

    async def _fetch_names(self, ctx: Context) -> frozenset[str]:
        await self._fetch_tools(ctx)
        return self._names

    async def _fetch_tools(self, ctx: Context) -> list[dict[str, Any]]:
        daemon = await self._connected(ctx)
        listed: list[dict[str, Any]] = (await daemon.call("tools.list", {}))["tools"]
        tools = [tool for tool in listed if self._wishes.offers(tool["name"])]
        self._names = frozenset(tool["name"] for tool in tools)
        return tools

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
            await opened.call("session.open", {"client": _client_name(ctx), "kind": self._wishes.kind})
            greeted = True
        finally:
            if not greeted:
                opened.close()
        return opened

    async def _reach(self) -> link.Link:
        for endpoint in discover.candidates("agent", self._start):
            try:
                return await link.connect(endpoint.path)
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
                await server.run(incoming, outgoing, server.create_initialization_options())
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
    )


def succeeded(result: Any, structured: bool) -> mcp_types.CallToolResult:
    """A daemon's result as MCP has it."""
    content, data = str(result["content"]), result.get("data")
    facts: dict[str, Any] | None = None
    if structured and isinstance(data, dict) and not content.startswith("{"):
        facts = {key: value for key, value in data.items() if key not in ROWS}
    pictures = _pictures(data)
    if facts is not None and pictures:
        facts["files"] = [{key: value for key, value in file.items() if key != "image"} for file in facts["files"]]
    return mcp_types.CallToolResult(content=[_text(content), *pictures], structured_content=facts or None)


def _pictures(data: Any) -> list[mcp_types.ImageContent]:
    """The pictures among the files that were read, in their order."""
    files = data.get("files") if isinstance(data, dict) else None
    images = [file.get("image") for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return [
        mcp_types.ImageContent(type="image", data=image["base64"], mime_type=image["mime"]) for image in images if image
    ]


def failed(slug: str, message: str, data: dict[str, Any] | None) -> mcp_types.CallToolResult:
    """A failure as MCP has it: a result that the model reads, with the slug in front."""
    text = f"[{slug}] {message}"
    return mcp_types.CallToolResult(content=[_text(text)], structured_content=data or None, is_error=True)


def _tool(tool: dict[str, Any]) -> mcp_types.Tool:
    return mcp_types.Tool(
        name=tool["name"],
        title=tool.get("title"),
        description=tool.get("description"),
        input_schema=tool["params"],
        annotations=mcp_types.ToolAnnotations.model_validate(tool.get("hints", {})),
    )


def _text(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=text)


def _host(ctx: Context) -> str:
    params = ctx.session.client_params
    return params.client_info.name if params is not None else ""


def _client_name(ctx: Context) -> str:
    printable = "".join(char for char in _host(ctx) if char.isprintable())
    return f"mcp:{printable or 'unknown'}"[: limits.CLIENT_NAME_MAX_CHARS]
