"""A daemon of one's own on a temporary workspace: for the demo, and whatever else must not touch a real one."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import Self

from picoclawd import limits
from picoclawd.client.failures import Lost, NoDaemon
from picoclawd.client.wire import Connection

START_TIMEOUT_S = 20.0  # it takes half a second; a loaded machine may take ten times that
STOP_TIMEOUT_S = 15.0  # the daemon itself gives locked writes 10 s
_POLL_S = 0.02
_LOG_TAIL_CHARS = 2000
_PREFIX = "picoclawd-demo-"
_BELOW = len(f"/{_PREFIX}12345678/run/picoclawd/demo/operator/sock")
_NOT_INHERITED = ("PICOCLAW", "LISTEN_", "NOTIFY_SOCKET", "WATCHDOG_")  # settings and sockets of another daemon


class Scratch:
    """`with Scratch() as scratch:` runs a daemon; on leaving it is stopped and everything is removed, unless `keep`.

    `directory` holds it all; `workspace` is below it, and so is `outside`, a directory that no agent may reach.
    """

    def __init__(self, keep: bool = False) -> None:
        self._keep = keep
        self.directory = tempfile.mkdtemp(prefix=_PREFIX, dir=_base())
        self.workspace = os.path.join(self.directory, "workspace")
        self.outside = os.path.join(self.directory, "outside")
        self._log = os.path.join(self.directory, "log")
        self._process: subprocess.Popen[bytes] | None = None

    def socket(self, role: str) -> str:
        """The path of the agents' or the operator's socket."""
        return os.path.join(self.directory, "run", "picoclawd", "demo", role, "sock")

    def connect(self, role: str = "agent") -> Connection:
        """A new connection to this daemon."""
        return Connection.open(self.socket(role))

    def __enter__(self) -> Self:
        try:
            for name in (self.workspace, self.outside, *map(self._private, ("run", "state", "config", "cache"))):
                os.mkdir(name, 0o700)
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the daemon, by its own process only, and remove the directory unless it is to be kept."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(STOP_TIMEOUT_S)
        if not self._keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _private(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def _start(self) -> None:
        command = [
            sys.executable,
            "-P",
            "-m",
            "picoclawd",
            "serve",
            "--workspace",
            self.workspace,
            "--instance",
            "demo",
        ]
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment(), cwd=self.workspace
            )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise NoDaemon(f"the demo's daemon did not start:\n{self._log_tail()}")
            time.sleep(_POLL_S)

    def _answers(self) -> bool:
        try:
            for role in ("agent", "operator"):
                with self.connect(role) as connection:
                    connection.call("ping", timeout_s=START_TIMEOUT_S)
        except (OSError, Lost):
            return False
        return True

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
        places = {"XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"}
        own = {name: self._private(place) for name, place in {**places, "XDG_CACHE_HOME": "cache"}.items()}
        return {**kept, **own}

    def _log_tail(self) -> str:
        with open(self._log, encoding="utf-8", errors="replace") as log:
            return log.read()[-_LOG_TAIL_CHARS:].strip() or "it said nothing"


def _base() -> str | None:
    """Where temporary files go, or /tmp where a socket's path would get too long there."""
    too_long = len(os.fsencode(tempfile.gettempdir())) + _BELOW > limits.SOCKET_PATH_MAX_BYTES
    return "/tmp" if too_long else None
