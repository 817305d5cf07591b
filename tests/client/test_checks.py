import importlib.util
import os
import platform
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from picoclawd.client import checks
from picoclawd.client.checks import Check


@pytest.mark.parametrize(
    ("release", "numbers"),
    [("6.1.0-18-amd64", (6, 1)), ("5.6", (5, 6)), ("5.15.90.1-microsoft", (5, 15)), ("6.18-rc1", (6, 18)), ("x", (0,))],
)
def test_a_kernel_release_is_read_as_numbers(release: str, numbers: tuple[int, ...]) -> None:
    assert checks.kernel_version(release) == numbers


def test_an_old_kernel_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "release", lambda: "5.4.0-42-generic")
    python, kernel = checks.machine()
    assert (python.state, kernel.state) == ("ok", "note")
    assert "5.6" in kernel.mend


def test_a_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "PIL" else name)
    found = {check.name: check for check in checks.extras()}
    docs = found.pop("extra [docs]")
    assert (docs.state, docs.mend) == ("note", "pip install 'picoclawd[docs]'")
    assert "PIL" in docs.text and "docx" not in docs.text
    assert {check.state for check in found.values()} == {"ok"}


def test_a_missing_program_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/git" if name == "git" else None)
    git, rg = checks.programs()
    assert (git.state, git.text) == ("ok", "/bin/git")
    assert (rg.state, rg.mend) == ("note", "apt install ripgrep")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A socket as the daemon makes it."""
    directory = tmp_path / "agent"
    directory.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(directory / "sock"))
    (directory / "sock").chmod(0o600)
    return directory / "sock"


def states(path: Path) -> list[str]:
    return [check.state for check in checks.socket_file("agent", str(path))]


def test_a_closed_socket_in_a_closed_directory_is_fine(place: Path) -> None:
    assert states(place) == ["ok", "ok"]


def test_a96_a_socket_open_to_others_is_wrong(place: Path) -> None:
    place.chmod(0o666)
    (first, _) = checks.socket_file("agent", str(place))
    assert (first.state, first.mend) == ("wrong", f"chmod 0600 {place}")


def test_a96_a_derived_directory_open_to_others_is_wrong(place: Path) -> None:
    place.parent.chmod(0o755)
    (_, second) = checks.socket_file("agent", str(place))
    assert (second.state, second.mend) == ("wrong", f"chmod 0700 {place.parent}")


def test_a_configured_socket_may_share_a_directory(place: Path) -> None:
    place.parent.chmod(0o755)
    shared = place.rename(place.with_name("mine.sock"))
    assert states(shared) == ["ok", "note"]


def test_what_is_no_socket_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "sock").write_text("")
    assert states(tmp_path / "sock") == ["wrong"]
    assert states(tmp_path / "none") == ["wrong"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_foreign_socket_is_wrong(place: Path) -> None:
    os.chown(place, 65534, 65534)
    assert states(place)[0] == "wrong"


def finished(code: int, said: str) -> Any:
    return lambda command, **_: subprocess.CompletedProcess(command, code, said, "")


@pytest.mark.parametrize(
    ("code", "said", "check"),
    [
        (0, "no faults\nmore", Check("configuration", "ok", "no faults")),
        (0, "", Check("configuration", "ok", "no faults")),
        (2, "$.tools: bad", Check("configuration", "wrong", "$.tools: bad", "picoclawd check-config")),
        (1, "", Check("configuration", "wrong", "exit code 1", "picoclawd check-config")),
    ],
)
def test_the_configuration_is_checked_by_the_daemons_own_command(
    monkeypatch: pytest.MonkeyPatch, code: int, said: str, check: Check
) -> None:
    monkeypatch.setattr(subprocess, "run", finished(code, said))
    assert checks.configuration() == check


def test_a_check_that_hangs_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: Any, **_: Any) -> Any:
        raise subprocess.TimeoutExpired(command, 20)

    monkeypatch.setattr(subprocess, "run", hang)
    assert checks.configuration().state == "wrong"
