"""Kill a process as it enters a chosen system call, by strace."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest


class Crashes:
    """Runs commits, each in a process of its own, and kills them as they enter a system call."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def calls(self, folder: Path, action: str, new: str, log: Path) -> list[str]:
        """Make one commit undisturbed; list the rules that kill it at each of its system calls, in their order."""
        assert self._run(folder, action, new, ["-o", str(log)]) == 0
        names = re.findall(r"^(\w+)\(", log.read_text(), re.MULTILINE)
        return [f"{name}:signal=KILL:when={names[: place + 1].count(name)}" for place, name in enumerate(names)]

    def kill(self, folder: Path, action: str, new: str, rule: str) -> bool:
        """Make one commit; True when it was killed, False when it had ended before."""
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
