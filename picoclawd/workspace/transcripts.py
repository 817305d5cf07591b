"""Read a recording as text: open it as any file, give the descriptor to an engine, and keep what comes of it."""

import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

import trio

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import stamps
from picoclawd.files.handles import OpenFile
from picoclawd.files.oserrors import as_fault
from picoclawd.files.paths import WsPath
from picoclawd.files.policy import Access
from picoclawd.files.rooted import Rooted
from picoclawd.files.stamps import Stamp
from picoclawd.files.threads import Lane, Threads
from picoclawd.speech import kinds
from picoclawd.speech.engine import Engine, Job, Transcript
from picoclawd.speech.kinds import Recording
from picoclawd.speech.transcribe import transcribe
from picoclawd.workspace.read import Reading

AT_A_TIME = 2  # engines take a core each, or someone's bandwidth
SOURCE_MAX_BYTES = 1024 * limits.MIB  # of a recording: hours of video
_KEPT_MAX_CHARS = 8 * limits.MIB  # of all transcripts: a page of one must not cost the whole work again

_CONFIGURE = (
    "{0} is {1}, and nothing is configured that turns speech into text. The person can set daemon.speech_to_text to "
    '{{"engine": "command", "argv": [...]}}, {{"engine": "openai", "base_url": ..., "model": ..., "api_key_env": ...}} '
    'or {{"engine": "pocketsphinx"}} for offline drafts (pip install \'picoclawd[stt]\'); then restart the daemon.'
)


class Transcripts:
    """What recordings of one workspace say. Loop only. `engine` None: nothing listens."""

    def __init__(
        self, rooted: Rooted, threads: Threads, tick_ns: int, engine: Engine | None, environ: Mapping[str, str]
    ) -> None:
        self._rooted = rooted
        self._threads = threads
        self._tick_ns = tick_ns
        self._engine = engine
        self._environ = environ
        self._turns = trio.CapacityLimiter(AT_A_TIME)
        self._kept: OrderedDict[Stamp, Transcript] = OrderedDict()
        self._kept_chars = 0

    async def read(self, path: WsPath, tell: Callable[[str], None]) -> Reading[Transcript]:
        """The transcript of a recording; `tell` takes a line on how far it is. Protected names are never listened to.

        Raises: what opening raises; reader_not_installed, also where no engine is configured; unsupported_format,
        too_large, io_error, timeout.
        """
        taken_ns = time.time_ns()
        opened = await self._threads.run(Lane.READ, self._rooted.open_file, path, Access.READ)
        with opened:
            stamp = stamps.of(opened.stat)
            kind = self._checked(path, opened)
            tell("waiting for its turn")
            async with self._turns:
                found = self._kept.get(stamp) or await self._transcribed(path, opened, kind, tell)
            sha256 = await self._threads.run(Lane.READ, _sha256, opened.fd, stamp.size)
            unstable = stamps.of(os.fstat(opened.fd)) != stamp
        if not unstable and stamps.settled(stamp, taken_ns, self._tick_ns):
            self._keep(stamp, found)
        return Reading(found, opened.real, stamp.size, stamp, sha256, None, unstable)

    def _checked(self, path: WsPath, opened: OpenFile) -> Recording:
        kind = kinds.recording(_head(opened.fd, path))
        if kind is None:
            raise Fault(Slug.CONFLICT, f"{path.given} changed while it was read. Read it again.", retryable=True)
        if self._engine is None:
            raise Fault(Slug.READER_NOT_INSTALLED, _CONFIGURE.format(path.given, kind.shown))
        if opened.stat.st_size > SOURCE_MAX_BYTES:
            raise Fault(
                Slug.TOO_LARGE,
                f"{path.given} has {opened.stat.st_size} bytes; recordings are read up to {SOURCE_MAX_BYTES}.",
            )
        return kind

    async def _transcribed(
        self, path: WsPath, opened: OpenFile, kind: Recording, tell: Callable[[str], None]
    ) -> Transcript:
        assert self._engine is not None
        job = Job(opened.fd, opened.stat.st_size, kind, path.given, self._threads, self._environ, tell)
        return await transcribe(self._engine, job)

    def _keep(self, stamp: Stamp, found: Transcript) -> None:
        gone = self._kept.pop(stamp, None)
        self._kept_chars += len(found.text) - (len(gone.text) if gone else 0)
        self._kept[stamp] = found
        while self._kept_chars > _KEPT_MAX_CHARS:
            self._kept_chars -= len(self._kept.popitem(last=False)[1].text)


def _head(fd: int, path: WsPath) -> bytes:
    try:
        return os.pread(fd, limits.BINARY_SNIFF_BYTES, 0)
    except OSError as error:
        raise as_fault(error, "read", path.given) from error


def _sha256(fd: int, size: int) -> str | None:
    """The hash of a small file, as reads give it."""
    if size > limits.SHA256_MAX_BYTES:
        return None
    return hashlib.sha256(os.pread(fd, size, 0)).hexdigest()
