"""The workspace's files as MCP resources: the newest are listed, any can be read, and hosts hear of changes.

A file's URI is `workspace:///` and its path in the workspace. What a resource holds is what `read_file` answers: the
first page of it, masked.
"""

import mimetypes
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote, unquote

import mcp_types
import trio
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from picoclawd.client import arguments, families, link
from picoclawd.client.failures import Failure, RpcError
from picoclawd.client.sieve import FILE_CHANGED, RESYNC

Context = ServerRequestContext[Any, Any]

SCHEME = "workspace:///"
LISTED_MAX = 50  # the newest files: a host that wants others knows their names, or searches
SUBSCRIBED_MAX = 1000  # resources of one host; each is compared with every change
_CHANGES_MAX = 256  # not yet told; more are told as one
_LIST_PAUSE_S = 1.0  # between two notices that the list changed: a build makes files by the thousand


class Resources:
    """The resources of one MCP host. `connected` gives the link to the daemon; `run` tells the host of changes."""

    def __init__(self, connected: Callable[[Context], Awaitable[link.Link]]) -> None:
        self._connected = connected
        self._watched: link.Link | None = None
        self._wanted = False
        self._session: ServerSession | None = None
        self._subscribed: set[str] = set()
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._changes, self._to_tell = trio.open_memory_channel[dict[str, Any]](_CHANGES_MAX)
        self._overflowed = False
        self._list_changed = trio.Event()

    async def list_resources(
        self, ctx: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourcesResult:
        """Answer `resources/list`: the files that were changed last, newest first."""
        daemon = await self._watch(ctx)
        wish = {"target": "files", "pattern": "", "order": "modified", "limit": LISTED_MAX}
        rows = (await _call(daemon, "search_files", wish))["data"]["results"]
        return mcp_types.ListResourcesResult(resources=[_resource(row) for row in rows])

    async def list_templates(
        self, _ctx: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourceTemplatesResult:
        """Answer `resources/templates/list`: any file by its path."""
        template = mcp_types.ResourceTemplate(
            name="file", title="A file of the workspace", uri_template=SCHEME + "{+path}"
        )
        return mcp_types.ListResourceTemplatesResult(resource_templates=[template])

    async def read(self, ctx: Context, params: mcp_types.ReadResourceRequestParams) -> mcp_types.ReadResourceResult:
        """Answer `resources/read` with the first page of the file."""
        daemon = await self._connect(ctx)
        answer = await _call(daemon, "read_file", _named(params.uri))
        mime_type = mimetypes.guess_type(params.uri)[0] or "text/plain"
        contents = mcp_types.TextResourceContents(uri=params.uri, mime_type=mime_type, text=answer["content"])
        return mcp_types.ReadResourceResult(contents=[contents])

    async def subscribe(self, ctx: Context, params: mcp_types.SubscribeRequestParams) -> mcp_types.EmptyResult:
        """Answer `resources/subscribe`."""
        _named(params.uri)
        if len(self._subscribed) >= SUBSCRIBED_MAX:
            raise MCPError(mcp_types.INVALID_PARAMS, f"{SUBSCRIBED_MAX} resources are subscribed to: unsubscribe some")
        await self._watch(ctx)
        self._subscribed.add(params.uri)
        return mcp_types.EmptyResult()

    async def unsubscribe(self, _ctx: Context, params: mcp_types.UnsubscribeRequestParams) -> mcp_types.EmptyResult:
        """Answer `resources/unsubscribe`."""
        self._subscribed.discard(params.uri)
        return mcp_types.EmptyResult()

    async def listen(
        self, ctx: Context, params: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        """Answer `subscriptions/listen`, which takes the place of the two above in later protocols."""
        await self._watch(ctx)
        return await self._listen(ctx, params)

    async def attach(self, opened: link.Link) -> None:
        """Be told of changes over a new link, where the host wanted to be over the last one."""
        if self._wanted and self._watched is not opened:
            await opened.call("events.subscribe", {"kinds": [FILE_CHANGED]})
            self._watched = opened
            self.notified({"method": RESYNC})

    def notified(self, message: dict[str, Any]) -> None:
        """Take a notification of the daemon; never waits."""
        if message["method"] not in (FILE_CHANGED, RESYNC):
            return
        try:
            self._changes.send_nowait(message)
        except trio.WouldBlock:
            self._overflowed = True

    async def run(self) -> None:
        """Tell the host of changes until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_of_list)
            async for message in self._to_tell:
                missed = self._overflowed or message["method"] == RESYNC
                self._overflowed = False
                for uri in list(self._subscribed) if missed else [uri_of(message["params"])]:
                    await self._tell_updated(uri)
                if missed or message["params"]["action"] != "modify":
                    self._list_changed.set()

    async def _tell_updated(self, uri: str) -> None:
        await self._bus.publish(ResourceUpdated(uri))
        if self._session is not None and uri in self._subscribed:
            await self._session.send_resource_updated(uri)

    async def _tell_of_list(self) -> None:
        while True:
            await self._list_changed.wait()
            self._list_changed = trio.Event()
            await self._bus.publish(ResourcesListChanged())
            if self._session is not None:
                await self._session.send_resource_list_changed()
            await trio.sleep(_LIST_PAUSE_S)

    async def _watch(self, ctx: Context) -> link.Link:
        self._wanted = True
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:  # those have streams of their own: `listen`
            self._session = ctx.session
        daemon = await self._connect(ctx)
        try:
            await self.attach(daemon)
        except RpcError as error:
            told = families.error_of("events.subscribe", error.as_json())
            raise MCPError(mcp_types.INTERNAL_ERROR, str(told)) from None
        except Failure as failure:
            raise MCPError(mcp_types.INTERNAL_ERROR, str(failure)) from None
        return daemon

    async def _connect(self, ctx: Context) -> link.Link:
        try:
            return await self._connected(ctx)
        except Failure as failure:
            raise MCPError(mcp_types.INTERNAL_ERROR, str(failure)) from None


def uri_of(row: dict[str, Any]) -> str:
    """The URI of the file that a row names by `path`, or by `path_bytes`."""
    return SCHEME + (row["path_bytes"] if "path_bytes" in row else quote(row["path"]))


def _resource(row: dict[str, Any]) -> mcp_types.Resource:
    return mcp_types.Resource(uri=uri_of(row), name=row["path"], mime_type=mimetypes.guess_type(row["path"])[0])


def _named(uri: str) -> dict[str, str]:
    """The params that name the file of a URI."""
    if not uri.startswith(SCHEME) or not uri[len(SCHEME) :]:
        raise MCPError(mcp_types.INVALID_PARAMS, f"{uri} is no resource of this server: they begin with {SCHEME}")
    return arguments.path_params(unquote(uri[len(SCHEME) :], errors="surrogateescape"))


async def _call(daemon: link.Link, method: str, params: dict[str, Any]) -> Any:
    try:
        return await daemon.call(method, params)
    except RpcError as error:
        raise MCPError(mcp_types.INVALID_PARAMS, f"[{error.slug}] {error.message}") from None
    except Failure as failure:
        raise MCPError(mcp_types.INTERNAL_ERROR, str(failure)) from None
