"""Read documents in processes of their own: two at a time, each with nothing but its document's descriptor.

The daemon never parses a document itself. A process that takes too much, hangs or dies costs its own file's answer and
nothing else; a caller that goes away takes its crew along, the workers that start these processes.
"""

import json
import os
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import trio

from picoclawd import limits, programs
from picoclawd.documents.kinds import Kind, Mark
from picoclawd.documents.units import Found, Wanted, from_json
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files import paths, stamps
from picoclawd.files.handles import OpenFile
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access
from picoclawd.files.rooted import Rooted
from picoclawd.files.stamps import Stamp
from picoclawd.files.threads import Lane, Threads
from picoclawd.workspace.crew import Bench, Crew
from picoclawd.workspace.read import Confirmed, target_of

COMMAND = (sys.executable, "-I", "-m", "picoclawd.documents.worker")
WORKERS = 2  # that read at a time: each may take limits.DOCUMENT_DATA_BYTES and a core
DEADLINE_S = 20.0  # of one document, its 10 s of the processor included: a slow disk or a busy machine
IMAGE_FILE_MAX_BYTES = 10 * limits.MIB
CACHE_MAX_BYTES = 32 * limits.MIB

_ANSWER_MAX_BYTES = 16 * limits.MIB  # 1 MiB of characters, each at its longest in JSON, and a picture
_BOUNDS = programs.Bounds(DEADLINE_S, _ANSWER_MAX_BYTES, {})  # the process bounds itself further
_OUT_OF_TIME = (signal.SIGXCPU, signal.SIGKILL)
_OUT_OF_MEMORY = (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL)  # how libraries end where they get none


class Statistics(msgspec.Struct, frozen=True):
    """How many workers were started and rest, and what the cache holds."""

    started: int
    resting: int
    entries: int
    bytes: int


class Documents:
    """Reads documents of one workspace. Loop only."""

    def __init__(
        self, rooted: Rooted, threads: Threads, tick_ns: int | None, command: tuple[str, ...] = COMMAND
    ) -> None:
        self._rooted = rooted
        self._threads = threads
        self._tick_ns = tick_ns
        self._workers = trio.CapacityLimiter(WORKERS)
        self._cache = _Cache(CACHE_MAX_BYTES)
        self._bench = Bench(command)

    @asynccontextmanager
    async def crew(self) -> AsyncIterator[Crew]:
        """The workers of one call, for `read`: started as they are needed, ended with the block."""
        crew = Crew(self._bench)
        try:
            yield crew
        finally:
            await crew.end()

    async def read(
        self, crew: Crew, path: WsPath, mark: Mark, stamp: Stamp, wanted: Wanted, confirmed: Confirmed | None = None
    ) -> Found:
        """Read units of the document that was just seen at `path` with that stamp. Waits until fewer than two are read.

        Raises: what opening raises; conflict where it is another file by now; too_large, unsupported_format,
        reader_not_installed, timeout.
        """
        if mark.kind is Kind.IMAGE and stamp.size > IMAGE_FILE_MAX_BYTES:
            raise Fault(
                Slug.TOO_LARGE,
                f"{path.given}: a {mark.words} of {stamp.size / limits.MIB:.1f} MiB; images of at most "
                f"{IMAGE_FILE_MAX_BYTES // limits.MIB} MiB are read.",
            )
        async with self._workers:
            opened = await self._threads.run(Lane.READ, self._open, path, confirmed)
            with opened:
                self._refuse_other(path, opened, stamp)
                key = (stamp, mark.kind, wanted)
                held = self._cache.get(key)
                if held is not None:
                    return held
                taken_ns = time.time_ns()
                found = await self._work(crew, path, mark, opened, wanted)
                self._refuse_other(path, opened, stamp)
        if stamps.settled(stamp, taken_ns, self._tick_ns):
            self._cache.put(key, found)
        return found

    def statistics(self) -> Statistics:
        """What was done so far, and what is held."""
        return Statistics(self._bench.started, self._bench.resting, len(self._cache), self._cache.bytes)

    def _open(self, path: WsPath, confirmed: Confirmed | None) -> OpenFile:
        opened = self._rooted.open_file(path, Access.READ if confirmed is None else Access.READ_OR_ASK)
        try:
            if confirmed is not None:
                confirmed(target_of(opened, path))
        except BaseException:
            opened.close()
            raise
        return opened

    def _refuse_other(self, path: WsPath, opened: OpenFile, stamp: Stamp) -> None:
        if stamps.of(os.fstat(opened.fd)) != stamp:
            raise Fault(Slug.CONFLICT, f"{path.given} changed while it was read. Read it again.", retryable=True)

    async def _work(self, crew: Crew, path: WsPath, mark: Mark, opened: OpenFile, wanted: Wanted) -> Found:
        request = json.dumps({"kind": mark.kind, **wanted._asdict()}).encode()
        try:
            ended = await crew.read(mark.readers, opened.fd, request, _BOUNDS)
        except Fault as fault:
            if fault.slug is not Slug.TIMEOUT:
                raise
            raise _failed(path, mark, Slug.TIMEOUT, f"reading it took more than {DEADLINE_S:.0f} s") from fault
        if ended.overflowed:
            raise _failed(path, mark, Slug.TOO_LARGE, "its reader answered with more than can be sent")
        if ended.status != 0:
            raise _failed(path, mark, *_why_died(ended.status))
        try:
            result = json.loads(ended.output)
            if "error" not in result:
                return from_json(result["found"])
            slug, reason = Slug(result["error"]), str(result["reason"])
        except (LookupError, TypeError, ValueError, RecursionError) as error:  # a reader that a document took over
            raise _failed(path, mark, Slug.UNSUPPORTED_FORMAT, "its reader answered with no answer") from error
        raise _failed(path, mark, slug, reason)


def _why_died(status: int) -> tuple[Slug, str]:
    """What the end of its process says of the file."""
    if -status == signal.SIGXCPU:
        return Slug.TOO_LARGE, "reading it takes more than 10 s of the processor"
    if -status == signal.SIGKILL:  # not by us, and the processor's limit comes as SIGXCPU
        return Slug.TOO_LARGE, "its reader was killed, most likely because the system ran out of memory"
    if -status in _OUT_OF_MEMORY:
        return Slug.TOO_LARGE, f"reading it takes more than {limits.DOCUMENT_DATA_BYTES // limits.MIB} MiB of memory"
    if status < 0:
        return Slug.UNSUPPORTED_FORMAT, f"it is damaged: its reader crashed ({signal.Signals(-status).name})"
    return Slug.UNSUPPORTED_FORMAT, f"its reader ended with status {status}"


def _failed(path: WsPath, mark: Mark, slug: Slug, reason: str) -> Fault:
    return Fault(
        slug,
        f"{path.given} looks like {_article(mark.words)} {mark.words}, but was not read: {reason}. "
        'read_file with mode="bytes" shows its bytes.',
        next_call=NextCall("read_file", {"path": path.given, "mode": "bytes"}),
    )


class _Cache:
    """What was found last, within a bound of bytes; what was not asked for the longest time goes first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[tuple[Any, ...], Found] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: tuple[Any, ...]) -> Found | None:
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: tuple[Any, ...], found: Found) -> None:
        """Hold a finding under a key that is not held yet, or is held by a worker that ran beside this one."""
        old = self._entries.pop(key, None)
        self.bytes += _size(found) - (_size(old) if old is not None else 0)
        self._entries[key] = found
        while self.bytes > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self.bytes -= _size(oldest)


def _size(found: Found) -> int:
    picture = 0 if found.picture is None else len(found.picture.data)
    # Python holds a character in 1, 2 or 4 bytes; a unit costs a tuple, a str and an int.
    return picture + sum(2 * len(text) + 200 for _, text in found.units) + 1000


def wanted_of(path: WsPath, windows: tuple[tuple[int, int], ...], max_chars: int) -> Wanted:
    """A request for the units in these windows, (first, past the last), of the file at `path`."""
    return Wanted(windows, max_chars, os.fsdecode(paths.split(path.absolute)[1]))


def _article(words: str) -> str:
    return "an" if words[0].lower() in "aeiou" else "a"
