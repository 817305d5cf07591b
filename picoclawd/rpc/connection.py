"""Serve one connection from its first byte to its last: read, admit in order, run at once, answer as they finish.

The reader does everything that has an order (ids, lanes, cancellations) before any task is spawned. What cannot be
answered on the spot becomes a task; whoever has an answer sends it. The connection ends when its input has ended and
all is answered, when the peer is gone, or when the daemon stops.
"""

from collections.abc import Callable
from functools import partial

import msgspec
import trio

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files.turns import working_for
from picoclawd.rpc import envelope
from picoclawd.rpc.admission import Admission, cancelled_id
from picoclawd.rpc.budget import Account, ByteBudget
from picoclawd.rpc.dispatch import Dispatcher, Job
from picoclawd.rpc.envelope import Invalid
from picoclawd.rpc.flight import Flight
from picoclawd.rpc.framing import Dropped, LineBuffer
from picoclawd.rpc.gather import Gathering
from picoclawd.rpc.method import Host, Peer
from picoclawd.rpc.notifications import Notifications
from picoclawd.rpc.outbox import Outbox
from picoclawd.rpc.stream import UnixStream
from picoclawd.text.context import fields

RECEIVE_BYTES = 64 * limits.KIB
GONE_POLL_S = 0.5  # nothing wakes us when a peer that had sent its last byte goes away altogether
LINES_PER_TURN = 16  # what is answered at once must not keep other connections waiting: some 1 ms


class WireSettings(msgspec.Struct, frozen=True):
    """The `daemon.*` settings that bound connections. The defaults live on the configuration's Struct."""

    max_request_bytes: int
    max_in_flight: int
    max_connections: int


class Connection:
    """One peer's connection. `serve` is its whole life; the server only ever calls `drain` beside it.

    The stream is a `UnixStream`, or any other in tests: it then takes one more task switch to send, and a peer that
    goes away after its last byte is noticed only when it is sent something.
    """

    def __init__(
        self,
        stream: trio.abc.Stream,
        peer: Peer,
        host: Host,
        dispatcher: Dispatcher,
        budget: ByteBudget,
        settings: WireSettings,
    ) -> None:
        self._stream = stream
        self._peer = peer
        self._host = host
        self._dispatcher = dispatcher
        self._account = Account(budget)
        self._settings = settings
        self._buffer = LineBuffer(settings.max_request_bytes, self._account)
        self._flight = Flight(settings.max_in_flight)
        self._outbox = Outbox(stream, stream.send_now if isinstance(stream, UnixStream) else None, self._broken)
        self._notifications = Notifications(self._post)
        self._reading = trio.CancelScope()
        self._draining = False
        self._nursery: trio.Nursery | None = None
        self._client: object = None
        self._admission: Admission

    @property
    def in_flight(self) -> int:
        """How many requests are read and not yet answered into the kernel."""
        return self._flight.taken

    async def serve(self) -> None:
        """Serve until the end; then the stream is closed, every request has ended and the host has been told.

        A host that has no room for one more client (`Host.connected` raised a `Fault`) has that fault sent.
        """
        try:
            client = self._client = self._host.connected(self._peer, self._notifications)
            try:
                self._admission = Admission(self._host, client, self._peer, self._notifications)
                self._admission.closing = self._draining
                with working_for(self):
                    await self._live()
            finally:
                self._notifications.close()
                self._host.disconnected(client)
        except Fault as fault:
            self._outbox.put(envelope.error_line(fault, None), _nothing)
            await self._outbox.flush()
        finally:
            self._account.close()
            await trio.aclose_forcefully(self._stream)

    def drain(self) -> None:
        """End as soon as nothing is in flight; refuse new writes until then. For a daemon that stops."""
        self._draining = True
        if self._nursery is not None:
            self._admission.closing = True
        if not self._flight.taken:
            self._reading.cancel()

    async def _live(self) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._flush_soon()
            await self._read()
            while self._flight.taken:
                await self._wait_freed()
            self._notifications.close()

    # Reading

    async def _read(self) -> None:
        with self._reading:
            try:
                while data := await self._stream.receive_some(RECEIVE_BYTES):
                    self._host.meter.received_bytes += len(data)
                    for count, found in enumerate(self._buffer.feed(bytes(data)), 1):
                        await self._take_in(found)
                        if count % LINES_PER_TURN == 0:
                            self._flush_soon()
                            await trio.lowlevel.checkpoint()
                    self._flush_soon()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self._outbox.break_off(None)

    async def _take_in(self, found: bytes | Dropped) -> None:
        """Handle one line. Cancellations go at once; all else waits for a free slot, and so does what follows it."""
        held_bytes = 0
        decoded: envelope.Element | list[envelope.Element]
        if isinstance(found, bytes):
            held_bytes = len(found)
            decoded = envelope.decode(found)
        else:
            decoded = envelope.dropped_line(found, self._settings.max_request_bytes)
        elements = decoded if isinstance(decoded, list) else [decoded]
        only_cancels = self._cancel_named(elements)
        if self._flight.full:
            self._flush_soon()  # answers of this turn may hold the slots
        while self._flight.full and not only_cancels:
            await self._wait_freed()
        self._start(elements, Gathering(len(elements), decoded is elements, held_bytes))

    def _cancel_named(self, elements: list[envelope.Element]) -> bool:
        """Cancel what the cancellations among these name; True where there is nothing else among them."""
        named = [cancelled_id(element) for element in elements]
        for request_id in named:
            if request_id is not None:
                self._flight.cancel(request_id)
        return None not in named

    async def _wait_freed(self) -> None:
        await self._flight.wait_freed(GONE_POLL_S)
        if self._flight.taken and isinstance(self._stream, UnixStream) and self._stream.gone():
            self._outbox.break_off(None)

    def _start(self, elements: list[envelope.Element], line: Gathering) -> None:
        """Give every element of a line its place, in order: answer what needs no waiting, start a task for the rest."""
        assert self._nursery is not None
        self._flight.take(len(elements))
        for index, element in enumerate(elements):
            if isinstance(element, Invalid):
                self._refuse(line, index, element)
            elif self._flight.holds(element.id):
                text = "Invalid Request: a request with this id is still in flight on this connection."
                self._refuse(line, index, Invalid(Fault(Slug.INVALID_REQUEST, text), element.id))
            else:
                job = self._admission.admit(element)
                answer = self._dispatcher.answer_at_once(job)
                if answer is not None:
                    self._add(line, index, self._told(answer, job))
                else:
                    self._flight.start(job.exchange)
                    line.exchanges.append(job.exchange)
                    self._nursery.start_soon(self._run, job, line, index)

    # Answering

    async def _run(self, job: Job, line: Gathering, index: int) -> None:
        answer = await self._dispatcher.answer(job)
        self._add(line, index, self._told(answer, job))
        if self._outbox.push():
            await self._outbox.flush()

    def _told(self, answer: bytes, job: Job) -> bytes | None:
        """Count an answer; where there is no room, a read is told to ask again. A write's outcome always passes."""
        if job.request.is_notification:
            return None
        if job.mutating:
            self._account.force(len(answer))
        elif not self._account.take(len(answer)):
            text = "overloaded: too many bytes wait in the daemon, the answer was dropped. Ask for less, or later."
            answer = envelope.error_line(Fault(Slug.OVERLOADED, text), job.request.id)
            self._account.force(len(answer))
        return answer

    def _refuse(self, line: Gathering, index: int, element: Invalid) -> None:
        self._host.meter.count_refused(element.fault.slug)
        answer = envelope.error_line(element.fault, element.id)
        self._account.force(len(answer))
        self._add(line, index, answer)

    def _add(self, line: Gathering, index: int, answer: bytes | None) -> None:
        """Put one answer in its place; with the last one, the line's output is queued and its ids are free."""
        if not line.add(index, answer):
            return
        for exchange in line.exchanges:
            self._flight.end(exchange)
        self._account.give(line.held_bytes)
        output = line.output()
        if output is None:
            self._release(line.size, 0)
        else:
            self._host.meter.sent_bytes += len(output) + 1
            self._outbox.put(output, partial(self._release, line.size, line.told_bytes))

    def _release(self, slots: int, told_bytes: int) -> None:
        self._account.give(told_bytes)
        self._flight.free(slots)
        if self._draining and not self._flight.taken:
            self._reading.cancel()

    def _post(self, line: bytes, sent: Callable[[], None]) -> None:
        """Queue a notification's line and see that somebody sends it."""
        self._host.meter.sent_bytes += len(line) + 1
        self._outbox.put(line, sent)
        self._flush_soon()

    def _flush_soon(self) -> None:
        """Send what is queued, by a task where that must wait; before `serve` has begun, it will."""
        if self._nursery is not None and self._outbox.push():
            self._nursery.start_soon(self._outbox.flush)

    def _broken(self, why: Slug | None) -> None:
        """Nothing more can be sent: stop what runs for nobody. What is past its intent completes by itself."""
        if why is not None:
            session_id = "" if self._client is None else self._host.subject(self._client).session_id
            text, about = "%s: closing the connection of pid %d, it does not read", fields(session=session_id)
            self._host.log.warning(text, why, self._peer.pid, extra=about)
        self._flight.cancel_all()
        self._reading.cancel()


def _nothing() -> None:
    """Await no news of a last word."""
