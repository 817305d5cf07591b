"""The workers that read the documents of one call: each has one format's reader, and reads one document at a time.

A worker (`documents.worker`) reads each document in a process of its own. Between two documents of its call it rests;
what ends a document's wait early (its deadline, a cancelled call, too long an answer) ends its worker, which had
nothing else to do, with all that it started.
"""

import os
import socket
import subprocess
from array import array
from collections.abc import Mapping
from contextlib import suppress
from typing import Self

import trio

from picoclawd import programs
from picoclawd.errors import Fault, Slug
from picoclawd.files.oserrors import as_fault
from picoclawd.programs import Bounds, Ended

RESTING_MAX = 4  # of all calls: each holds some 10 MB of its own, and a call rarely mixes more formats

_ENVIRONMENT: Mapping[str, str] = {"LANG": "C.UTF-8", "PATH": os.defpath}
_SHOWN = "its reader"
_STATUS_MAX_BYTES = 16
_GONE = (BrokenPipeError, ConnectionResetError)


class Bench:
    """Where the workers of all calls rest, up to RESTING_MAX. Loop only."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._resting: list[tuple[Crew, _Worker]] = []
        self.started = 0

    @property
    def resting(self) -> int:
        """How many rest now."""
        return len(self._resting)

    async def take(self, crew: "Crew", readers: tuple[str, ...]) -> "_Worker":
        """A worker of that call with these readers: one that rests, or a new one. Raises: io_error."""
        for index, (whose, worker) in enumerate(self._resting):
            if whose is crew and worker.readers == readers and worker.is_alive:
                del self._resting[index]
                return worker
        self.started += 1
        return await _Worker.start((*self._command, *readers), readers)

    async def put(self, crew: "Crew", worker: "_Worker") -> None:
        """Let a worker rest that may read on; end one that may not, or is one too many."""
        if worker.is_free:
            self._resting.append((crew, worker))
            if len(self._resting) <= RESTING_MAX:
                return
            worker = self._dismissed()
        await worker.end()

    def _dismissed(self) -> "_Worker":
        """One less: of two that are alike the older, else the one that rests longest."""
        kinds = [(id(crew), worker.readers) for crew, worker in self._resting]
        index = next((index for index, kind in enumerate(kinds) if kinds.count(kind) > 1), 0)
        return self._resting.pop(index)[1]

    async def clear(self, crew: "Crew") -> None:
        """End those of a call."""
        ending = [worker for whose, worker in self._resting if whose is crew]
        self._resting = [each for each in self._resting if each[0] is not crew]
        for worker in ending:
            worker.kill()
        for worker in ending:
            await worker.end()


class Crew:
    """The workers of one call. Whoever made it calls `end`, after its last `read`. Loop only."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    async def read(self, readers: tuple[str, ...], document: int, request: bytes, bounds: Bounds) -> Ended:
        """Have a document read by a worker with these readers, in a process of its own, and wait for its end.

        The descriptor stays the caller's. Where the worker itself died, the status is the worker's.

        Raises: io_error where no worker starts; timeout.
        """
        with trio.move_on_after(bounds.deadline_s):
            worker = await self._bench.take(self, readers)
            try:
                return await worker.read(document, request, bounds.output_bytes)
            finally:
                await self._bench.put(self, worker)
        raise Fault(Slug.TIMEOUT, f"{_SHOWN} did not finish within {bounds.deadline_s:g} s and was ended.")

    async def end(self) -> None:
        """End its workers, whoever is cancelled meanwhile."""
        await self._bench.clear(self)


class _Worker:
    """One worker process and our end of its socket."""

    def __init__(self, process: trio.Process, control: trio.socket.SocketType, readers: tuple[str, ...]) -> None:
        self._process = process
        self._control = control
        self.readers = readers
        self.is_free = True  # all that it was asked for is done

    @classmethod
    async def start(cls, argv: tuple[str, ...], readers: tuple[str, ...]) -> Self:
        """Start one. Raises: io_error."""
        try:
            ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise as_fault(error, "start", _SHOWN, thing="program") from error
        with its:
            try:
                process = await programs.start(argv, its.fileno(), subprocess.DEVNULL, _ENVIRONMENT, _SHOWN)
            except BaseException:
                ours.close()
                raise
        return cls(process, trio.socket.from_stdlib_socket(ours), readers)

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended, as far as is known."""
        return self._process.returncode is None

    async def read(self, document: int, request: bytes, answer_max_bytes: int) -> Ended:
        """Have a document read; unless it is free afterwards, it is of no more use."""
        self.is_free = False
        stream, its = _pipe()
        async with stream:
            try:
                await self._send(request, document, its)
            finally:
                os.close(its)
            output, overflowed = await programs.collect(stream, answer_max_bytes)
        return Ended(0, output, True) if overflowed else Ended(await self._status(), output)

    def kill(self) -> None:
        """Begin to end it."""
        self._control.close()
        programs.kill(self._process)

    async def end(self) -> None:
        """End it with all that it started, and wait for that."""
        self._control.close()
        await programs.end(self._process)

    async def _send(self, request: bytes, *descriptors: int) -> None:
        with suppress(*_GONE):  # then `_status` tells why
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))
            await self._control.sendmsg([request], [rights])

    async def _status(self) -> int:
        """The status of the document's process."""
        try:
            reply = await self._control.recv(_STATUS_MAX_BYTES)
        except _GONE:
            reply = b""
        if not reply:  # it died before the document's process, which died with it
            return await self._process.wait() or 1
        self.is_free = True
        return int(reply)


def _pipe() -> tuple[trio.lowlevel.FdStream, int]:
    """A pipe for an answer: our end, and the worker's."""
    try:
        ours, its = os.pipe2(os.O_CLOEXEC)
    except OSError as error:
        raise as_fault(error, "start", _SHOWN, thing="program") from error
    return trio.lowlevel.FdStream(ours), its
