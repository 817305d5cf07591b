"""The worker process: what it takes and answers, and what each document's own process has and may."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from picoclawd import limits
from picoclawd.documents import child
from tests.documents import doing, made
from tests.documents.doing import is_running

WAIT_S = 60.0
COMMAND = (sys.executable, "-I", "-m", "picoclawd.documents.worker")
REQUEST = {"kind": "table", "windows": [[1, 9]], "max_chars": 1000, "name": "t.csv"}


class Bench:
    """One worker, asked without a daemon."""

    def __init__(self, directory: Path, command: tuple[str, ...], *readers: str) -> None:
        self._directory = directory
        self.socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(WAIT_S)
        with its:
            self.process = subprocess.Popen(
                [*command, *readers], stdin=its.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={}
            )

    def read(self, data: bytes, **request: Any) -> tuple[int, Any]:
        """How the document's process ended, and its answer: None where there is none."""
        path = self._directory / "document"
        path.write_bytes(data)
        document = os.open(path, os.O_RDONLY)
        os.lseek(document, 0, os.SEEK_END)  # wherever it stood
        answer, its = os.pipe()
        socket.send_fds(self.socket, [json.dumps({**REQUEST, **request}).encode()], [document, its])
        os.close(document)
        os.close(its)
        with open(answer, "rb") as source:
            text = source.read()
        return int(self.socket.recv(16)), json.loads(text) if text else None

    def told(self, code: str) -> str:
        """What the document's own process found out."""
        status, answer = self.read(code.encode())
        assert status == 0
        assert "found" in answer, answer
        ((_, text),) = answer["found"]["units"]
        return str(text)

    def hang_up(self) -> int:
        """Close the socket; the worker's own status."""
        self.socket.close()
        return self.process.wait(WAIT_S)

    def close(self) -> None:
        self.socket.close()
        self.process.kill()
        self.process.wait(WAIT_S)


@pytest.fixture
def doer(tmp_path: Path) -> Iterator[Bench]:
    """A worker whose documents say what their process does."""
    bench = Bench(tmp_path, doing.COMMAND, "table")
    yield bench
    bench.close()


def test_it_reads_one_document_after_the_other_and_ends_with_its_socket(tmp_path: Path) -> None:
    bench = Bench(tmp_path, COMMAND, "office", "docx")
    try:
        for words in ("one", "two"):
            data = made.docx(lambda document, words=words: document.add_paragraph(words))
            status, answer = bench.read(data, kind="office")
            assert (status, answer["found"]["units"]) == (0, [[1, words]])
        status, answer = bench.read(b"a,b\n1,2\n")  # what it did not import beforehand
        assert (status, answer["found"]["total"]) == (0, 2)
        assert bench.hang_up() == 0
    finally:
        bench.close()


def test_a_worker_without_its_reader_lives_to_say_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, COMMAND, "nothing")
    try:
        status, answer = bench.read(b"", kind="nothing")
        assert (status, answer["error"]) == (0, "reader_not_installed")
    finally:
        bench.close()


def test_each_document_has_a_process_of_its_own_that_remembers_nothing(doer: Bench) -> None:
    keep = "told = getattr(sys, 'kept', 'nothing'); sys.kept = 'a document'"
    assert [doer.told(keep) for _ in range(3)] == ["nothing"] * 3
    pids = {doer.told("told = os.getpid()") for _ in range(3)}
    assert len(pids) == 3
    assert str(doer.process.pid) not in pids
    assert doer.told("told = os.getppid()") == str(doer.process.pid)


def test_it_has_open_its_own_document_and_answer_and_nothing_else(doer: Bench, tmp_path: Path) -> None:
    seen = """
found = {}
for fd in range(64):
    try:
        found[fd] = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        pass
told = repr(found) + "|" + repr(source.fileno())
"""
    for _ in range(2):  # the second would show what the first left open
        found_text, number = doer.told(seen).split("|")
        found: dict[int, str] = eval(found_text)
        document = int(number)
        assert sorted(found) == [0, 1, 2, document]
        assert (found[0], found[2]) == ("/dev/null", "/dev/null")
        assert found[1].startswith("pipe:")
        assert found[document] == str(tmp_path / "document")


def test_its_limits_are_those_of_a_child(doer: Bench) -> None:
    names = ("CORE", "FSIZE", "NOFILE", "CPU", "AS", "DATA")
    found = eval(doer.told(f"told = [resource.getrlimit(getattr(resource, 'RLIMIT_' + n)) for n in {names!r}]"))
    data = limits.DOCUMENT_DATA_BYTES
    most = [0, 0, child.DESCRIPTORS, (child.CPU_S, child.CPU_S + 1), child.MEMORY_BYTES, data]
    assert found == [each if isinstance(each, tuple) else (each, each) for each in most]
    assert resource.getrlimit(resource.RLIMIT_FSIZE) != (0, 0)
    status = doer.told("told = Path('/proc/self/status').read_text()")
    assert "NoNewPrivs:\t1" in status
    assert doer.told("told = resource.getrusage(resource.RUSAGE_SELF).ru_utime < 0.1") == "True"  # it counts anew


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", signal.SIGSEGV),
        ("os.kill(os.getpid(), signal.SIGKILL)", signal.SIGKILL),
        ("resource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass", signal.SIGXCPU),
    ],
)
def test_the_death_of_a_documents_process_is_told_and_the_next_one_is_read(
    doer: Bench, code: str, number: signal.Signals
) -> None:
    assert doer.read(code.encode()) == (-number, None)
    assert doer.told("told = 'well'") == "well"


@pytest.mark.parametrize("code", ["sys.exit(0)", "raise KeyboardInterrupt"])
def test_a_reader_that_leaves_does_not_come_back_as_a_worker(doer: Bench, code: str) -> None:
    assert doer.read(code.encode()) == (1, None)
    assert doer.told("told = 'well'") == "well"


def test_a_documents_process_ends_with_its_worker(doer: Bench, tmp_path: Path) -> None:
    """Where the kernel ends the worker alone, out of memory, nobody else would know of its process."""
    (tmp_path / "document").write_text("os.write(1, b'%d' % os.getpid())\ntime.sleep(60)")
    answer, its = os.pipe()
    with open(tmp_path / "document", "rb") as document:
        socket.send_fds(doer.socket, [json.dumps(REQUEST).encode()], [document.fileno(), its])
    os.close(its)
    with open(answer, "rb", buffering=0) as source:
        pid = int(source.read(20))
        doer.process.kill()
        assert source.read() == b""  # the end: the process that could write is gone
    deadline = time.monotonic() + WAIT_S
    while is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)
