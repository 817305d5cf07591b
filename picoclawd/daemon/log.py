"""The log: one line an entry on stderr, everything in it escaped."""

import logging
import sys
import time
from typing import TextIO

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


def set_up(level: str, stream: TextIO | None = None) -> logging.Logger:
    """Make the logger `picoclawd` write entries of `level` (one of `LEVELS`) and above to stderr, and return it.

    Modules log through `logging.getLogger(__name__)`. Calling it again replaces the earlier handler.
    """
    handler = StderrHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(LineFormatter())
    logger = logging.getLogger("picoclawd")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False
    return logger
