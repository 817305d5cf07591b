"""A real editor without a screen, which runs what a test sends it: one process, one socket, one JSON line each way."""

import json
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from tests.e2e.daemon import Client

HERE = Path(__file__).parent
CONTRIB = HERE.parents[1] / "contrib"
DEADLINE_S = 20.0

T = TypeVar("T")

STRANGE = [
    "plain",
    "a\\b",
    "a\\b\n",
    "é ü 漢 🎉",
    "\x00\x07\x1b[0m\x7f",
    "\x85\x9b",
    "\u202e\u2066\u200f",
    "\u200b\u00ad\ufeff",
    "\U000e0041",
    "\ufff9",
    "\u3164",
]


def wait_for(look: Callable[[], T], what: str, deadline_s: float = DEADLINE_S) -> T:
    """The first answer of `look` that is true."""
    end = time.monotonic() + deadline_s
    while not (found := look()):
        assert time.monotonic() < end, f"in {deadline_s} s not: {what}; the last look gave {found!r}"
        time.sleep(0.01)
    return found


def is_refused(agent: Client, name: str) -> bool:
    """Whether an agent's edit is kept away from a file, asked without making one."""
    params = {"path": name, "content": "never\n", "overwrite": True, "_meta": {"dry_run": True}}
    message = agent.answer(agent.start("write_file", params))
    return "error" in message and message["error"]["data"]["error"] == "open_in_editor"


class Driven:
    """`with Driven(command, env, directory) as driven:` runs the program until the end of the block.

    The program connects to $DRIVER_SOCKET and answers each line `{"code": ...}` with `{"ok": ..., "result": ...}`.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], directory: Path, cwd: Path) -> None:
        self.command = command
        self.env = {**env, "DRIVER_SOCKET": str(directory / "drive")}
        self.directory = directory
        self.cwd = cwd

    def __enter__(self) -> Self:
        with socket.socket(socket.AF_UNIX) as listener, open(self.directory / "output", "wb") as output:
            listener.bind(self.env["DRIVER_SOCKET"])
            listener.listen(1)
            listener.settimeout(DEADLINE_S)
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.env, cwd=self.cwd
            )
            try:
                self._sock, _ = listener.accept()
            except TimeoutError:
                self._end()
                raise AssertionError(f"the editor did not come up:\n{self.output()}") from None
        self._sock.settimeout(DEADLINE_S)
        self._lines = self._sock.makefile("rb")
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._sock.close()
        self._end()

    def run(self, code: str) -> Any:
        """The value of a piece of the editor's own language."""
        self._sock.sendall(json.dumps({"code": code}).encode() + b"\n")
        line = self._lines.readline()
        assert line, f"the editor is gone:\n{self.output()}"
        answer = json.loads(line)
        assert answer["ok"], answer["result"]
        return answer.get("result")

    def output(self) -> str:
        """What the process printed."""
        return (self.directory / "output").read_text(errors="replace")

    def _end(self) -> None:
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Editor(ABC):
    """What the tests do with an editor, whichever it is. Commands answer once the editor shows their result."""

    def __init__(self, driven: Driven) -> None:
        self.driven = driven

    @abstractmethod
    def open(self, path: bytes) -> None:
        """Go to a file."""

    @abstractmethod
    def text(self, path: bytes) -> str:
        """The text of the buffer of a file."""

    @abstractmethod
    def type(self, text: str) -> None:
        """Put text at the beginning of the current buffer."""

    @abstractmethod
    def save(self) -> None:
        """Write the current buffer."""

    @abstractmethod
    def undo(self) -> None:
        """Take the last change of the current buffer back, after which it is as saved."""

    @abstractmethod
    def drop(self) -> None:
        """Close the current buffer, and its unsaved text with it."""

    @abstractmethod
    def log(self) -> str:
        """Every message so far, a line each."""

    @abstractmethod
    def command(self, name: str, *words: str) -> None:
        """Give a command: who, history, diff, restore, approvals, approve, deny, search, status."""

    @abstractmethod
    def answers(self, yes: bool) -> None:
        """What the person answers from now on when the editor asks."""

    @abstractmethod
    def view(self, title: str) -> str:
        """The text of a view, "" where it is not open."""

    @abstractmethod
    def results(self) -> list[tuple[str, int]]:
        """The places that the last search found."""

    @abstractmethod
    def go_to(self, title: str, text: str) -> None:
        """Put the cursor of a view that is shown on the line with a text."""

    @abstractmethod
    def deny_here(self, title: str) -> None:
        """Press the key that denies the call at the cursor."""

    @abstractmethod
    def found(self) -> str:
        """The window of the last search, as it is read."""

    @abstractmethod
    def shown(self, text: str) -> str:
        """How the editor shows a name."""

    def said(self, text: str) -> str:
        """The message that holds a text; waits for it."""
        return wait_for(
            lambda: next((line for line in self.log().splitlines() if text in line), ""), f"a message with {text!r}"
        )

    def shows(self, title: str, text: str) -> str:
        """A view that holds a text; waits for it."""
        return wait_for(lambda: shown if text in (shown := self.view(title)) else "", f"{title} with {text!r}")

    def connected(self) -> None:
        """Wait for the connection."""

        def look() -> bool:
            self.command("status")
            return ": connected" in self.log().splitlines()[-1]

        wait_for(look, "connected")
