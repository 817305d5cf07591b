"""The worker process: what it gives up, and how it answers."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from picoclawd.documents import child
from picoclawd.documents.units import Wanted
from tests.documents import made

WANTED = Wanted(((1, 100),))
# What a reader could try, printed as JSON. Runs confined.
PROBE = """
import json, os, resource, sys
from picoclawd.documents import child
child.confine()
def fails(work):
    try:
        work()
    except (OSError, MemoryError) as error:
        return type(error).__name__
    return None
def write():
    with open(sys.argv[1], "wb") as file:
        file.write(b"x" * 5000)
print(json.dumps({
    "status": open("/proc/self/status").read(),
    "memory": fails(lambda: bytearray(700 << 20)),
    "write": fails(write),
    "descriptors": fails(lambda: [os.dup(0) for _ in range(100)]),
    "core": resource.getrlimit(resource.RLIMIT_CORE),
    "cpu": resource.getrlimit(resource.RLIMIT_CPU)[0],
}))
"""


def test_a_worker_can_take_no_memory_and_write_no_file(tmp_path: Path) -> None:
    # SIGXFSZ, which ends a worker that writes, is ignored by Python itself: the write fails instead.
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROBE, str(tmp_path / "out")], capture_output=True, timeout=60, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["memory"] == "MemoryError"
    assert found["write"] == "OSError"
    assert found["descriptors"] == "OSError"
    assert (found["core"], found["cpu"]) == ([0, 0], 10)
    assert "NoNewPrivs:\t1" in found["status"]
    assert (tmp_path / "out").stat().st_size == 0


def test_an_answer_is_json_whatever_stands_in_the_text_and_wherever_the_file_stood(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(made.docx(lambda document: document.add_paragraph("caf\u00e9 \U0001f600")))
    fd = os.open(tmp_path / "f", os.O_RDONLY)
    os.lseek(fd, 0, os.SEEK_END)
    request = {"kind": "office", "windows": [[1, 9]], "max_chars": 1000, "name": ""}
    answer = json.loads(child.answer(json.dumps(request).encode(), fd))
    assert answer["found"]["units"] == [[1, "caf\u00e9 \U0001f600"]]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_missing_library_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    monkeypatch.delitem(sys.modules, "picoclawd.documents.pdf", raising=False)
    (tmp_path / "f").write_bytes(b"%PDF-")
    with open(tmp_path / "f", "rb") as source:
        answer = child.read("pdf", source, WANTED)
    assert answer["error"] == "reader_not_installed"
    assert "pip install 'picoclawd[docs]'" in answer["reason"]


@pytest.mark.parametrize(
    ("error", "slug", "words"),
    [
        (MemoryError, "too_large", "352 MiB of memory"),
        (RecursionError, "unsupported_format", "nested too deep"),
        (KeyError, "unsupported_format", "damaged"),
    ],
)
def test_what_a_library_raises_becomes_a_reason(
    error: type[Exception], slug: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise error("secret text of the file")

    monkeypatch.setattr("picoclawd.documents.table.read", fail)
    (tmp_path / "f").write_bytes(b"a,b\n")
    with open(tmp_path / "f", "rb") as source:
        answer = child.read("table", source, WANTED)
    assert answer["error"] == slug
    assert words in answer["reason"]
    assert "secret" not in answer["reason"]


def test_a_kind_without_a_reader_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with open(tmp_path / "f", "rb") as source:
        assert child.read("os", source, WANTED)["error"] == "reader_not_installed"


def test_every_reader_is_a_module_with_one_function() -> None:
    import importlib

    for name in ("ole", "table", "readable"):  # those that need no library
        reader: Callable[..., object] = importlib.import_module(f"picoclawd.documents.{name}").read
        assert callable(reader)
