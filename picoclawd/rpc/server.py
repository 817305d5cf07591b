"""Accept connections on both sockets, refuse who may not, and end them all in order when the daemon stops."""

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Sequence

import msgspec
import trio

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.rpc.budget import ByteBudget
from picoclawd.rpc.connection import Connection, WireSettings
from picoclawd.rpc.dispatch import Dispatcher
from picoclawd.rpc.envelope import error_line
from picoclawd.rpc.meter import ServerStatistics
from picoclawd.rpc.method import Host, Peer, Role
from picoclawd.rpc.stream import UnixStream

# Out of descriptors or memory: accepting again at once would only spin. trio.serve_listeners waits as long.
ACCEPT_PAUSE_S = 0.1
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
_UCRED = struct.Struct("3i")  # struct ucred: pid, uid, gid (unix(7))


class Door(msgspec.Struct, frozen=True):
    """A listening Unix stream socket and the role of whoever comes in by it. Its owner closes it."""

    listener: socket.socket
    role: Role


class Server:
    """Serves a host on any number of doors. One `run` a server; `stop` may be called at any time on the loop."""

    def __init__(self, host: Host, settings: WireSettings, budget: ByteBudget, *, uid: int | None = None) -> None:
        self.settings = settings  # replaced on reload; open connections keep theirs
        self._host = host
        self._budget = budget
        self._uid = os.getuid() if uid is None else uid
        self._dispatcher = Dispatcher(host)
        self._open: set[Connection] = set()
        self._stopping = trio.Event()
        self._refused = 0
        host.meter.server = self.statistics

    async def run(self, doors: Sequence[Door], task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until `stop`, then let requests in flight finish for `limits.STOP_DEADLINE_S` and return.

        From `stop` on nothing is accepted, writes not yet begun are refused with `shutting_down`, and a connection
        closes as soon as nothing is in flight on it. The listening sockets are left open for their owner.
        """
        async with trio.open_nursery() as connections:
            async with trio.open_nursery() as accepting:
                for door in doors:
                    accepting.start_soon(self._accept_loop, door, connections)
                task_status.started()
                await self._stopping.wait()
                accepting.cancel_scope.cancel()
            connections.cancel_scope.deadline = trio.current_time() + limits.STOP_DEADLINE_S
            for connection in self._open:
                connection.drain()

    def stop(self) -> None:
        """Begin to stop; `run` returns when that is done. Calling it again does nothing."""
        self._stopping.set()

    def statistics(self) -> ServerStatistics:
        """Count without touching."""
        in_flight = sum(connection.in_flight for connection in self._open)
        return ServerStatistics(len(self._open), in_flight, self._refused, self._budget.statistics())

    async def _accept_loop(self, door: Door, connections: trio.Nursery) -> None:
        door.listener.setblocking(False)
        while True:
            await trio.lowlevel.wait_readable(door.listener)
            try:
                accepted, _ = door.listener.accept()
            except BlockingIOError:
                continue
            except OSError as exc:
                await self._accept_failed(exc)
            else:
                self._admit(accepted, door.role, connections)

    async def _accept_failed(self, exc: OSError) -> None:
        """Wait where we ran out of something; any other error is of the one peer that has already gone (accept(2))."""
        if exc.errno == errno.ECONNABORTED:
            return
        if exc.errno not in _EXHAUSTED:
            raise exc
        self._host.log.error("cannot accept a connection: %s; trying again", os.strerror(exc.errno))
        await trio.sleep(ACCEPT_PAUSE_S)

    def _admit(self, accepted: socket.socket, role: Role, connections: trio.Nursery) -> None:
        pid, uid, _ = _UCRED.unpack(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        stream = UnixStream(accepted)
        if uid != self._uid:
            self._host.log.warning("refused a connection of uid %d (pid %d) to the %s socket", uid, pid, role)
            self._refuse(stream, b"")
        elif len(self._open) >= self.settings.max_connections:
            text = f"overloaded: {len(self._open)} connections are open, as many as allowed. Try again later."
            self._refuse(stream, error_line(Fault(Slug.OVERLOADED, text), None) + b"\n")
        else:
            peer = Peer(role, pid, uid)
            connection = Connection(stream, peer, self._host, self._dispatcher, self._budget, self.settings)
            self._open.add(connection)
            connections.start_soon(self._serve, connection, stream)

    def _refuse(self, stream: UnixStream, word: bytes) -> None:
        """Close at once, with a last word where there is one: a fresh socket has room for it."""
        self._refused += 1
        with contextlib.suppress(trio.BrokenResourceError):
            stream.send_now(word)
        stream.close()

    async def _serve(self, connection: Connection, stream: UnixStream) -> None:
        """Serve one connection; a bug in it ends this one and no other."""
        try:
            await connection.serve()
        except Exception as exc:  # the guard around the wire itself; methods have met theirs
            self._host.log.error("internal error: a connection ended by a bug", exc_info=exc)
        finally:
            self._open.discard(connection)
            stream.close()
