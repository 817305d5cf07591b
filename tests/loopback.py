"""A service on this machine that speaks as much of OpenAI's protocols as our requests do, well or badly."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HELD_S = 30.0  # a handler that waits for somebody waits no longer


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Loopback:
    """`answer` makes status and body of the answer; while `held` is cleared no answer is sent. `gone` is set once a
    client hung up while it waited."""

    base_url: str = ""
    requests: list[Request] = field(default_factory=list)
    answer: Callable[[Request], tuple[int, bytes]] = lambda request: (200, b"{}")
    headers: dict[str, str] = field(default_factory=dict)
    held: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)

    def says(self, value: Any, status: int = 200) -> None:
        """Answer everything with this JSON, or these bytes."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.answer = lambda request: (status, body)

    def chats(self, content: str) -> None:
        """Answer everything with a message of a chat."""
        self.says({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]})


@contextmanager
def loopback() -> Iterator[Loopback]:
    """Serve for the length of a block, on a port of the kernel's choice."""
    state = Loopback()
    state.held.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = Request(self.path, {name.lower(): text for name, text in self.headers.items()}, body)
            state.requests.append(request)
            state.arrived.set()
            if not state.held.is_set() and self._hung_up():
                return
            status, answer = state.answer(request)
            self.send_response(status)
            for name, text in state.headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def _hung_up(self) -> bool:
            """Wait until the client goes, or the answer is wanted."""
            self.connection.settimeout(0.02)
            for _ in range(int(HELD_S / 0.02)):
                if state.held.is_set():
                    return False
                try:
                    if self.connection.recv(1) == b"":
                        state.gone.set()
                        return True
                except TimeoutError:
                    continue
                except OSError:
                    state.gone.set()
                    return True
            return True

        def log_message(self, *_: Any) -> None:
            return None

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            return None  # clients of these tests hang up as they please

    server = Server(("127.0.0.1", 0), Handler)
    state.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.held.set()
        server.shutdown()
        server.server_close()
        thread.join(HELD_S)
