"""The audit log: one line of JSON for every mutation and every approval, appended to private files in the state
directory. No line holds a file's content.
"""

import errno
import logging
import os
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import state
from picoclawd.files.oserrors import as_fault

LINE_MAX_BYTES = 8 * limits.KIB  # newline included
FILE_MAX_BYTES = 16 * limits.MIB
FILES_KEPT = 4  # beside the one that is written: `audit.ndjson.1` is the newest of them
NAME = "audit.ndjson"

_CUT_TO = (1024, 128, 16)  # characters of a string, items of a list: what a line that is too long is cut to, in turn
_NOT_PRIVATE = "it is a link or no regular file, belongs to somebody else, or is open to others"

_log = logging.getLogger(__name__)


class Mutation(msgspec.Struct, frozen=True, kw_only=True, tag="mutation", tag_field="kind", omit_defaults=True):
    """A change of a file, or an attempt whose outcome must be known. `path` is for people; sizes are bytes."""

    tool: str
    path: str
    path_bytes: str | None = None
    action: str
    outcome: str
    version: int | None = None
    size: int | None = None
    sha256_before: str | None = None
    sha256_after: str | None = None
    session_id: str
    client: str = ""
    role: str
    pid: int
    task_id: str | None = None
    op: str | None = None
    approval: str | None = None
    error: str | None = None


class Approval(msgspec.Struct, frozen=True, kw_only=True, tag="approval", tag_field="kind", omit_defaults=True):
    """An answer to a request for approval. `pid` and `ancestors` are of the process that answered, nearest first;
    `via` is "elicitation" where that was an MCP host's bridge."""

    id: str
    digest: str
    method: str
    path: str
    answer: str
    session_id: str
    client: str = ""
    objective: str = ""
    pid: int
    ancestors: tuple[int, ...] = ()
    warning: str | None = None
    via: str | None = None


class Audit:
    """Appends to the log. Blocking, and safe between threads; close it when no more is to come."""

    def __init__(
        self,
        directory: str,
        *,
        file_max_bytes: int = FILE_MAX_BYTES,
        files_kept: int = FILES_KEPT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the log in `directory`, which is made where it is missing. Blocking.

        Raises: access_denied where directory or file is a link, somebody else's, or open to others; io_error.
        """
        self._file_max_bytes = file_max_bytes
        self._files_kept = files_kept
        self._clock = clock
        self._lock = threading.Lock()
        self._trouble: str | None = None
        self._dir_fd = state.open_private_directory(directory)
        self._fd = -1
        self._torn = False
        try:
            self._open()
        except OSError as exc:
            os.close(self._dir_fd)
            if exc.strerror == _NOT_PRIVATE:
                message = f"refused to use {directory}/{NAME}: {_NOT_PRIVATE}. Remove it, or chmod 600 it."
                raise Fault(Slug.ACCESS_DENIED, message) from exc
            raise as_fault(exc, "open", f"{directory}/{NAME}") from exc

    @property
    def trouble(self) -> str | None:
        """Why the last line could not be written; None where it was."""
        return self._trouble

    def write(self, entry: Mutation | Approval) -> bool:
        """Append one line, and tell whether that went well. Not durable by itself: history is.

        A full disk must not stop an edit that has happened already, so nothing is raised: see `trouble`.
        """
        line = line_of(entry, self._clock())
        with self._lock:
            try:
                self._append(line)
            except OSError as exc:
                self._note_trouble(f"{NAME}: {exc.strerror}")
                return False
            self._trouble = None
            return True

    def close(self) -> None:
        """Make everything durable and close the file; a second call does nothing."""
        with self._lock:
            if self._fd >= 0:
                with suppress(OSError):  # there is nobody left to tell
                    os.fsync(self._fd)
                os.close(self._fd)
                os.close(self._dir_fd)
                self._fd = self._dir_fd = -1

    def _append(self, line: bytes) -> None:
        if self._fd < 0:
            raise OSError(errno.EBADF, "it is closed")
        now = os.fstat(self._fd)
        if now.st_nlink == 0:  # somebody removed the file: what follows must not vanish with it
            self._open()
        elif now.st_size and now.st_size + len(line) > self._file_max_bytes:
            self._rotate()
        data = b"\n" + line if self._torn else line
        self._torn = True
        while data:
            data = data[os.write(self._fd, data) :]
        self._torn = False

    def _rotate(self) -> None:
        os.fsync(self._fd)
        for number in range(self._files_kept, 0, -1):
            older = NAME if number == 1 else f"{NAME}.{number - 1}"
            with suppress(FileNotFoundError):
                os.rename(older, f"{NAME}.{number}", src_dir_fd=self._dir_fd, dst_dir_fd=self._dir_fd)
        self._open()

    def _open(self) -> None:
        """Open the file to append to; a last line that a crash cut off is ended first."""
        fd = _open_to_append(self._dir_fd)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = fd
        size = os.fstat(fd).st_size
        self._torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"

    def _note_trouble(self, trouble: str) -> None:
        if trouble != self._trouble:
            _log.warning("the audit log cannot be written: %s", trouble)
        self._trouble = trouble


def line_of(entry: Mutation | Approval, at: float) -> bytes:
    """Encode an entry as a line of at most LINE_MAX_BYTES. `at` is in seconds of the epoch.

    One that is longer has its long texts and lists cut, and says `"cut": true`.
    """
    fields = {"at": round(at, 6), **msgspec.to_builtins(entry)}
    line = msgspec.json.encode(fields) + b"\n"
    for most in _CUT_TO:
        if len(line) <= LINE_MAX_BYTES:
            break
        line = msgspec.json.encode({**{key: _cut(value, most) for key, value in fields.items()}, "cut": True}) + b"\n"
    return line


def _open_to_append(dir_fd: int) -> int:
    """Open or create the file, 0600, and make sure that it is ours alone, as files/state does."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(NAME, flags, 0o600, dir_fd=dir_fd)
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise PermissionError(errno.EACCES, _NOT_PRIVATE) from exc
        raise
    held = os.fstat(fd)
    if not stat.S_ISREG(held.st_mode) or held.st_uid != os.geteuid() or held.st_mode & 0o077:
        os.close(fd)
        raise PermissionError(errno.EACCES, _NOT_PRIVATE)
    return fd


def _cut(value: Any, most: int) -> Any:
    if isinstance(value, str) and len(value) > most:
        return value[: most - 1] + "…"
    return value[:most] if isinstance(value, list | tuple) else value
