import json
import os
import socket
from pathlib import Path

import pytest

from picoclawd.client import discover
from picoclawd.client.failures import NO_DAEMON, NoDaemon
from picoclawd.client.scratch import Scratch
from picoclawd.daemon.instance import derive
from tests.client.fake import FakeDaemon
from tests.daemon.sample import walked


def announce(base: Path, instance: str, workspace: Path, agent: str, operator: str | None = None) -> Path:
    """Leave an info.json as a daemon does."""
    info = base / "run" / "picoclawd" / instance / "info.json"
    info.parent.mkdir(parents=True)
    sockets = {"agent": agent, "operator": operator}
    info.write_text(json.dumps({"pid": 1, "workspace": str(workspace), "sockets": sockets, "version": "0.1.0"}))
    return info


def test_the_environment_names_the_socket(daemon: FakeDaemon) -> None:
    connection, endpoint = discover.connect("agent")
    with connection:
        assert endpoint.path == daemon.path
        assert connection.call("ping") == {}


def test_the_operators_socket_has_a_variable_of_its_own(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoDaemon):
        discover.connect("operator")
    monkeypatch.setenv("PICOCLAWD_OPERATOR_SOCKET", daemon.path)
    connection, _ = discover.connect("operator")
    connection.close()


def test_a_daemon_is_found_from_below_its_workspace(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sub = lonely / "a" / "b"
    sub.mkdir(parents=True)
    monkeypatch.chdir(sub)
    path = str(lonely.parent / "s")
    announce(lonely.parent, "one", lonely, path)
    with FakeDaemon(path):
        connection, endpoint = discover.connect("agent")
        connection.close()
    assert (endpoint.path, endpoint.workspace) == (path, str(lonely))


def test_the_deepest_workspace_wins(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = lonely / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    announce(lonely.parent, "inner", inner, "/inner")
    announce(lonely.parent, "outer", lonely, "/outer")
    assert [end.path for end in discover.candidates("agent")] == ["/inner", "/outer"]


def test_a94_a_stale_socket_of_a_killed_daemon_is_skipped(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = lonely / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    stale, alive = str(lonely.parent / "stale"), str(lonely.parent / "alive")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(stale)  # the file stays, nobody listens: as after kill -9
    announce(lonely.parent, "inner", inner, stale)
    announce(lonely.parent, "outer", lonely, alive)
    with FakeDaemon(alive):
        connection, endpoint = discover.connect("agent")
        connection.close()
    assert endpoint.path == alive


def test_a_sibling_with_the_same_beginning_is_not_taken(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = lonely.parent / "ws-evil"
    evil.mkdir()
    monkeypatch.chdir(evil)
    announce(lonely.parent, "one", lonely, "/sock")
    assert discover.candidates("agent") == []


def test_a_workspace_reached_by_a_link_is_recognised(lonely: Path) -> None:
    link = lonely.parent / "link"
    link.symlink_to(lonely)
    announce(lonely.parent, "one", link, "/sock")
    assert [end.path for end in discover.candidates("agent")] == ["/sock"]


def test_the_state_directory_is_searched_too(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = lonely.parent / "state" / "picoclawd" / "one" / "run" / "info.json"
    info.parent.mkdir(parents=True)
    info.write_text(json.dumps({"workspace": str(lonely), "sockets": {"agent": "/sock"}}))
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert [end.path for end in discover.candidates("agent")] == ["/sock"]


@pytest.mark.parametrize("text", ["", "not json", "[]", '{"workspace": 3}', '{"sockets": []}', '"x"'])
def test_a_broken_info_file_is_no_daemon(lonely: Path, text: str) -> None:
    announce(lonely.parent, "one", lonely, "/sock").write_text(text)
    assert discover.candidates("agent") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_info_file_is_not_believed(lonely: Path) -> None:
    info = announce(lonely.parent, "one", lonely, "/sock")
    os.chown(info, 65534, 65534)
    assert discover.candidates("agent") == []


def test_an_operator_socket_that_is_off_is_said_to_be(lonely: Path) -> None:
    announce(lonely.parent, "one", lonely, "/sock")
    with pytest.raises(NoDaemon, match="has no operator socket"):
        discover.candidates("operator")


def test_no_daemon_says_what_to_type(lonely: Path) -> None:
    with pytest.raises(NoDaemon) as caught:
        discover.connect("agent")
    assert f"picoclawd serve --workspace {lonely}" in str(caught.value)
    assert caught.value.exit_code == NO_DAEMON


def test_no_daemon_here_names_the_others(lonely: Path) -> None:
    announce(lonely.parent, "one", lonely.parent / "elsewhere", "/sock")
    with pytest.raises(NoDaemon, match=r"Other workspaces have one: .*/elsewhere"):
        discover.connect("agent")


def test_a_dead_socket_in_the_environment_names_the_variable(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PICOCLAWD_SOCKET", "/nowhere/sock")
    with pytest.raises(NoDaemon, match=r"from \$PICOCLAWD_SOCKET"):
        discover.connect("agent")


def test_a95_a_socket_path_that_is_too_long_is_no_traceback(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PICOCLAWD_SOCKET", "/" + "x" * 200)
    with pytest.raises(NoDaemon, match="cannot connect"):
        discover.connect("agent")


def test_a_current_directory_that_is_gone_finds_nothing(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = lonely / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    announce(lonely.parent, "one", lonely, "/sock")
    with pytest.raises(NoDaemon):
        discover.connect("agent")


def test_a_real_daemon_is_discovered_from_a_subdirectory(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Scratch() as scratch:
        monkeypatch.setenv("XDG_RUNTIME_DIR", f"{scratch.directory}/run")
        below = Path(scratch.workspace, "a", "b")
        below.mkdir(parents=True)
        monkeypatch.chdir(below)
        for role in ("agent", "operator"):
            connection, endpoint = discover.connect("agent" if role == "agent" else "operator")
            with connection:
                assert connection.call("ping") is not None
            assert (endpoint.path, endpoint.workspace) == (scratch.socket(role), scratch.workspace)
        monkeypatch.chdir(lonely)
        with pytest.raises(NoDaemon, match="Other workspaces have one"):
            discover.connect("agent")


@pytest.mark.parametrize("configured", [True, False])
def test_a_socket_that_systemd_holds_is_found_before_any_daemon_ran(
    lonely: Path, short: Path, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    """By the configuration that names the workspace, or by the name that the daemon would derive."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    if configured:
        config = lonely.parent / "config" / "picoclawd" / "work.json"
        config.parent.mkdir()
        config.write_text(json.dumps({"agents": {"defaults": {"workspace": str(lonely)}}}))
        name = "work"
    else:
        parsed, _ = walked({"agents": {"defaults": {"workspace": str(lonely)}}})
        name = derive(parsed, path=None, instance=None, socket=None, environ={**os.environ}).name
    directory = short / "picoclawd" / name / "agent"
    directory.mkdir(parents=True)
    assert discover.candidates("agent") == []
    with FakeDaemon(str(directory / "sock")) as daemon:
        connection, endpoint = discover.connect("agent")
        connection.close()
    assert (endpoint.path, endpoint.workspace) == (daemon.path, str(lonely))
    assert discover.candidates("agent", "/") == [], "another directory's"


def test_without_an_environment_it_looks_where_systemd_puts_things(
    lonely: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MCP hosts start a server with little more than PATH and HOME."""
    looked: list[str] = []

    def listdir(path: str) -> list[str]:
        looked.append(path)
        return []

    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("os.listdir", listdir)
    assert list(discover.daemons()) == []
    assert f"/run/user/{os.geteuid()}/picoclawd" in looked
