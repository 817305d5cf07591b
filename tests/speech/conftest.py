"""Jobs to give to engines."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from picoclawd.files.threads import Threads
from picoclawd.speech.engine import Job
from picoclawd.speech.kinds import WAV, Recording

MakeJob = Callable[..., Job]


@pytest.fixture
def make_job(tmp_path: Path) -> Iterator[MakeJob]:
    """Makes a job of these bytes; what it tells is appended to `told`."""
    opened: list[int] = []

    def make(data: bytes, kind: Recording = WAV, told: list[str] | None = None, **environ: str) -> Job:
        path = tmp_path / f"sound{len(opened)}"
        path.write_bytes(data)
        opened.append(os.open(path, os.O_RDONLY))
        tell = (told if told is not None else []).append
        return Job(opened[-1], len(data), kind, "a.wav", Threads(), {"PATH": os.environ["PATH"]} | environ, tell)

    yield make
    for fd in opened:
        os.close(fd)
