"""Tests of the journal's entries, against a socket that listens as journald does."""

import array
import fcntl
import logging
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from picoclawd.daemon import log as daemon_log
from picoclawd.daemon.journald import JournalHandler, entry_of, is_journal
from picoclawd.text.context import fields


class Journal:
    """Reads entries as journald does: from the datagram, else from the sealed file that comes with it."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._bind()

    def _bind(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(10)
        self.socket.bind(self.path)

    def restart(self) -> None:
        self.socket.close()
        os.unlink(self.path)
        self._bind()

    def entry(self) -> dict[str, str]:
        data, ancillary, _, _ = self.socket.recvmsg(1 << 20, 64)
        if not data:
            ((_, _, raw),) = ancillary
            (fd,) = array.array("i", raw)
            try:
                seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
                assert seals & fcntl.F_SEAL_WRITE and seals & fcntl.F_SEAL_SHRINK
                data = os.pread(fd, os.fstat(fd).st_size, 0)
            finally:
                os.close(fd)
        return decoded(data)

    def close(self) -> None:
        self.socket.close()


def decoded(data: bytes) -> dict[str, str]:
    """By the protocol's own rules, both forms of a field."""
    found: dict[str, str] = {}
    while data:
        line, _, rest = data.partition(b"\n")
        if b"=" in line:
            name, _, value = line.partition(b"=")
        else:
            (size,) = struct.unpack_from("<Q", rest)
            name, value, end = line, rest[8 : 8 + size], rest[8 + size : 9 + size]
            assert end == b"\n"
            rest = rest[9 + size :]
        assert name.decode() not in found
        found[name.decode()], data = value.decode(), rest
    return found


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / "journal")
    yield made
    made.close()


@pytest.fixture
def logger(journal: Journal) -> Iterator[logging.Logger]:
    made = logging.Logger("picoclawd.rpc.x", logging.DEBUG)
    handler = JournalHandler(journal.path)
    made.addHandler(handler)
    yield made
    handler.close()


def test_an_entry_has_a_message_a_priority_and_its_context(journal: Journal, logger: logging.Logger) -> None:
    logger.warning("slow: %s", "x", extra=fields(session="s-1", tool="read_file", path="a/b.txt", client=""))
    entry = journal.entry()
    assert entry["MESSAGE"] == "slow: x"
    assert (entry["PRIORITY"], entry["SYSLOG_IDENTIFIER"], entry["LOGGER"]) == ("4", "picoclawd", "picoclawd.rpc.x")
    context = {name: value for name, value in entry.items() if name.startswith("PICOCLAW_")}
    assert context == {"PICOCLAW_SESSION": "s-1", "PICOCLAW_TOOL": "read_file", "PICOCLAW_PATH": "a/b.txt"}
    assert entry["CODE_FUNC"] == "test_an_entry_has_a_message_a_priority_and_its_context"


@pytest.mark.parametrize(
    ("level", "priority"),
    [
        (logging.CRITICAL, "2"),
        (logging.ERROR, "3"),
        (logging.WARNING, "4"),
        (logging.INFO, "6"),
        (logging.DEBUG, "7"),
    ],
)
def test_levels_are_priorities_of_syslog(journal: Journal, logger: logging.Logger, level: int, priority: str) -> None:
    logger.log(level, "x")
    assert journal.entry()["PRIORITY"] == priority


def test_no_value_can_pass_for_another_field(journal: Journal, logger: logging.Logger) -> None:
    evil = "x\nPRIORITY=0\nMESSAGE=y\n\x1b[2J\udcff"
    logger.info("%s", evil, extra=fields(path=evil))
    entry = journal.entry()
    assert entry["PRIORITY"] == "6"
    assert entry["MESSAGE"] == entry["PICOCLAW_PATH"] == "x\\nPRIORITY=0\\nMESSAGE=y\\n\\x1b[2J\\udcff"


def test_lengths_make_newlines_safe_whatever_is_escaped_before() -> None:
    value = "a\nPRIORITY=0\n\nb="
    assert decoded(entry_of([("MESSAGE", value), ("X_1", "")])) == {"MESSAGE": value, "X_1": ""}
    assert decoded(entry_of([("A", "\udcff")])) == {"A": "\\udcff"}
    assert entry_of([("lower", "x"), ("_TRUSTED", "x"), ("A=B", "x"), ("A\n", "x"), ("", "x")]) == b""


def test_a_traceback_is_part_of_the_message(journal: Journal, logger: logging.Logger) -> None:
    try:
        raise ValueError("bad\x1b")
    except ValueError:
        logger.exception("broke")
    head, *trace = journal.entry()["MESSAGE"].split("\n")
    assert head == "broke"
    assert trace[-1] == "    ValueError: bad\\x1b"


@pytest.mark.parametrize("size_bytes", [100_000, 4_000_000])
def test_a_large_entry_arrives_whole(journal: Journal, logger: logging.Logger, size_bytes: int) -> None:
    logger.info("%s", "x" * size_bytes)
    assert journal.entry()["MESSAGE"] == "x" * size_bytes


def test_a_journal_that_is_gone_and_comes_back_gets_what_follows(journal: Journal, logger: logging.Logger) -> None:
    journal.restart()
    logger.info("lost")
    logger.info("found")
    assert journal.entry()["MESSAGE"] == "found"


def test_a_journal_that_is_stuck_loses_the_entry_and_no_more(journal: Journal, logger: logging.Logger) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as others, suppress(BlockingIOError):
        others.setblocking(False)
        while True:
            others.sendto(b"MESSAGE=other\n", journal.path)
    logger.info("lost")
    with suppress(BlockingIOError):
        while journal.entry() == {"MESSAGE": "other"}:
            journal.socket.setblocking(False)
    journal.socket.settimeout(10)
    logger.info("found")
    assert journal.entry()["MESSAGE"] == "found"


def test_stderr_is_the_journal_where_device_and_inode_say_so(tmp_path: Path) -> None:
    with open(tmp_path / "err", "w") as err:
        held = os.fstat(err.fileno())
        right = f"{held.st_dev}:{held.st_ino}"
        assert is_journal(err.fileno(), {"JOURNAL_STREAM": right})
        for wrong in ("", f"{held.st_dev}:{held.st_ino + 1}", f"{held.st_dev}", f"{right}:1", "x:y"):
            assert not is_journal(err.fileno(), {"JOURNAL_STREAM": wrong})
        assert not is_journal(err.fileno(), {})
    assert not is_journal(10_000, {"JOURNAL_STREAM": right})


@pytest.fixture
def restored() -> Iterator[None]:
    """Give the process's logger back as it was."""
    kept = logging.getLogger("picoclawd")
    before = (kept.handlers[:], kept.level, kept.propagate)
    kept.handlers[:] = []
    yield
    for handler in kept.handlers:
        handler.close()
    kept.handlers[:], kept.propagate = before[0], before[2]
    kept.setLevel(before[1])


@pytest.mark.usefixtures("restored")
def test_the_log_goes_to_the_journal_instead_of_to_stderr(tmp_path: Path, journal: Journal) -> None:
    with open(tmp_path / "err", "w+") as err:
        held = os.fstat(err.fileno())
        environ = {"JOURNAL_STREAM": f"{held.st_dev}:{held.st_ino}"}
        daemon_log.set_up("info", err, environ=environ, journal=journal.path).info("here")
        assert journal.entry()["MESSAGE"] == "here"
        daemon_log.set_up("info", err, environ={}, journal=journal.path).info("there")
        daemon_log.set_up("info", err, environ=environ, journal=str(tmp_path / "none")).info("still there")
        err.seek(0)
        assert [line.split(" INFO ")[1] for line in err.read().splitlines()] == ["there", "still there"]
