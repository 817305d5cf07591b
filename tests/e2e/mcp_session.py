"""The official MCP client, over stdio, on the bridge of a real daemon."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from mcp import Client, StdioServerParameters

from tests.e2e.daemon import Daemon


@asynccontextmanager
async def bridge_session(daemon: Daemon, *options: str) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "picoclawd.client", "mcp", *options],
        env={**daemon.env, "PICOCLAWD_SOCKET": str(daemon.agent_socket)},
    )
    with trio.fail_after(60):
        async with Client(server) as client:
            yield client
