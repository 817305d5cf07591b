"""Progress of a daemon's call, told to an MCP host that asked for it."""

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import trio
from mcp.server.context import ServerRequestContext

from picoclawd.client.link import Progress

Context = ServerRequestContext[Any, Any]
_Report = tuple[int, int | None, str]

_DRAIN_S = 1.0  # a host that does not read for so long goes without the last reports


@asynccontextmanager
async def relayed(nursery: trio.Nursery, ctx: Context) -> AsyncGenerator[Progress | None, None]:
    """What a link's call takes as `progress`; None where the host did not ask. All is told when the block ends."""
    if ctx.meta is None or "progress_token" not in ctx.meta:
        yield None
        return
    reports, to_tell = trio.open_memory_channel[_Report](1)
    told = trio.Event()
    nursery.start_soon(_tell, ctx, to_tell, told)

    def report(done: int, total: int | None, message: str) -> None:
        try:
            reports.send_nowait((done, total, message))
        except trio.WouldBlock:
            return  # the host reads slowly; the next report says more

    try:
        yield report
    finally:
        reports.close()
        with trio.move_on_after(_DRAIN_S):
            await told.wait()


async def _tell(ctx: Context, to_tell: trio.MemoryReceiveChannel[_Report], told: trio.Event) -> None:
    said = -math.inf
    async for done, total, message in to_tell:
        if done > said:  # MCP wants each report to be beyond the last
            said = done
            await ctx.session.report_progress(done, total, message or None)
    told.set()
