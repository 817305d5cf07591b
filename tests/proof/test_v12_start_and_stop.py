"""V12: however daemons are started and stopped, a workspace has one owner, and no accepted write is lost.

Each round finds what the one before has left: nothing, or the sockets, locks and announcement of one that was killed.
Several start at once, by different names. Clients write to the one that won while it is told to reload good and bad
configurations, and while it is stopped or killed; then the disk is compared with what they were told.
"""

import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import START_DEADLINE_S, STOP_DEADLINE_S, Client, Daemon
from tests.e2e.test_serve import wait_for
from tests.proof.figures import FIXED_SEED, SECONDS, Span, long_form, tell

WRITERS = 4
LOAD_S = 0.4
NORMAL: dict[str, Any] = {"tools.read_file.mode": "bytes"}
GOOD: dict[str, Any] = {"tools.read_file.mode": "lines"}
BAD: dict[str, Callable[[Path], None]] = {
    "no JSON": lambda path: _put(path, '{"tools": '),
    "an unknown key": lambda path: _put(path, '{"tools": {"read_file": {"max_line": 1}}}'),
    "a bad pattern": lambda path: _put(path, '{"tools": {"allow_read_paths": ["("]}}'),
    "a directory": lambda path: _put(path, None),
    "nothing": lambda path: path.unlink(),
}


def _put(path: Path, text: str | None) -> None:
    """Put a text there, or a directory."""
    if text is not None:
        path.write_text(text)
        return
    path.unlink()
    path.mkdir()


@dataclass
class Writer:
    """A client that appends numbered lines to a file of its own, and what it was told of each."""

    path: str
    accepted: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    count: int = 0

    def run(self, socket_path: Path, over: threading.Event) -> None:
        """Append until it is over or the daemon is gone."""
        try:
            with Client(socket_path, START_DEADLINE_S) as client:
                while not over.is_set():
                    self.count += 1
                    line = f"{self.path} {self.count}\n"
                    self.unknown.add(line)
                    answer = client.answer(client.start("append_file", {"path": self.path, "content": line}))
                    self.unknown.discard(line)
                    (self.accepted if "result" in answer else self.refused).add(line)
        except (OSError, EOFError):
            pass

    def check(self, root: Path) -> None:
        """Raise AssertionError where the disk does not hold what it was told."""
        place = root / self.path
        lines = Counter(place.read_text().splitlines(keepends=True) if place.exists() else [])
        assert set(lines.values()) <= {1}, lines.most_common(3)
        assert self.accepted <= set(lines), f"accepted and lost: {sorted(self.accepted - set(lines))[:3]}"
        assert not self.refused & set(lines), f"refused and done: {sorted(self.refused & set(lines))[:3]}"
        assert set(lines) <= self.accepted | self.unknown


class Rounds:
    """Starts and stops daemons of one workspace, over and over."""

    def __init__(self, tmp_path: Path, seed: int) -> None:
        self._dice = random.Random(seed)
        self.daemon = Daemon(tmp_path, NORMAL)
        self.writers = [Writer(f"w{number}.txt") for number in range(WRITERS)]
        self.seen: Counter[str] = Counter()

    def one(self) -> None:
        """One round."""
        starters = self._start(self._dice.choice((2, 3)))
        owner = self._owner(starters)
        try:
            over = threading.Event()
            working = [threading.Thread(target=each.run, args=(self._socket_of(owner), over)) for each in self.writers]
            for thread in working:
                thread.start()
            for _ in range(self._dice.choice((0, 1, 2))):
                self._reload(owner)
            time.sleep(self._dice.random() * LOAD_S)
            self._stop(owner)
            over.set()
            for thread in working:
                thread.join(START_DEADLINE_S)
                assert not thread.is_alive()
        finally:
            owner.process.kill()
            owner.process.wait()
        for writer in self.writers:
            writer.check(self.daemon.root)

    def _start(self, count: int) -> list["Starter"]:
        """Start so many at once: as they are configured, by another name, or at another socket."""
        extras: list[tuple[str, ...]] = [
            (),
            ("--instance", "other"),
            ("--socket", str(self.daemon.runtime / "b/s")),
        ]
        return [Starter(self.daemon, self._dice.choice(extras), number) for number in range(count)]

    def _owner(self, starters: list["Starter"]) -> "Starter":
        """The one that serves; the others have ended, and said why."""
        wait_for("all but one have ended", lambda: sum(each.process.poll() is None for each in starters) <= 1)
        owners = [each for each in starters if each.process.poll() is None]
        assert len(owners) == 1, "\n".join(each.said() for each in starters)
        (owner,) = owners
        wait_for("it serves", lambda: "serving" in owner.said())
        for each in starters:
            assert "Traceback" not in each.said(), each.said()
            if each is not owner:
                assert each.process.returncode == 1
                assert "already running" in each.said(), each.said()
        for path in (self._socket_of(owner), self.daemon.operator_socket):
            assert _pid_at(path) == owner.process.pid
        self.seen[f"{len(starters)} starters"] += 1
        return owner

    def _socket_of(self, starter: "Starter") -> Path:
        return Path(starter.extra[1]) if starter.extra[:1] == ("--socket",) else self.daemon.agent_socket

    def _reload(self, owner: "Starter") -> None:
        """Tell it to read its configuration again, a good or a bad one, and see what it takes."""
        config = self.daemon.config_path
        kind = self._dice.choice(("good", *BAD))
        before = owner.said().count("reload")
        kept = config.read_text()
        try:
            if kind == "good":
                self.daemon.configure(GOOD)
            else:
                BAD[kind](config)
            owner.process.send_signal(signal.SIGHUP)
            wait_for("the reload", lambda: owner.said().count("reload") > before)
        finally:
            if config.is_dir():
                config.rmdir()
            config.write_text(kept)
        said = owner.said()
        assert "Traceback" not in said
        assert ("INFO reloaded" if kind == "good" else "the running configuration stays") in said, said
        with Client(self._socket_of(owner), START_DEADLINE_S) as client:
            assert client.call("ping")
        self.seen[f"reload of {kind}"] += 1

    def _stop(self, owner: "Starter") -> None:
        how = self._dice.choice((signal.SIGTERM, signal.SIGINT, signal.SIGKILL))
        owner.process.send_signal(how)
        status = owner.process.wait(STOP_DEADLINE_S)
        self.seen[how.name] += 1
        if how is signal.SIGKILL:
            return
        assert status == 0, owner.said()
        assert "Traceback" not in owner.said()
        assert not self._socket_of(owner).exists() and not self.daemon.operator_socket.exists()
        # What a killed one of another name has announced stays: clients try what they find, and go on.
        announced = [json.loads(path.read_text())["pid"] for path in self.daemon.runtime.rglob("info.json")]
        assert owner.process.pid not in announced


class Starter:
    """One daemon that was started, and what it says."""

    def __init__(self, daemon: Daemon, extra: tuple[str, ...], number: int) -> None:
        self.extra = extra
        self._log = daemon.directory / f"starter{number}.log"
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                [*daemon.command(), *extra], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=daemon.env
            )

    def said(self) -> str:
        return self._log.read_text(errors="replace")


def _pid_at(path: Path) -> int:
    with Client(path, START_DEADLINE_S) as client:
        raw = client.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid: int = struct.unpack("3i", raw)[0]
        return pid


def test_three_rounds_have_one_owner_each_and_lose_nothing(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, FIXED_SEED)
    for _ in range(3):
        rounds.one()
    assert sum(len(writer.accepted) for writer in rounds.writers) > 0


@pytest.mark.slow
@long_form
def test_rounds_have_one_owner_each_and_lose_nothing_for_long(tmp_path: Path) -> None:
    rounds, span, count = Rounds(tmp_path, FIXED_SEED), Span(SECONDS), 0
    while not span.over:
        rounds.one()
        count += 1
    accepted = sum(len(writer.accepted) for writer in rounds.writers)
    unknown = sum(len(writer.unknown) for writer in rounds.writers)
    figure = f"{count} rounds, one owner each; {accepted} writes accepted, none lost, {unknown} whose answer was lost"
    tell("V12", f"{figure}; {dict(rounds.seen)}", FIXED_SEED)


# What a daemon finds at its start


def in_namespace(daemon: Daemon, read_only: Path) -> None:
    """Have the daemon find this directory on a file system that is mounted read-only."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can mount")
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    plain = daemon.command()
    probe = subprocess.run(["unshare", "-m", "sh", "-c", script, str(read_only), "true"], capture_output=True)
    if probe.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {probe.stderr.decode()}")
    daemon.command = lambda: ["unshare", "-m", "sh", "-c", script, str(read_only), *plain]  # type: ignore[method-assign]


def test_a_state_that_is_read_only_is_told_in_words(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    (tmp_path / "state").mkdir()
    in_namespace(daemon, tmp_path / "state")
    process = daemon.spawn()
    assert process.wait(START_DEADLINE_S) == 1
    assert "Traceback" not in daemon.log()
    assert "read-only" in daemon.log().lower() and str(tmp_path / "state") in daemon.log(), daemon.log()
    assert not daemon.agent_socket.exists()


def test_a_history_that_is_read_only_leaves_the_rest_at_work(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        client.call("write_file", path="a.txt", content="one\n")
    (history,) = (tmp_path / "state").rglob("history.db")
    in_namespace(daemon, history.parent)
    with daemon, daemon.client() as client:
        done = client.call("write_file", path="a.txt", content="two\n", overwrite=True)["data"]
        assert done["restorable"] is False and "can its directory be written?" in done["reason"], done
        assert client.error("remove_file", path="a.txt").slug == "history_unavailable"
        assert "Traceback" not in daemon.log()
    assert (daemon.root / "a.txt").read_text() == "two\n"


def test_what_another_daemon_left_at_its_places_is_taken_over(tmp_path: Path) -> None:
    """A stale socket, a lock file that names a dead process, an announcement of it: none is in the way."""
    daemon = Daemon(tmp_path)
    for _ in range(2):
        with daemon:
            pass
    daemon.start()
    wait_for("the announcement", lambda: list(daemon.runtime.rglob("info.json")))
    daemon.stop(signal.SIGKILL)
    (announced,) = daemon.runtime.rglob("info.json")
    stale = json.loads(announced.read_text())["pid"]
    locks = [*tmp_path.rglob("*lock"), *(tmp_path / "state").rglob("locks/*")]
    assert locks and daemon.agent_socket.is_socket()
    for lock in filter(Path.is_file, locks):
        lock.write_text(f"{stale}\n")
    with daemon, daemon.client() as client:
        assert client.call("ping")
        wait_for("its own announcement", lambda: json.loads(announced.read_text())["pid"] != stale)
