"""What an agent would run instead: rg, fd, watchman, the npm MCP filesystem server. Absent ones are skipped by name."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

START_TIMEOUT_S = 120.0  # watchman answers once it has crawled the tree
ALL = ("--no-ignore", "--hidden")  # rg and fd
NO_CONFIG = "--no-config"
OUR_RULES = ("--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--crlf")


def program(*names: str) -> str | None:
    """The first of some programs that is on the path or beside this Python; None, said aloud, where none is."""
    beside = str(Path(sys.executable).parent)
    for name in names:
        if found := shutil.which(name) or shutil.which(name, path=beside):
            return found
    print(f"skip {' or '.join(names)}: not installed", flush=True)
    return None


class Rg:
    """ripgrep on one tree."""

    def __init__(self, path: str, root: Path) -> None:
        self._path = path
        self._root = root

    def count(self, pattern: str) -> None:
        """Matching lines of each file."""
        subprocess.run(self._counting(pattern), stdout=subprocess.DEVNULL)

    def files_with(self, pattern: str) -> int:
        """How many files match."""
        return subprocess.run(self._counting(pattern), stdout=subprocess.PIPE).stdout.count(b"\n")

    def names(self, part: str) -> None:
        """Files whose path holds a part of a name."""
        command = [self._path, NO_CONFIG, "--files", *ALL, "-g", f"*{part}*", "-g", f"**/*{part}*/**", str(self._root)]
        subprocess.run(command, stdout=subprocess.DEVNULL)

    def lines(self, pattern: str) -> set[tuple[str, int]]:
        """Each matching line as (path, number), of the files and lines that we would search."""
        command = [self._path, NO_CONFIG, "-n", "--null", "--no-heading", *OUR_RULES, "-e", pattern, "."]
        output = subprocess.run(command, stdout=subprocess.PIPE, cwd=self._root).stdout
        found = (row.split(b"\0", 1) for row in output.split(b"\n") if b"\0" in row)
        return {(os.fsdecode(path).removeprefix("./"), int(rest.split(b":", 1)[0])) for path, rest in found}

    def _counting(self, pattern: str) -> list[str]:
        return [self._path, NO_CONFIG, "-c", *ALL, "-e", pattern, str(self._root)]


class Fd:
    """fd on one tree."""

    def __init__(self, path: str, root: Path) -> None:
        self._path = path
        self._root = root

    def names(self, form: str) -> None:
        """Files by a glob on the base name (`**/` before it is dropped) or a part of the path."""
        chosen = ["--glob", form.removeprefix("**/")] if "*" in form else ["--full-path", "--fixed-strings", form]
        subprocess.run([self._path, *ALL, "--type", "f", *chosen, str(self._root)], stdout=subprocess.DEVNULL)


class Watchman:
    """A watchman of our own that watches one tree."""

    def __init__(self, connection: socket.socket, root: Path) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._root = str(root)
        self.ask("watch", self._root)

    def names(self, form: str) -> None:
        """Files by a glob or a part of the path."""
        wholename = form if "*" in form else f"*{form}*"
        match = ["match", wholename, "wholename", {"includedotfiles": True}]
        self.ask("query", self._root, {"expression": ["allof", ["type", "f"], match], "fields": ["name"]})

    def ask(self, *command: object) -> dict[str, Any]:
        """Send one command; an error ends the benchmark."""
        self._connection.sendall(json.dumps(command).encode() + b"\n")
        answer = json.loads(self._lines.readline())
        assert isinstance(answer, dict)
        if "error" in answer:
            raise SystemExit(f"watchman: {answer['error']}")
        return answer


@contextmanager
def watchman(path: str, root: Path) -> Iterator[Watchman]:
    """Start a watchman with files of its own, have it crawl the tree, stop it afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-watchman-") as directory:
        sock = f"{directory}/sock"
        places = [f"--{name}={directory}/{name}" for name in ("pidfile", "logfile", "statefile")]
        command = [path, "--foreground", "--no-save-state", f"--sockname={sock}", *places]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with _connected(sock, process) as connection:
                yield Watchman(connection, root)
        finally:
            process.terminate()
            process.wait(START_TIMEOUT_S)


def _connected(path: str, process: "subprocess.Popen[bytes]") -> socket.socket:
    end = time.monotonic() + START_TIMEOUT_S
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(START_TIMEOUT_S)
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError):
            connection.connect(path)
            return connection
        time.sleep(0.02)
    raise SystemExit("watchman did not start")


class NpmServer:
    """The npm MCP filesystem server on one tree, over its standard input and output."""

    def __init__(self, process: "subprocess.Popen[bytes]", root: Path) -> None:
        self._process = process
        self._root = str(root)
        client = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def names(self, form: str) -> None:
        """Files by a glob."""
        arguments = {"path": self._root, "pattern": form if "*" in form else f"**/*{form}*"}
        self._ask("tools/call", {"name": "search_files", "arguments": arguments})

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if "id" in json.loads(line):
                return
        raise SystemExit("the npm server ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


@contextmanager
def npm_server(path: str, root: Path) -> Iterator[NpmServer]:
    """Start the server on a tree, stop it afterwards."""
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen([path, str(root)], stdin=pipe, stdout=pipe, stderr=null) as process:
        try:
            yield NpmServer(process, root)
        finally:
            process.kill()
