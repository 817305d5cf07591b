"""The MCP bridge and the command line: `python contrib/bench/bridge.py`. Ratios of medians, taken in turn.

The first answer against the MCP package's own server without any tool; a call through the bridge against the same call
over the socket; `picoclawctl call ping` against a bare Python.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness import Bars, Client, Scratch, median_ms, scratch_daemon, timed

STARTS = 9
CALLS = 300

EMPTY = """
import trio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def main():
    server = Server("empty")
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

trio.run(main)
"""
BRIDGE = [sys.executable, "-m", "picoclawd.client", "mcp"]
CLIENT = {"name": "bench", "version": "1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}


class Host:
    """An MCP host: lines to and from a server's process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._last_id = 0

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """One request and its result; an error ends the benchmark."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._last_id:
                return message["result"]
        raise SystemExit(f"{method}: the server went away")

    def initialize(self) -> None:
        """Do the handshake."""
        self.ask("initialize", HELLO)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


@contextmanager
def server(command: list[str], daemon: Scratch) -> Iterator[Host]:
    """A server's process, ended afterwards."""
    env = {**os.environ, "PICOCLAWD_SOCKET": daemon.socket}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env) as process:
        try:
            yield Host(process)
        finally:
            process.kill()


def first_answer_s(command: list[str], daemon: Scratch) -> float:
    """Seconds from the start of a server to its answer to `initialize`."""
    started = time.perf_counter()
    with server(command, daemon) as host:
        host.initialize()
        return time.perf_counter() - started


def starts(bars: Bars, daemon: Scratch) -> None:
    """The bridge beside an empty server."""
    empty: list[float] = []
    ours: list[float] = []
    for _ in range(STARTS):
        empty.append(first_answer_s([sys.executable, "-c", EMPTY], daemon))
        ours.append(first_answer_s(BRIDGE, daemon))
    print(f"     empty server {median_ms(empty):.0f} ms, bridge {median_ms(ours):.0f} ms to the first answer")
    ratio = statistics.median(ours) / statistics.median(empty)
    bars.at_most("first answer / the MCP package's own empty server", ratio, must=1.5)


def calls(bars: Bars, daemon: Scratch) -> None:
    """A call through the bridge beside the same one over the socket."""
    (daemon.root / "x.txt").write_text("hello\n" * 100)
    client: Client = daemon.client()
    over_socket: list[float] = []
    through: list[float] = []
    params = {"name": "read_file", "arguments": {"path": "x.txt"}}
    with server(BRIDGE, daemon) as host:
        host.initialize()
        host.ask("tools/list", {})
        for _ in range(CALLS):
            over_socket.append(timed(lambda: client.call("read_file", path="x.txt")))
            through.append(timed(lambda: host.ask("tools/call", params)))
    client.close()
    print(f"     read_file: socket {median_ms(over_socket):.2f} ms, bridge {median_ms(through):.2f} ms")
    bars.at_most("read_file, bridge over socket, p50", median_ms(through) - median_ms(over_socket), must=2, unit="ms")


def pings(bars: Bars, daemon: Scratch) -> None:
    """`picoclawctl call ping` beside `python -c pass`."""
    env = {**os.environ, "PICOCLAWD_SOCKET": daemon.socket}
    ping = [
        sys.executable,
        "-c",
        "import sys; from picoclawd.client.main import main; sys.exit(main())",
        "call",
        "ping",
    ]
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(STARTS * 3):
        bare.append(timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)))
        ours.append(timed(lambda: subprocess.run(ping, check=True, env=env, stdout=subprocess.DEVNULL)))
    print(f"     python -c pass {median_ms(bare):.0f} ms, picoclawctl call ping {median_ms(ours):.0f} ms")
    bars.at_most("picoclawctl call ping / python -c pass", statistics.median(ours) / statistics.median(bare), must=4)


def main() -> int:
    """Run, print, and return 0 where every must is held."""
    bars = Bars()
    with scratch_daemon() as daemon:
        starts(bars, daemon)
        calls(bars, daemon)
        pings(bars, daemon)
    return bars.exit_status()


if __name__ == "__main__":
    sys.exit(main())
