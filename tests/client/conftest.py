"""A fake daemon on a socket of its own, and an environment in which no real one is found."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.fake import FakeDaemon


@pytest.fixture
def lonely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment without any daemon, in an empty directory; gives that directory."""
    for name in ("PICOCLAWD_SOCKET", "PICOCLAWD_OPERATOR_SOCKET", "PICOCLAWD_CONFIG", "PICOCLAWD_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("run", "state", "config", "home"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    workspace = tmp_path / "ws"
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    return workspace


@pytest.fixture
def daemon(lonely: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    """A fake daemon that the environment names."""
    path = str(lonely.parent / "sock")
    monkeypatch.setenv("PICOCLAWD_SOCKET", path)
    with FakeDaemon(path) as fake:
        yield fake


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory for temporary files, with a path short enough for sockets below it."""
    with tempfile.TemporaryDirectory(prefix="pcd-", dir="/tmp") as directory:
        monkeypatch.setattr("tempfile.tempdir", directory)
        yield Path(directory)


@pytest.fixture
def operated(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> FakeDaemon:
    """The same fake daemon, found as the operator's too."""
    monkeypatch.setenv("PICOCLAWD_OPERATOR_SOCKET", daemon.path)
    daemon.handlers["session.info"] = lambda _: {"session_id": "s-own", "workspace": "/ws"}
    daemon.handlers["workspace.status"] = lambda _: {"data": {"sessions": []}}
    return daemon
