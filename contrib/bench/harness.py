"""What the benchmarks share: a scratch daemon, a blocking client, medians, and bars with a must and an aim."""

import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Bars:
    """Collects bars; a bar that misses its must makes the exit status 1."""

    missed: list[str] = field(default_factory=list)

    def at_most(self, name: str, value: float, must: float, aim: float | None = None, unit: str = "x") -> None:
        """Print one bar where less is better."""
        self._show(name, value, value <= must, f"must <= {must:g}", None if aim is None else f"aim <= {aim:g}", unit)

    def at_least(self, name: str, value: float, must: float, aim: float | None = None, unit: str = "x") -> None:
        """Print one bar where more is better."""
        self._show(name, value, value >= must, f"must >= {must:g}", None if aim is None else f"aim >= {aim:g}", unit)

    def _show(self, name: str, value: float, held: bool, must: str, aim: str | None, unit: str) -> None:
        wanted = must if aim is None else f"{must}, {aim}"
        print(f"{'ok  ' if held else 'MISS'} {name:<58} {value:9.2f} {unit:<3} ({wanted})", flush=True)
        if not held:
            self.missed.append(name)

    def exit_status(self) -> int:
        """0 where every must is held."""
        return 1 if self.missed else 0


def median_ms(samples: list[float]) -> float:
    """The median of seconds, in milliseconds."""
    return statistics.median(samples) * 1e3


def timed(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class Client:
    """One blocking connection."""

    def __init__(self, path: str) -> None:
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.settimeout(120)
        try:
            self._sock.connect(path)
        except OSError:
            self._sock.close()
            raise
        self._file = self._sock.makefile("rb")

    def raw(self, line: bytes) -> bytes:
        """Send a line, return the next one."""
        self.send(line)
        return self._file.readline()

    def raw_line(self) -> bytes:
        """The next line, empty at the end."""
        return self._file.readline()

    def send(self, line: bytes) -> None:
        """Send a line, and wait for nothing."""
        self._sock.sendall(line)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method; an error answer ends the benchmark."""
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
        answer = json.loads(self.raw(line))
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']}")
        result = answer["result"]
        assert isinstance(result, dict)
        return result

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._sock.close()


@dataclass(frozen=True)
class Scratch:
    """A running daemon of this checkout on a directory of its own."""

    root: pathlib.Path
    socket: str
    process: "subprocess.Popen[bytes]"

    def client(self) -> Client:
        """A new connection to the agents' socket."""
        return Client(self.socket)

    def resident_mb(self) -> float:
        """Resident memory of the daemon's process."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise SystemExit("no VmRSS in /proc")


@contextmanager
def scratch_daemon(config: dict[str, Any] | None = None, root: pathlib.Path | None = None) -> Iterator[Scratch]:
    """Start a daemon in a temporary directory (or on `root`), stop it afterwards. On the current file system."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="picoclawd-bench-", dir=os.environ.get("BENCH_DIR")))
    try:
        workspace = root or directory / "ws"
        workspace.mkdir(exist_ok=True)
        runtime = directory / "run"
        runtime.mkdir(mode=0o700)
        path = str(runtime / "agent" / "sock")
        settings: dict[str, Any] = {
            "agents": {"defaults": {"workspace": str(workspace)}},
            "tools": {},
            "daemon": {"socket": path},
        }
        for key, value in (config or {}).items():
            node = settings
            *parents, leaf = key.split(".")
            for parent in parents:
                node = node.setdefault(parent, {})
            node[leaf] = value
        (directory / "config.json").write_text(json.dumps(settings))
        env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(directory / "state")}
        command = [sys.executable, "-m", "picoclawd", "serve", "--config", str(directory / "config.json")]
        with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as process:
            try:
                _wait_for(path, process)
                yield Scratch(workspace, path, process)
            finally:
                process.terminate()
                process.wait(30)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait_for(path: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit("the daemon ended at once")
        try:
            client = Client(path)
        except OSError:
            time.sleep(0.002)
            continue
        client.call("ping")
        client.close()
        return
    raise SystemExit("the daemon did not come up")
