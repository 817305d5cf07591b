"""Spilled answers: what was too long to show, as a file that the model can page through."""

import os
import time

from picoclawd import limits
from picoclawd.errors import Fault
from picoclawd.files import closing
from picoclawd.files.dotdir import open_own_directory
from picoclawd.files.rooted import Rooted
from picoclawd.files.state import write_private_file
from picoclawd.files.threads import Lane, Threads
from picoclawd.workspace.sessions import Session

OWN_DIRECTORY = b".picoclaw"
_ARTIFACTS = b"artifacts"
_IGNORE_ALL = b"*\n"


class Artifacts:
    """Writes and prunes `<workspace>/.picoclaw/artifacts/<session>/<n>-<tool>.txt`."""

    def __init__(self, rooted: Rooted, threads: Threads) -> None:
        self._rooted = rooted
        self._threads = threads

    async def spill(self, session: Session, tool: str, content: str) -> str | None:
        """Store an answer as the model would have seen it; its path relative to the workspace.

        None where it cannot be stored, `.picoclaw` being a link among the reasons: a spill never fails a call.
        """
        name = f"{session.next_artifact()}-{tool}.txt"
        try:
            await self._threads.run(Lane.SPILL, self._write, session.session_id, name, content)
        except (OSError, Fault):
            return None
        return f".picoclaw/artifacts/{session.session_id}/{name}"

    def _write(self, session_id: str, name: str, content: str) -> None:
        own = open_own_directory(self._rooted.root_fd, (OWN_DIRECTORY,))
        try:
            _write_ignore_file(own)
            directory = open_own_directory(own, (_ARTIFACTS, session_id.encode()))
            try:
                write_private_file(directory, name, content.encode("utf-8", "replace"))
            finally:
                closing.close(directory)
        finally:
            closing.close(own)

    async def prune(self) -> int:
        """Delete artifacts older than limits.ARTIFACT_MAX_AGE_S, then the oldest beyond limits.ARTIFACTS_MAX_BYTES.

        Returns how many went.
        """
        try:
            return await self._threads.run(Lane.READ, self._prune, time.time())
        except OSError:
            return 0

    def _prune(self, now: float) -> int:
        try:
            top = open_own_directory(self._rooted.root_fd, (OWN_DIRECTORY, _ARTIFACTS), create=False)
        except FileNotFoundError:
            return 0
        try:
            return sum(_unlink(top, session, name) for session, name in _outdated(top, now))
        finally:
            closing.close(top)


def _write_ignore_file(own: int) -> None:
    try:
        os.stat(b".gitignore", dir_fd=own, follow_symlinks=False)
    except FileNotFoundError:
        write_private_file(own, ".gitignore", _IGNORE_ALL)


def _outdated(top: int, now: float) -> list[tuple[bytes, bytes]]:
    """(session directory, name) of what should go, the oldest first."""
    found: list[tuple[float, int, bytes, bytes]] = []
    for session in os.listdir(top):
        try:
            directory = open_own_directory(top, (os.fsencode(session),), create=False)
        except OSError:
            continue
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, status.st_size, os.fsencode(session), os.fsencode(entry.name)))
        finally:
            closing.close(directory)
    found.sort(reverse=True)
    outdated: list[tuple[bytes, bytes]] = []
    kept_bytes = 0
    for mtime, size, session_name, name in found:
        kept_bytes += size
        if now - mtime > limits.ARTIFACT_MAX_AGE_S or kept_bytes > limits.ARTIFACTS_MAX_BYTES:
            outdated.append((session_name, name))
    return outdated


def _unlink(top: int, session: bytes, name: bytes) -> int:
    try:
        directory = open_own_directory(top, (session,), create=False)
    except OSError:
        return 0
    try:
        os.unlink(name, dir_fd=directory)
    except OSError:
        return 0
    finally:
        closing.close(directory)
    return 1
