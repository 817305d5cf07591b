"""`picoclawctl web` in a process of its own, before a daemon of its own, and a client that sends what a browser would
not."""

import json
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Any, Self

from tests.e2e.daemon import Daemon

START_DEADLINE_S = 30.0
STOP_DEADLINE_S = 15.0
ANSWER_DEADLINE_S = 30.0


class PageServer:
    """`with PageServer(daemon) as page:` serves the page of a daemon; `url` is what it printed."""

    def __init__(self, daemon: Daemon, *arguments: str) -> None:
        self._daemon = daemon
        self._arguments = arguments
        self.url = ""
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        env = {**self._daemon.env, "PICOCLAWD_OPERATOR_SOCKET": str(self._daemon.operator_socket)}
        command = [sys.executable, "-P", "-m", "picoclawd.client", "web", *self._arguments]
        with open(self._daemon.directory / "web.log", "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, env=env
            )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], START_DEADLINE_S)
        self.url = self.process.stdout.readline().strip() if ready else ""
        if not self.url.startswith("http://127.0.0.1:"):
            self.stop()
            raise AssertionError(f"the page did not come up:\n{(self._daemon.directory / 'web.log').read_text()}")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit status."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return self.process.returncode

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    @property
    def key(self) -> str:
        return self.url.partition("#")[2]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, body: Any = None, **headers: str | None) -> "Reply":
        """One request as the page makes it; a header given as None is left out, and `_` in its name means `-`."""
        given: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.key}"}
        data = b"" if body is None else json.dumps(body).encode()
        if body is not None:
            given |= {"Content-Type": "application/json", "Content-Length": str(len(data)), "Origin": self.origin}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
        head = "\r\n".join([f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", *lines, "Connection: close"])
        return self.raw(head.encode() + b"\r\n\r\n" + data)

    def raw(self, data: bytes) -> "Reply":
        """Send bytes on a new connection, and read until the server closes it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_DEADLINE_S) as sock:
            sock.sendall(data)
            received = bytearray()
            while chunk := sock.recv(1 << 16):
                received += chunk
        return Reply(bytes(received))


class Reply:
    """An answer: `status`, `headers` with lower case names, `body`."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(status.split(" ")[1])
        pairs = [line.partition(":") for line in lines]
        self.headers = {name.lower(): value.strip() for name, _, value in pairs}

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def slug(self) -> str:
        return str(self.json["error"])


def wait_until(true: Any, deadline_s: float = ANSWER_DEADLINE_S) -> None:
    """Look again and again until something is so."""
    end = time.monotonic() + deadline_s
    while not true():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)
