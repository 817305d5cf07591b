"""The log: one line an entry on stderr, everything in it escaped; fields of the journal where stderr leads there."""

import logging
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TextIO

from picoclawd.daemon import journald
from picoclawd.text.display import log_line

LEVELS = ("debug", "info", "warning", "error")


class LineFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO message`, UTC. Lines of a traceback follow, each escaped and indented."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one entry; what came from clients or files cannot end its line or steer a terminal."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        stamp = f"{seconds}.{int(record.created * 1000) % 1000:03d}Z"
        head = f"{stamp} {record.levelname} {log_line(record.getMessage())}"
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        return "\n".join([head, *(f"    {log_line(line)}" for line in trace.splitlines())])


class StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to stderr; an entry that cannot be written is dropped: there is nowhere to say so."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop the entry."""


def set_up(
    level: str,
    stream: TextIO | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    journal: str = journald.ADDRESS,
) -> logging.Logger:
    """Make the logger `picoclawd` write entries of `level` (one of `LEVELS`) and above, and return it.

    They go to the journal, at the socket `journal`, where `stream` (stderr) is connected to it and it listens; else to
    `stream`. Modules log through `logging.getLogger(__name__)`. Calling it again replaces the earlier handler.
    """
    logger = logging.getLogger("picoclawd")
    for earlier in logger.handlers:
        earlier.close()
    logger.handlers[:] = [_handler(sys.stderr if stream is None else stream, environ, journal)]
    logger.setLevel(level.upper())
    logger.propagate = False
    return logger


def _handler(stream: TextIO, environ: Mapping[str, str], journal: str) -> logging.Handler:
    with suppress(OSError):  # also of a stream without a descriptor (io.UnsupportedOperation)
        if journald.is_journal(stream.fileno(), environ):
            return journald.JournalHandler(journal)
    handler = StderrHandler(stream)
    handler.setFormatter(LineFormatter())
    return handler
