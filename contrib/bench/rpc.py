"""Measure the wire against a bare trio echo: `python contrib/bench/rpc.py [--socket PATH]`.

Each server runs in a process of its own; the client takes turns between them, so that a busy machine slows both alike.
Prints medians and the median of the ratios of neighbouring rounds, and exits 1 if a must is missed. Without `--socket`
the wire is served by a host with one method, so that nothing but floor 5 is measured; with it, by a running daemon.

To add a bar, add a server to `SERVERS` (or start one in `main`) and a row to `bars`.
"""

import argparse
import logging
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import trio

from picoclawd.rpc.budget import ByteBudget
from picoclawd.rpc.connection import WireSettings
from picoclawd.rpc.meter import Meter, Subject
from picoclawd.rpc.method import Exchange, Method, Notifier, Params, Peer
from picoclawd.rpc.server import Door, Server
from picoclawd.rpc.underway import Underway

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}\n'
ROUNDS = 15
CALLS = 1000  # a round; some 50 ms for the echo
CLIENTS = 8
START_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Target:
    """A socket to connect to and a line that is answered with one line."""

    path: str
    line: bytes


@dataclass(frozen=True, slots=True)
class Bar:
    """A ratio to hold: `measure(subject) / measure(baseline)` at most (`at_least`: at least) `must`."""

    name: str
    baseline: Target
    subject: Target
    measure: Callable[[Target], float]
    unit: str
    must: float
    at_least: bool = False

    def holds(self, ratio: float) -> bool:
        """Whether the must is met."""
        return ratio >= self.must if self.at_least else ratio <= self.must


# Servers


async def serve_echo(listener: socket.socket) -> None:
    """Send everything back: the least that a trio server can do."""

    async def echo(stream: trio.SocketStream) -> None:
        try:
            async for data in stream:
                await stream.send_all(data)
        except trio.BrokenResourceError:
            pass

    await trio.serve_listeners(echo, [trio.SocketListener(trio.socket.from_stdlib_socket(listener))])


class PingHost:
    """A host with one method."""

    log = logging.getLogger("bench")
    meter = Meter()
    underway = Underway()

    def __init__(self) -> None:
        self.methods = {"ping": Method("ping", _ping, at_once=lambda exchange, params: {"pong": True})}

    def subject(self, client: object) -> Subject:
        """No call is anybody's."""
        return Subject()

    def connected(self, peer: Peer, notifier: Notifier) -> object:
        """No client has a standing."""
        return None

    def disconnected(self, client: object) -> None:
        """Nothing is kept of a client."""

    def available(self, peer: Peer) -> Sequence[str]:
        """The one method."""
        return ["ping"]


async def _ping(exchange: Exchange, params: Params) -> object:
    return {"pong": True}


async def serve_ping(listener: socket.socket) -> None:
    """Serve the wire with its default bounds."""
    server = Server(PingHost(), WireSettings(8 << 20, 64, 256), ByteBudget(128 << 20))
    await server.run([Door(listener, "agent")])


SERVERS = {"echo": serve_echo, "ping": serve_ping}


def serve(name: str, path: str) -> None:
    """Be one of the servers, until killed."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        trio.run(SERVERS[name], listener)


@contextmanager
def started(name: str, directory: str) -> Iterator[str]:
    """Run a server in a process of its own; yields its socket once it answers."""
    path = os.path.join(directory, name)
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", name, path])
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not _answers(path):
            if time.monotonic() > deadline or process.poll() is not None:
                raise SystemExit(f"the {name} server did not start")
            time.sleep(0.02)
        yield path
    finally:
        process.kill()
        process.wait()


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as caller:
        return caller.connect_ex(path) == 0


# Measures


def latency_us(target: Target) -> float:
    """The median round trip of one client, one call at a time."""
    times = []
    with connected(target) as caller:
        for _ in range(CALLS):
            start = time.perf_counter()
            caller.sendall(target.line)
            _receive_line(caller)
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def throughput_per_s(target: Target) -> float:
    """Calls a second of eight clients, each with one call under way; all driven by one loop that costs little."""
    with ExitStack() as opened, select.epoll() as poll:
        callers = [opened.enter_context(connected(target)) for _ in range(CLIENTS)]
        by_fd = {caller.fileno(): caller for caller in callers}
        start = time.perf_counter()
        for fd, caller in by_fd.items():
            poll.register(fd, select.EPOLLIN)
            caller.sendall(target.line)
        begun, ended = CLIENTS, 0
        while ended < begun:
            for fd, _ in poll.poll():
                _receive_line(by_fd[fd])
                ended += 1
                if begun < CLIENTS * CALLS:
                    by_fd[fd].sendall(target.line)
                    begun += 1
        return ended / (time.perf_counter() - start)


@contextmanager
def connected(target: Target) -> Iterator[socket.socket]:
    """A connection that has made its first call: what only that one pays is not measured."""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(target.path)
        caller.sendall(target.line)
        _receive_line(caller)
        yield caller


def _receive_line(caller: socket.socket) -> None:
    while not (data := caller.recv(65536)).endswith(b"\n"):
        if not data:
            raise SystemExit("a server closed the connection")


def run(bar: Bar) -> bool:
    """Measure in turns, print one row, and tell whether the bar holds."""
    pairs = [(bar.measure(bar.baseline), bar.measure(bar.subject)) for _ in range(ROUNDS)]
    baseline, subject = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(theirs / ours for ours, theirs in pairs)
    holds = bar.holds(ratio)
    sign = ">=" if bar.at_least else "<="
    print(
        f"{bar.name:28} baseline {baseline:9.1f} {bar.unit:7} subject {subject:9.1f} {bar.unit:7} "
        f"ratio {ratio:5.2f} (must {sign} {bar.must}) {'holds' if holds else 'MISSED'}"
    )
    return holds


def main() -> int:
    """Start the servers, run every bar; 0 when all hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--socket", help="measure the daemon that listens here")
    parser.add_argument("--serve", nargs=2, metavar=("NAME", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return 0
    with ExitStack() as running:
        directory = running.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        echo = Target(running.enter_context(started("echo", directory)), PING)
        ping = Target(options.socket or running.enter_context(started("ping", directory)), PING)
        bars = [
            Bar("ping p50, 1 client", echo, ping, latency_us, "us", 2.5),
            Bar(f"ping, {CLIENTS} clients", echo, ping, throughput_per_s, "calls/s", 0.4, at_least=True),
        ]
        held = [run(bar) for bar in bars]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
