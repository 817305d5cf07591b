"""The other end of NOTIFY_SOCKET, for tests: what a service manager hears."""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

DEADLINE_S = 30.0


class Manager:
    """`with Manager(path) as manager:` listens; messages come as dicts of their assignments, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heard: list[dict[str, str]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))

    def now(self) -> list[dict[str, str]]:
        """What has come since the last look, without waiting."""
        self._socket.setblocking(False)
        come: list[dict[str, str]] = []
        while True:
            try:
                data = self._socket.recv(65536)
            except BlockingIOError:
                break
            come.append(_assignments(data))
        self.heard += come
        return come

    def until(self, holds: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """Wait for a message, and return it."""
        end = time.monotonic() + DEADLINE_S
        while True:
            self._socket.settimeout(max(0.01, end - time.monotonic()))
            message = _assignments(self._socket.recv(65536))
            self.heard.append(message)
            if holds(message):
                return message

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()


def _assignments(data: bytes) -> dict[str, str]:
    return dict(line.split("=", 1) for line in data.decode().split("\n"))
