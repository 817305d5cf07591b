"""Kill a process as it enters a chosen system call, by strace.

The process is a child of a program that serves lines (`serve`): it stops itself, so that strace can attach, then does
one thing. Its one thread lets system calls be counted.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import needs


def serve(run_child: Callable[[str, str, str], None]) -> None:
    """Fork a child for each line on standard input; it makes the call, stops itself before that, and does not return.

    A line is JSON: {"folder": path, "action": what to do, "new": its text}. The child's pid is printed as soon as it
    stands still; how it ended (os.waitpid's status) when it has ended.
    """
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            run_child(order["folder"], order["action"], order["new"])
        os.waitpid(pid, os.WUNTRACED)
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)


@contextmanager
def crashes_of(module: str) -> Iterator["Crashes"]:
    """Run a module that serves. Skips, or fails where nothing may be skipped, without strace."""
    needs("strace")
    root = Path(__file__).parents[1]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-m", module], stdin=pipe, stdout=pipe, text=True, cwd=root) as process:
        yield Crashes(process)


class Crashes:
    """Has things done, each in a process of its own, and kills these as they enter a system call."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def calls(self, folder: Path, action: str, new: str, log: Path) -> list[str]:
        """Have it done undisturbed; list the rules that kill it at each of its system calls, in their order."""
        assert self._run(folder, action, new, ["-o", str(log)]) == 0
        names = re.findall(r"^(\w+)\(", log.read_text(), re.MULTILINE)
        return [f"{name}:signal=KILL:when={names[: place + 1].count(name)}" for place, name in enumerate(names)]

    def kill(self, folder: Path, action: str, new: str, rule: str) -> bool:
        """Have it done; True when it was killed, False when it had ended before."""
        status = self._run(folder, action, new, ["-o", os.devnull, "-e", f"inject={rule}"])
        return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

    def _run(self, folder: Path, action: str, new: str, options: list[str]) -> int:
        assert self._process.stdin is not None
        print(json.dumps({"folder": str(folder), "action": action, "new": new}), file=self._process.stdin, flush=True)
        pid = self._line()
        with subprocess.Popen(["strace", *options, "-p", str(pid)], stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr is not None
            attached = "attached" in tracer.stderr.readline()
            os.kill(pid, signal.SIGCONT)
            status = self._line()
        if not attached:
            pytest.skip("strace cannot attach here")
        return status

    def _line(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())
