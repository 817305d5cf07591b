"""The log's way into systemd's journal, where stderr leads there: fields instead of lines.

The native protocol (systemd.io, "Native Journal Protocol"): every field is sent with its length, so that no value, with
whatever newlines, can pass for another field. An entry that no datagram holds goes as a sealed memory file.
"""

import array
import errno
import fcntl
import logging
import os
import re
import socket
import struct
from collections.abc import Iterable, Mapping

from picoclawd.text import context
from picoclawd.text.display import log_line

ADDRESS = "/run/systemd/journal/socket"

_PREFIX = "PICOCLAW_"
_IDENTIFIER = "picoclawd"
_SEND_TIMEOUT_S = 0.2  # the loop waits meanwhile; a journal that is stuck for longer loses the entry
_TOO_LARGE = frozenset({errno.EMSGSIZE, errno.ENOBUFS})
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")  # what journald takes for a name; it drops other fields


def is_journal(fd: int, environ: Mapping[str, str]) -> bool:
    """Whether what is written to `fd` goes to the journal: JOURNAL_STREAM of systemd.exec(5) names its device and
    inode."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        held = os.fstat(fd)
    except OSError:
        return False
    return (device, inode) == (str(held.st_dev), str(held.st_ino))


def entry_of(fields: Iterable[tuple[str, str]]) -> bytes:
    """Encode an entry, fields in order. A lone surrogate becomes its escape; a name that journald drops is dropped."""
    parts = []
    for name, value in fields:
        if _NAME.fullmatch(name):
            data = value.encode("utf-8", "backslashreplace")
            parts.append(b"%s\n%s%s\n" % (name.encode(), struct.pack("<Q", len(data)), data))
    return b"".join(parts)


class JournalHandler(logging.Handler):
    """Sends each record as an entry; one that cannot be sent is dropped, as nobody is there to be told.

    What came from clients or files is escaped as in the log on stderr: `journalctl` prints messages to terminals.
    """

    def __init__(self, address: str = ADDRESS) -> None:
        """Connect to the journal. Raises: OSError where nobody listens at the address."""
        super().__init__()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._address = address
        try:
            self._socket.settimeout(_SEND_TIMEOUT_S)
            self._socket.connect(address)
        except OSError:
            self._socket.close()
            raise

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        try:
            self._send(entry_of(self._fields(record)))
        except OSError:
            self._reconnect()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
        super().close()

    def _fields(self, record: logging.LogRecord) -> list[tuple[str, str]]:
        fields = [
            ("MESSAGE", self._message(record)),
            ("PRIORITY", str(_priority(record.levelno))),
            ("SYSLOG_IDENTIFIER", _IDENTIFIER),
            ("LOGGER", record.name),
            ("CODE_FILE", record.pathname),
            ("CODE_LINE", str(record.lineno)),
            ("CODE_FUNC", record.funcName or ""),
        ]
        about: Mapping[str, str] = getattr(record, context.ATTRIBUTE, {})
        return fields + [(_PREFIX + name.upper(), log_line(value)) for name, value in about.items() if value]

    def _message(self, record: logging.LogRecord) -> str:
        lines = [log_line(record.getMessage())]
        if record.exc_info:
            trace = logging.Formatter().formatException(record.exc_info)
            lines += [f"    {log_line(line)}" for line in trace.splitlines()]
        return "\n".join(lines)

    def _send(self, entry: bytes) -> None:
        try:
            self._socket.send(entry)
        except OSError as exc:
            if exc.errno not in _TOO_LARGE:
                raise
            self._send_file(entry)

    def _send_file(self, entry: bytes) -> None:
        """Send a descriptor in place of the bytes; the seals say that nobody will change them."""
        fd = os.memfd_create("picoclawd-log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            view = memoryview(entry)
            while view:
                view = view[os.write(fd, view) :]
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
            self._socket.sendmsg([], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        finally:
            os.close(fd)

    def _reconnect(self) -> None:
        """Find the journal again for the next record: it was restarted, or has been stuck."""
        try:
            self._socket.connect(self._address)
        except OSError:
            return


def _priority(level: int) -> int:
    """The priority of syslog(3) that a level of `logging` is."""
    for least, priority in ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6)):
        if level >= least:
            return priority
    return 7
