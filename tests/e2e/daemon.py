"""A real daemon in a process of its own, on a scratch workspace, spoken to over its sockets."""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

START_DEADLINE_S = 30.0
STOP_DEADLINE_S = 15.0


class RpcError(Exception):
    """An error answer."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(json.dumps(error)[:500])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: dict[str, Any] = error.get("data") or {}

    @property
    def slug(self) -> str | None:
        return self.data.get("error")


class Client:
    """One connection: raw lines, or calls."""

    def __init__(self, path: Path, timeout_s: float = 20.0) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(timeout_s)
        try:
            self.sock.connect(str(path))
        except BaseException:
            self.sock.close()
            raise
        self.notes: list[dict[str, Any]] = []
        self._buffer = b""
        self._ids = itertools.count(1)

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def line(self) -> Any:
        while b"\n" not in self._buffer:
            chunk = self.sock.recv(1 << 16)
            if not chunk:
                raise EOFError("closed by the daemon")
            self._buffer += chunk
        raw, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(raw)

    def start(self, method: str, params: Any = None) -> int:
        number = next(self._ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {} if params is None else params}
        self.send(json.dumps(message).encode() + b"\n")
        return number

    def answer(self, number: int) -> dict[str, Any]:
        while True:
            message = self.line()
            if message.get("id") == number:
                assert isinstance(message, dict)
                return message
            self.notes.append(message)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        message = self.answer(self.start(method, params))
        if "error" in message:
            raise RpcError(message["error"])
        result = message["result"]
        assert isinstance(result, dict)
        return result

    def error(self, method: str, **params: Any) -> RpcError:
        """The error of a call that must fail."""
        try:
            result = self.call(method, **params)
        except RpcError as error:
            return error
        raise AssertionError(f"{method} succeeded: {str(result)[:200]}")

    def close(self) -> None:
        self.sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Daemon:
    """`with Daemon(tmp_path) as daemon:` serves `daemon.root` until the end of the block."""

    def __init__(
        self,
        directory: Path,
        config: dict[str, Any] | None = None,
        env: dict[str, str] | None = None,
        root: Path | None = None,
        arguments: tuple[str, ...] = (),
    ) -> None:
        self.directory = directory
        self.root = root or directory / "ws"
        self.outside = directory / "out"
        self.runtime = directory / "run"
        for path, mode in (
            (self.root, 0o755),
            (self.outside, 0o755),
            (self.runtime, 0o700),
            (directory / "home", 0o755),
        ):
            path.mkdir(exist_ok=True, mode=mode)
        self.config_path = directory / "config.json"
        self.agent_socket = self.runtime / "a/s"
        self.operator_socket = self.runtime / "o/s"
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("PICOCLAW", "LISTEN_"))},
            "XDG_RUNTIME_DIR": str(self.runtime),
            "XDG_STATE_HOME": str(directory / "state"),
            "HOME": str(directory / "home"),
            **(env or {}),
        }
        self.arguments = arguments
        self.configure(config or {})
        self.process: subprocess.Popen[bytes] | None = None
        self._clients: list[Client] = []

    def configure(self, keys: dict[str, Any]) -> None:
        """Write the configuration: `{"tools.read_file.mode": "lines"}` sets one key."""
        config: dict[str, Any] = {
            "agents": {"defaults": {"workspace": str(self.root)}},
            "tools": {},
            "daemon": {"socket": str(self.agent_socket), "operator_socket": str(self.operator_socket)},
        }
        for key, value in keys.items():
            node = config
            *parents, leaf = key.split(".")
            for parent in parents:
                node = node.setdefault(parent, {})
            node[leaf] = value
        self.config_path.write_text(json.dumps(config))

    def command(self) -> list[str]:
        return [sys.executable, "-P", "-m", "picoclawd", "serve", "--config", str(self.config_path), *self.arguments]

    def start(self) -> Self:
        self.spawn()
        end = time.monotonic() + START_DEADLINE_S
        while time.monotonic() < end:
            assert self.process is not None
            if self.process.poll() is not None:
                break
            try:
                for path in (self.agent_socket, self.operator_socket):
                    Client(path).close()
            except OSError:
                time.sleep(0.01)
                continue
            return self
        self.stop()
        raise AssertionError(f"the daemon did not come up:\n{self.log()}")

    def spawn(self, **keys: Any) -> subprocess.Popen[bytes]:
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env, cwd=self.root, **keys
            )
        return self.process

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
        return self.process.returncode

    def log(self) -> str:
        path = self.directory / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def client(self, timeout_s: float = 20.0) -> Client:
        return self._kept(Client(self.agent_socket, timeout_s))

    def operator(self, timeout_s: float = 20.0) -> Client:
        return self._kept(Client(self.operator_socket, timeout_s))

    def _kept(self, client: Client) -> Client:
        """Closed with the daemon at the latest."""
        self._clients.append(client)
        return client

    def control(self, *arguments: str, **keys: Any) -> subprocess.CompletedProcess[str]:
        """Run picoclawctl against this daemon."""
        env = {
            **self.env,
            "PICOCLAWD_SOCKET": str(self.agent_socket),
            "PICOCLAWD_OPERATOR_SOCKET": str(self.operator_socket),
            "PICOCLAWD_CONFIG": str(self.config_path),
        }
        command = [sys.executable, "-P", "-m", "picoclawd.client", *arguments]  # -P: the workspace may hold a json.py
        return subprocess.run(command, capture_output=True, text=True, env=env, cwd=self.root, timeout=60, **keys)

    def write(self, name: str, data: str | bytes, mode: int | None = None) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        if mode is not None:
            path.chmod(mode)
        return path

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients:
            client.close()
        self.stop()
