"""Fixtures of the proof: places to work in, and the machines that are processes of their own."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.proof import tracing

Tell = Callable[[str], None]
_END_S = 600  # beyond what a machine was asked for, it must have ended by then
SHM = Path("/dev/shm")


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Print past pytest's capture: the figure of a long form is what it was run for."""

    def printed(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}")

    return printed


@pytest.fixture(scope="session")
def traceable() -> None:
    """Skip where no process can be traced; that is the machine's doing, so also in CI."""
    why = tracing.possible()
    if why is not None:
        pytest.skip(why)


@dataclass(frozen=True)
class Places:
    """Two directories on two file systems, the first a quick one where there is such."""

    root: Path
    apart: Path


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    """Skips where there is only one file system to write to."""
    if not os.access(SHM, os.W_OK) or SHM.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("/dev/shm is not another file system here")
    with TemporaryDirectory(dir=SHM, prefix="picoclawd-proof-") as root:
        yield Places(Path(root), tmp_path)


@dataclass
class Ran:
    """What several machines did together."""

    counts: Counter[str]
    wrong: list[str]


def run_machines(
    module: str,
    places: Places,
    seeds: list[int],
    *arguments: str,
    seconds: float = 0.0,
    shares: list[str] | None = None,
) -> Ran:
    """Run a machine for each seed, at once, with its share of the work where there are such; add up what they say."""
    command = [sys.executable, "-m", module, "--root", str(places.root), "--apart", str(places.apart), *arguments]
    if seconds:
        command += ["--seconds", str(seconds)]
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen(
            [*command, "--seed", str(seed), *share], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root
        )
        for seed, share in zip(seeds, [["--share", each] for each in shares] if shares else [[]] * 9, strict=False)
    ]
    ran = Ran(Counter(), [])
    try:
        for process in running:
            out, err = process.communicate(timeout=seconds + _END_S)
            assert process.returncode == 0, err[-2000:]
            said = json.loads(out)
            ran.counts.update(said["counts"])
            ran.wrong += said["wrong"]
    finally:
        for process in running:
            process.kill()
            process.communicate()
    return ran
