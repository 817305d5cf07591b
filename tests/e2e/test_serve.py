"""Start and stop: one daemon a workspace, sockets that only their owner reaches, nothing left behind."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.daemon import START_DEADLINE_S, Client, Daemon


def wait_for(what: str, true: Callable[[], object], deadline_s: float = START_DEADLINE_S) -> None:
    end = time.monotonic() + deadline_s
    while not true():
        assert time.monotonic() < end, f"not in {deadline_s} s: {what}"
        time.sleep(0.01)


def test_a_stopped_daemon_leaves_no_socket_and_no_announcement(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        wait_for("the announcement", lambda: list(daemon.runtime.rglob("info.json")))
        infos = list(daemon.runtime.rglob("info.json"))
        info = json.loads(infos[0].read_text())
        assert info["workspace"] == str(daemon.root)
        assert info["sockets"] == {"agent": str(daemon.agent_socket), "operator": str(daemon.operator_socket)}
        assert daemon.process is not None
        assert info["pid"] == daemon.process.pid
        started = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - started < 5
    assert not daemon.agent_socket.exists()
    assert not daemon.operator_socket.exists()
    assert not infos[0].exists()


def test_it_says_where_it_listens_and_what_to_try(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        wait_for("the log", lambda: "picoclawctl" in daemon.log())
        assert str(daemon.agent_socket) in daemon.log()
        assert str(daemon.operator_socket) in daemon.log()


def test_a96_sockets_are_0600_in_0700_directories_whatever_the_umask(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.command = lambda: [  # type: ignore[method-assign]
        "sh",
        "-c",
        'umask 000; exec "$@"',
        "sh",
        *Daemon.command(daemon),
    ]
    with daemon:
        for path in (daemon.agent_socket, daemon.operator_socket):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a96_a_directory_that_others_enter_is_refused(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.agent_socket.parent.mkdir(mode=0o777)
    daemon.agent_socket.parent.chmod(0o777)
    daemon.spawn()
    assert daemon.process is not None
    assert daemon.process.wait(START_DEADLINE_S) == 1
    assert "chmod 700" in daemon.log()


def test_a94_after_a_kill_it_binds_again_at_once(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path).start()
    daemon.stop(signal.SIGKILL)
    assert daemon.agent_socket.exists()
    with daemon, daemon.client() as client:
        assert client.call("ping")


@pytest.mark.parametrize("same", ["workspace", "socket"])
def test_a_second_daemon_is_refused(tmp_path: Path, same: str) -> None:
    with Daemon(tmp_path) as daemon:
        other_directory = tmp_path / "other"
        other_directory.mkdir()
        other = Daemon(other_directory, root=daemon.root if same == "workspace" else None)
        other.env["XDG_STATE_HOME"] = daemon.env["XDG_STATE_HOME"]
        if same == "socket":
            other.arguments = ("--socket", str(daemon.agent_socket))
        other.spawn()
        assert other.process is not None
        assert other.process.wait(START_DEADLINE_S) == 1
        assert "already running" in other.log()
        with daemon.client() as client:
            assert client.call("ping")


def test_a95_a_socket_path_that_is_too_long_names_the_limit(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, arguments=("--socket", str(tmp_path / ("x" * 120))))
    daemon.spawn()
    assert daemon.process is not None
    assert daemon.process.wait(START_DEADLINE_S) in (1, 2)
    assert "107" in daemon.log()
    assert "Traceback" not in daemon.log()


@pytest.mark.parametrize("what", ["file", "link"])
def test_what_is_no_socket_is_left_alone(tmp_path: Path, what: str) -> None:
    daemon = Daemon(tmp_path)
    daemon.agent_socket.parent.mkdir(mode=0o700)
    if what == "file":
        daemon.agent_socket.write_text("mine")
    else:
        daemon.agent_socket.symlink_to(tmp_path / "elsewhere")
    daemon.spawn()
    assert daemon.process is not None
    assert daemon.process.wait(START_DEADLINE_S) == 1
    assert os.path.lexists(daemon.agent_socket)
    assert "no socket" in daemon.log()


def test_a_state_directory_inside_the_workspace_is_refused(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, config={"daemon.state_dir": str(tmp_path / "ws/state")})
    daemon.spawn()
    assert daemon.process is not None
    assert daemon.process.wait(START_DEADLINE_S) in (1, 2)
    assert not (tmp_path / "ws/state").exists()


def test_inherited_sockets_are_served_and_never_unlinked(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    directory = tmp_path / "run/activated"
    directory.mkdir(mode=0o700)
    path = directory / "sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        fd = listener.fileno()
        script = 'exec 3<&$FD; export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=agent; exec "$@"'
        daemon.env["FD"] = str(fd)
        daemon.command = lambda: ["bash", "-c", script, "bash", *Daemon.command(daemon)]  # type: ignore[method-assign]
        daemon.spawn(pass_fds=(fd,))
    daemon.agent_socket = path
    try:
        with Client(path) as client:
            assert client.call("session.info")["role"] == "agent"
        wait_for("the operator's socket", daemon.operator_socket.exists)
        with daemon.operator() as operator:
            assert operator.call("session.info")["role"] == "operator"
    finally:
        assert daemon.stop() == 0
    assert path.exists()
    assert not daemon.operator_socket.exists()


def test_a_reload_changes_tools_and_keeps_what_needs_a_restart(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, daemon.client() as client:
        daemon.write("f.txt", "a\nb\n")
        daemon.configure(
            {"tools.read_file.mode": "lines", "tools.write_file.enabled": False, "daemon.redaction": "strict"}
        )
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGHUP)
        wait_for("the reload", lambda: "reloaded" in daemon.log())
        assert "1|a" in client.call("read_file", path="f.txt")["content"]
        error = client.error("write_file", path="g.txt", content="x")
        assert error.code == -32601
        assert "edit_file" in error.data["available"]
        assert "daemon.redaction takes effect at the next restart" in daemon.log()
        daemon.config_path.write_text('{"tools": {"read_file": {"mode": "pages"}}}')
        daemon.process.send_signal(signal.SIGHUP)
        wait_for("the refusal", lambda: "running configuration stays" in daemon.log())
        assert "1|a" in client.call("read_file", path="f.txt")["content"]


def test_a_bad_configuration_starts_nothing_and_lists_every_fault(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, config={"tools.read_file.mode": "pages", "daemon.max_in_flight": 0})
    daemon.spawn()
    assert daemon.process is not None
    assert daemon.process.wait(START_DEADLINE_S) == 2
    assert "tools.read_file.mode" in daemon.log()
    assert "daemon.max_in_flight" in daemon.log()
    check = subprocess.run(
        [sys.executable, "-m", "picoclawd", "check-config", "--config", str(daemon.config_path)],
        capture_output=True,
        text=True,
        env=daemon.env,
        timeout=30,
    )
    assert check.returncode == 2
    assert "tools.read_file.mode" in check.stdout


def test_an_existing_picoclaw_configuration_loads(tmp_path: Path) -> None:
    config = {
        "channels.telegram": {"token": "x"},
        "agents.defaults.model": "gpt",
        "tools.web": {"x": 1},
        "tools.exec.enabled": True,
        "tools.filter_sensitive_data": False,
    }
    with Daemon(tmp_path, config=config) as daemon, daemon.client() as client:
        assert client.call("ping")
        assert "filter_sensitive_data" in daemon.log()


def test_stopping_under_load_finishes_what_was_begun(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        clients = [daemon.client() for _ in range(4)]
        begun = [
            (client, client.start("append_file", {"path": f"{index}.txt", "content": "x" * 1000}))
            for index, client in enumerate(clients)
            for _ in range(50)
        ]
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGTERM)
        acknowledged = dict.fromkeys(range(4), 0)
        for client, number in begun:
            try:
                answer = client.answer(number)
            except (EOFError, ConnectionResetError):
                continue
            if "result" in answer:
                acknowledged[clients.index(client)] += 1
            else:
                assert answer["error"]["data"]["error"] == "shutting_down"
        assert daemon.process.wait(15) == 0
    for index, count in acknowledged.items():
        path = daemon.root / f"{index}.txt"
        assert (path.stat().st_size if path.exists() else 0) == 1000 * count


def test_a_leftover_is_named_and_kept(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    leftover = daemon.write("sub/.picoclawd.1.0123456789abcdef.tmp", "someone's save")
    with daemon, daemon.client() as client:
        wait_for("the sweep", lambda: "left over from a crash" in daemon.log())
        status = client.call("workspace.status")
        assert status["data"]["leftovers"] == ["sub/.picoclawd.1.0123456789abcdef.tmp"]
        assert "left over" in status["content"]
        assert client.call("list_dir", path="sub")["data"]["entries"] == []
        for method, more in (("read_file", {}), ("append_file", {"content": "x"})):
            error = client.error(method, path="sub/.picoclawd.1.0123456789abcdef.tmp", **more)
            assert error.slug == "protected_path"
    assert leftover.read_text() == "someone's save"


def test_the_default_workspace_is_made_private(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.config_path.write_text(
        json.dumps({"daemon": {"socket": str(daemon.agent_socket), "operator_socket": str(daemon.operator_socket)}})
    )
    with daemon:
        made = tmp_path / "home/.picoclaw/workspace"
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_the_operator_socket_can_be_turned_off(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, config={"daemon.operator_socket": ""})
    daemon.operator_socket = daemon.agent_socket
    with daemon, daemon.client() as client:
        assert client.call("session.info")["role"] == "agent"
        assert not (tmp_path / "run/o").exists()
