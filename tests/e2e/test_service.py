"""The daemon as a service: what systemd hears of it, the sockets that systemd passes, and two of them side by side."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import needs
from tests.daemon.manager import Manager
from tests.e2e.daemon import Client, Daemon
from tests.e2e.test_serve import wait_for


@pytest.fixture
def tmp_path(short_path: Path) -> Path:
    """Sockets are made below it."""
    return short_path


def test_systemd_hears_of_start_reload_life_and_end(tmp_path: Path) -> None:
    with Manager(tmp_path / "notify") as manager:
        daemon = Daemon(tmp_path, env={"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "1500000"})
        daemon.write("a.txt", "a\n")
        with daemon, daemon.client() as client:
            manager.until(lambda message: message.get("READY") == "1")
            assert any("history" in message.get("STATUS", "") for message in manager.heard)
            manager.until(lambda message: message.get("STATUS", "").startswith("ready: 1 file"))
            manager.until(lambda message: message == {"WATCHDOG": "1"})
            assert daemon.process is not None
            for text, word in ((daemon.config_path.read_text(), "reloaded"), ("{", "refused")):
                daemon.config_path.write_text(text)
                daemon.process.send_signal(signal.SIGHUP)
                begun = manager.until(lambda message: message.get("RELOADING") == "1")
                assert int(begun["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
                ended = manager.until(lambda message: message.get("READY") == "1")
                assert word in ended["STATUS"]
            assert client.call("ping")
            assert daemon.stop() == 0
            assert manager.until(lambda message: message.get("STOPPING") == "1")["STATUS"].startswith("finishing")


def test_a_watchdog_of_another_process_is_not_fed(tmp_path: Path) -> None:
    with Manager(tmp_path / "notify") as manager:
        env = {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "30000", "WATCHDOG_PID": "1"}
        with Daemon(tmp_path, env=env) as daemon:
            manager.until(lambda message: message.get("STATUS", "").startswith("ready: "))
            daemon.stop()
        manager.until(lambda message: message.get("STOPPING") == "1")
        assert not [message for message in manager.heard if "WATCHDOG" in message]


def test_the_daemon_says_what_confines_it(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        words = client.call("workspace.status")["data"]["probes"]["sandbox"]
        wait_for("the log", lambda: f"sandbox: {words}" in daemon.log())
        assert words == "off" or words.startswith(("on", "partly: "))


class Activated(Daemon):
    """A daemon that systemd-socket-activate starts at the first connection, on two sockets of its own making."""

    def command(self) -> list[str]:
        passed = ("PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "PYTHONPATH")
        env = [f"--setenv={name}={self.env[name]}" for name in passed if name in self.env]
        sockets = [f"--listen={self.agent_socket}", f"--listen={self.operator_socket}"]
        return [needs("systemd-socket-activate"), *sockets, "--fdname=agent:operator", *env, *super().command()]

    def configure(self, keys: dict[str, object]) -> None:
        """Name no socket but by `keys` of the section `daemon`: where it listens is systemd's word alone."""
        config = {"agents": {"defaults": {"workspace": str(self.root)}}, "daemon": keys}
        self.config_path.write_text(json.dumps(config))


def activated(tmp_path: Path, keys: dict[str, object] | None = None) -> Activated:
    daemon = Activated(tmp_path, keys)
    for path in (daemon.agent_socket, daemon.operator_socket):
        path.parent.mkdir(mode=0o700)
    daemon.spawn()
    wait_for("both sockets", lambda: daemon.agent_socket.exists() and daemon.operator_socket.exists())
    return daemon


def test_systemd_activates_it_and_both_sockets_answer(tmp_path: Path) -> None:
    daemon = activated(tmp_path)
    try:
        with daemon.client(60.0) as client, daemon.operator(60.0) as operator:
            assert client.call("session.info")["role"] == "agent"
            assert operator.call("session.info")["role"] == "operator"
            assert "Traceback" not in daemon.log()
        (announced,) = daemon.runtime.rglob("info.json")
        sockets = json.loads(announced.read_text())["sockets"]
        assert sockets == {"agent": str(daemon.agent_socket), "operator": str(daemon.operator_socket)}
        assert not list(daemon.runtime.rglob("sock"))
    finally:
        assert daemon.stop() == 0
    assert daemon.agent_socket.exists()  # systemd's, which may go on listening, and start it again:
    assert announced.exists()


def test_an_operators_socket_that_is_turned_off_serves_nobody_though_systemd_listens(tmp_path: Path) -> None:
    daemon = activated(tmp_path, {"operator_socket": ""})
    try:
        with daemon.client(60.0) as client, Client(daemon.operator_socket, 0.5) as operator:
            assert client.call("session.info")["role"] == "agent"
            with pytest.raises((OSError, EOFError)):  # closed here; where systemd holds it, too, nothing comes
                operator.call("ping")
        assert "systemctl --user disable --now picoclawd-operator@" in daemon.log()
    finally:
        assert daemon.stop() == 0


def test_a97_a_restart_with_clients_connected_ends_in_time_and_leaves_no_stale_socket(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        clients = [daemon.client() for _ in range(8)]
        for client in clients:
            assert client.call("ping")
        began = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - began < 5
        assert not daemon.agent_socket.exists()
        daemon.start()
        with daemon.client() as again:
            assert again.call("ping")


@pytest.fixture
def person(tmp_path: Path) -> dict[str, str]:
    """The environment of a person with two configurations, `one` and `two`, and a workspace for each."""
    for name in ("run", "state", "config/picoclawd"):
        (tmp_path / name).mkdir(parents=True, mode=0o700)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        config = {"agents": {"defaults": {"workspace": str(tmp_path / name)}}}
        (tmp_path / f"config/picoclawd/{name}.json").write_text(json.dumps(config))
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PICOCLAW")}
    return {
        **clean,
        "HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }


def test_two_instances_side_by_side(tmp_path: Path, person: dict[str, str]) -> None:
    running = []
    try:
        for name in ("one", "two"):
            with open(tmp_path / f"{name}.log", "wb") as log:
                command = [sys.executable, "-P", "-m", "picoclawd", "serve", "--instance", name]
                running.append(subprocess.Popen(command, env=person, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        for name in ("one", "two"):
            path = tmp_path / f"run/picoclawd/{name}"
            wait_for(f"{name} is announced", (path / "info.json").exists)
            with Client(path / "agent/sock") as client, Client(path / "operator/sock") as operator:
                client.call("write_file", path="mine.txt", content=f"of {name}\n")
                assert operator.call("session.info")["role"] == "operator"
            asked = subprocess.run(
                [sys.executable, "-P", "-m", "picoclawd.client", "read", "mine.txt"],
                capture_output=True,
                text=True,
                env=person,
                cwd=tmp_path / name,
                timeout=60,
            )
            assert f"of {name}" in asked.stdout, asked.stderr
        running[0].terminate()
        assert running[0].wait(15) == 0
        assert not (tmp_path / "run/picoclawd/one/agent/sock").exists()
        with Client(tmp_path / "run/picoclawd/two/agent/sock") as client:
            assert client.call("ping")
    finally:
        for process in running:
            process.terminate()
            process.wait(15)


def test_a_role_that_systemd_does_not_pass_is_bound(tmp_path: Path, person: dict[str, str]) -> None:
    listening = tmp_path / "agent.sock"
    command = [needs("systemd-socket-activate"), f"--listen={listening}", "--fdname=agent"]
    names = ("PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    env = [f"--setenv={name}={person[name]}" for name in names]
    daemon = [sys.executable, "-P", "-m", "picoclawd", "serve", "--instance", "one"]
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen([*command, *env, *daemon], env=person, stderr=log, stdin=subprocess.DEVNULL)
    try:
        wait_for("the socket", listening.exists)
        with Client(listening, 60.0) as client:
            assert client.call("session.info")["role"] == "agent"
        with Client(tmp_path / "run/picoclawd/one/operator/sock") as operator:
            assert operator.call("session.info")["role"] == "operator"
    finally:
        process.terminate()
        assert process.wait(15) == 0


def test_children_do_not_speak_for_the_daemon(tmp_path: Path) -> None:
    with Manager(tmp_path / "notify") as manager:
        with Daemon(tmp_path, env={"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "60000000"}) as daemon:
            manager.until(lambda message: message.get("STATUS", "").startswith("ready: "))
            assert daemon.process is not None
            tasks = Path(f"/proc/{daemon.process.pid}/task").glob("*/children")
            listed = [pid for task in tasks for pid in task.read_text().split()]
            assert listed  # the watcher
            for pid in listed:
                names = {word.split(b"=")[0] for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}
                assert not names & {b"NOTIFY_SOCKET", b"WATCHDOG_USEC", b"WATCHDOG_PID"}


def test_a_socket_path_in_use_tells_systemd_nothing_of_ready(tmp_path: Path) -> None:
    with Manager(tmp_path / "notify") as manager, socket.socket(socket.AF_UNIX) as holder:
        daemon = Daemon(tmp_path, env={"NOTIFY_SOCKET": str(manager.path)})
        daemon.agent_socket.parent.mkdir(mode=0o700)
        holder.bind(str(daemon.agent_socket))
        os.chmod(daemon.agent_socket, 0o600)
        holder.listen()
        process = daemon.spawn()
        assert process.wait(30) == 1
        assert "another program listens" in daemon.log()
        assert not [message for message in manager.now() if "READY" in message]
