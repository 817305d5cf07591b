"""Tests of `picoclawd install-service`, by its words and by what it leaves on disk."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.daemon.main import main
from tests.daemon.test_unit_files import verified


@pytest.fixture
def tmp_path(short_path: Path) -> Path:
    """Sockets are made below it."""
    return short_path


TEMPLATES = {"picoclawd@.service", "picoclawd@.socket", "picoclawd-operator@.socket"}
SANDBOX = "picoclawd@.service.d/hardening.conf"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A person's home, without a user manager of systemd."""
    place = tmp_path / "home"
    (place / "project").mkdir(parents=True)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "PICOCLAWD_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(place)
    yield place


def units(home: Path) -> Path:
    return home / ".config/systemd/user"


def written(home: Path) -> set[str]:
    return {str(path.relative_to(units(home))) for path in units(home).rglob("*") if path.is_file()}


def configure(home: Path, name: str, workspace: Path) -> None:
    path = home / f".config/picoclawd/{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"agents": {"defaults": {"workspace": str(workspace)}}}))


def test_an_instance_of_a_configuration(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(home, "work", home / "project")
    assert main(["install-service", "--instance", "work"]) == 0
    said = capsys.readouterr().out
    assert "systemctl --user enable --now picoclawd@work.service" in said
    assert "systemctl --user daemon-reload" in said
    assert written(home) == {*TEMPLATES, SANDBOX, "picoclawd@work.service.d/instance.conf"}
    command = (units(home) / "picoclawd@work.service.d/instance.conf").read_text().splitlines()[-1]
    assert command.endswith("/picoclawd serve --instance work")
    assert verified(["picoclawd@work.service", "picoclawd-operator@work.socket"], tmp_path, units(home)) == ""


def test_a_workspace_without_a_configuration(home: Path, tmp_path: Path) -> None:
    odd = tmp_path / "50% of $it"
    odd.mkdir()
    assert main(["install-service", "--instance", "odd", "--workspace", str(odd)]) == 0
    text = (units(home) / "picoclawd@odd.service.d/instance.conf").read_text()
    assert f'serve --instance odd --workspace "{tmp_path}/50%% of $$it"' in text
    opened = (units(home) / "picoclawd@odd.service.d/workspace.conf").read_text()
    assert f'ReadWritePaths="-{tmp_path}/50%% of $it"' in opened
    assert verified(["picoclawd@odd.service"], tmp_path, units(home)) == ""


def test_a_configuration_that_the_service_would_not_find_is_named(home: Path) -> None:
    path = home / "elsewhere.json"
    path.write_text(json.dumps({"agents": {"defaults": {"workspace": "project"}}, "daemon": {"instance": "named"}}))
    assert main(["install-service", "--config", "elsewhere.json"]) == 0
    text = (units(home) / "picoclawd@named.service.d/instance.conf").read_text()
    assert f"serve --instance named --config {path}\n" in text


def test_without_a_sandbox_there_is_none(home: Path) -> None:
    configure(home, "work", home / "project")
    assert main(["install-service", "--instance", "work"]) == 0
    assert main(["install-service", "--instance", "work", "--no-sandbox"]) == 0
    assert written(home) == {*TEMPLATES, "picoclawd@work.service.d/instance.conf"}


def test_a_dry_run_prints_it_all_and_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install-service", "--instance", "work", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert all(f"would write {units(home)}/{name}:" in said for name in TEMPLATES | {SANDBOX})
    assert "    Type=notify" in said
    assert sorted(path.name for path in home.iterdir()) == ["project"]


def test_what_is_the_persons_is_refused_before_anything_is_written(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    units(home).mkdir(parents=True)
    mine = units(home) / "picoclawd-operator@.socket"
    mine.write_text("[Socket]\n")
    assert main(["install-service", "--instance", "work"]) == 1
    assert f"mv {mine} {mine}.old" in capsys.readouterr().err
    assert written(home) == {mine.name}


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (["--instance", "a/b"], 2, "--instance"),
        (["--config", "none.json"], 2, "none.json"),
        (["--workspace", "nowhere"], 1, "does not exist"),
        (["--uninstall", "--instance", "a/b"], 1, "--instance"),
    ],
)
def test_a_fault_is_told_and_nothing_is_written(
    home: Path, arguments: list[str], status: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install-service", *arguments]) == status
    assert word in capsys.readouterr().err
    assert written(home) == set()


def test_uninstalling_one_of_two_leaves_the_other_whole(home: Path) -> None:
    for name in ("one", "two"):
        assert main(["install-service", "--instance", name, "--workspace", "project"]) == 0
    enabled = units(home) / "default.target.wants"
    enabled.mkdir()
    for name in ("one", "two"):
        (enabled / f"picoclawd@{name}.service").symlink_to(units(home) / "picoclawd@.service")
    assert main(["install-service", "--instance", "one", "--uninstall"]) == 0
    assert written(home) == {
        *TEMPLATES,
        SANDBOX,
        "picoclawd@two.service.d/instance.conf",
        "default.target.wants/picoclawd@two.service",
    }
    assert main(["install-service", "--uninstall"]) == 0
    assert written(home) == set()
    assert list(enabled.iterdir()) == []


def test_uninstalling_takes_the_announcement_along_unless_something_still_listens(home: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["install-service", "--instance", name, "--workspace", "project"]) == 0
        (tmp_path / f"picoclawd/{name}").mkdir(parents=True)
        (tmp_path / f"picoclawd/{name}/info.json").write_text("{}")
    (tmp_path / "picoclawd/two/agent").mkdir()
    (tmp_path / "picoclawd/two/agent/sock").touch()
    assert main(["install-service", "--uninstall"]) == 0
    assert [path.parent.name for path in tmp_path.glob("picoclawd/*/info.json")] == ["two"]


def test_uninstalling_keeps_what_was_changed_and_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install-service", "--instance", "work"]) == 0
    mine = units(home) / SANDBOX
    mine.write_text(mine.read_text() + "Nice=5\n")
    assert main(["install-service", "--uninstall", "--dry-run"]) == 0
    assert f"would remove {units(home)}/picoclawd@.socket" in capsys.readouterr().out
    assert main(["install-service", "--uninstall"]) == 0
    assert f"rm {mine}" in capsys.readouterr().out
    assert written(home) == {SANDBOX}
    assert main(["install-service", "--uninstall"]) == 0
    assert "nothing to remove" in capsys.readouterr().out


def test_a_user_manager_is_told_where_one_is_reachable(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "asked"
    systemctl = tmp_path / "bin/systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text(f'#!/bin/sh\necho "$@" >>{record}\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{systemctl.parent}:{os.environ['PATH']}")
    assert main(["install-service", "--instance", "work"]) == 0
    assert not record.exists()
    assert "systemctl --user daemon-reload" in capsys.readouterr().out
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd/private").touch()
    assert main(["install-service", "--instance", "work"]) == 0
    assert "daemon-reload" not in capsys.readouterr().out
    assert main(["install-service", "--uninstall"]) == 0
    assert record.read_text().splitlines() == [
        "--user daemon-reload",
        "--user disable --now picoclawd@work.service picoclawd@work.socket picoclawd-operator@work.socket",
        "--user daemon-reload",
    ]
