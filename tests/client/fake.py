"""A daemon that does nothing but answer: a thread on a Unix socket, with a function for each method."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

Handler = Callable[[Any], Any]


class Refusal(Exception):
    """Raised by a handler: answered as this error object."""

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class Vanish(Exception):
    """Raised by a handler: the daemon closes the connection instead of answering."""


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Absolute, or relative to the workspace."},
        "offset": {"type": "integer", "default": 0},
        "whole": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
        "rows": {"type": "array", "items": {"type": "integer"}},
        "mode": {"$ref": "#/$defs/Mode", "default": "bytes"},
    },
    "required": ["path"],
    "$defs": {"Mode": {"enum": ["bytes", "lines"]}},
}

TOOLS: list[dict[str, Any]] = [
    {
        "name": "read_file",
        "title": "Read a file",
        "description": "Read a file. Then go on.\n\nMore about it.",
        "params": SCHEMA,
        "data": {"type": "object"},
        "hints": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
    },
    {
        "name": "remove_file",
        "title": "Remove a file",
        "description": "Remove one file.",
        "params": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "data": {"type": "object"},
        "hints": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False},
    },
]


class FakeDaemon:
    """`with FakeDaemon(path, handlers) as daemon:`; `daemon.calls` is what it was asked, as (method, params)."""

    def __init__(self, path: str, handlers: dict[str, Handler] | None = None) -> None:
        self.path = path
        self.calls: list[tuple[str, Any]] = []
        self.cancelled = threading.Event()
        self.handlers: dict[str, Handler] = {
            "ping": lambda _: {},
            "tools.list": lambda _: {"tools": TOOLS},
            "session.open": lambda _: {"session_id": "s1"},
            "$/cancelRequest": lambda _: self.cancelled.set(),
            **(handlers or {}),
        }
        self._listener = socket.socket(socket.AF_UNIX)
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener.bind(self.path)
        self._listener.listen(16)
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Close everything, as a daemon that dies does."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join(10)
        for sock in self._open:
            sock.close()

    def asked(self, method: str) -> list[Any]:
        """The params of every call of `method` so far."""
        return [params for name, params in self.calls if name == method]

    def hang_up(self) -> None:
        """Close every connection."""
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification to everybody who is connected."""
        line = json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n"
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.sendall(line)

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self._open.append(sock)
                self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError), sock.makefile("rb") as lines:
            for line in lines:
                request = json.loads(line)
                self.calls.append((request["method"], request.get("params")))
                self._start(self._answer, sock, request)

    def _answer(self, sock: socket.socket, request: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request.get("id")}
        try:
            handler = self.handlers.get(request["method"])
            if handler is None:
                raise Refusal(-32601, f"no method {request['method']}", error="method_not_found")
            answer["result"] = handler(request.get("params"))
        except Refusal as refusal:
            answer["error"] = refusal.error
        except Vanish:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            return
        if "id" in request:
            with self._lock, contextlib.suppress(OSError):
                sock.sendall(json.dumps(answer).encode() + b"\n")
