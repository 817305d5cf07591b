import os
import sys
from pathlib import Path

import pytest

from picoclawd.client import scratch
from picoclawd.client.failures import NoDaemon
from picoclawd.client.scratch import Scratch


def test_nothing_is_left_behind(short: Path) -> None:
    with Scratch() as made, made.connect() as connection:
        assert os.listdir(short) == [os.path.basename(made.directory)]
        connection.call("ping")
    assert os.listdir(short) == []


def test_settings_of_another_daemon_are_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PICOCLAWD_SOCKET", "/nowhere")
    monkeypatch.setenv("PICOCLAW_TOOLS_EDIT_FILE_ENABLED", "false")
    monkeypatch.setenv("LISTEN_FDS", "2")
    with Scratch() as made, made.connect() as connection:
        assert "edit_file" in {tool["name"] for tool in connection.call("tools.list")["tools"]}


def test_a_daemon_that_does_not_start_shows_its_log(monkeypatch: pytest.MonkeyPatch, short: Path) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    with pytest.raises(NoDaemon, match="-m picoclawd serve"), Scratch():
        raise AssertionError("it did start")
    assert os.listdir(short) == []


def test_a_daemon_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(silent))
    monkeypatch.setattr(scratch, "START_TIMEOUT_S", 0.1)
    with pytest.raises(NoDaemon, match="it said nothing"), Scratch():
        raise AssertionError("it did start")


def test_keep_leaves_the_files(short: Path) -> None:
    with Scratch(keep=True) as made:
        Path(made.workspace, "x").write_text("kept")
    assert Path(made.workspace, "x").read_text() == "kept"
    assert not os.path.exists(made.socket("agent"))


def test_a_long_temporary_directory_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A socket's path holds 107 bytes."""
    long = tmp_path / ("x" * 80)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with Scratch() as made:
        assert made.directory.startswith("/tmp/picoclawd-demo-")
    assert not os.path.exists(made.directory)
