import importlib.metadata
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from picoclawd.client import doctor
from picoclawd.client.checks import Check
from picoclawd.client.main import main
from picoclawd.client.scratch import Scratch
from tests.client.fake import FakeDaemon

GOOD: dict[str, Any] = {
    "version": importlib.metadata.version("picoclawd"),
    "probes": {"openat2": True, "leases": False, "watch_limit": 8192, "timestamp_tick_ns": 1, "file_system": None},
    "watcher": {"state": "ok", "reason": None},
    "leftovers": [],
}


def found(data: dict[str, Any]) -> dict[str, Check]:
    return {check.name: check for check in doctor.status_checks({**GOOD, **data})}


def test_probes_are_listed() -> None:
    checks = found({})
    assert checks["probe openat2"] == Check("probe openat2", "ok", "works")
    assert checks["probe leases"].state == "note"
    assert checks["probe watch_limit"].mend == "sudo sysctl fs.inotify.max_user_watches=524288"
    assert checks["probe timestamp_tick_ns"].text == "1"
    assert checks["probe file_system"] == Check("probe file_system", "ok", "unknown")
    assert checks["watcher"].state == "ok"
    assert not {"leftover", "promises"} & set(checks)


def test_a_weaker_promise_is_a_note_in_the_daemons_words() -> None:
    assert found({"weaker": ["no leases: as said"]})["promises"] == Check("promises", "note", "no leases: as said")


def test_a_generous_watch_limit_is_fine() -> None:
    assert found({"probes": {"watch_limit": 524288}})["probe watch_limit"].state == "ok"
    assert found({"probes": {"watch_limit": None}})["probe watch_limit"].text == "unknown"


def test_half_a_sandbox_is_a_note() -> None:
    for words, state in (("on", "ok"), ("off", "ok"), ("partly: seccomp; not: user namespace", "note")):
        check = found({"probes": {"sandbox": words}})["probe sandbox"]
        assert (check.state, words in check.text) == (state, True)


def test_another_version_is_wrong() -> None:
    assert found({"version": "9.9"})["version"].state == "wrong"


@pytest.mark.parametrize("watcher", [{"state": "degraded", "reason": "limit"}, {"state": "off", "reason": None}])
def test_a_watcher_that_is_not_well_is_a_note(watcher: dict[str, Any]) -> None:
    check = found({"watcher": watcher})["watcher"]
    assert check.state == "note"
    assert (watcher["reason"] or watcher["state"]) in check.text


def test_a_leftover_is_named_with_a_command_that_a_shell_takes() -> None:
    check = found({"leftovers": ["a b/.picoclawd.1.x.tmp"]})["leftover"]
    assert (check.state, check.mend) == ("note", "look at it, then: rm 'a b/.picoclawd.1.x.tmp'")


@pytest.mark.parametrize(
    ("checks", "code"),
    [
        ([Check("a", "ok", ""), Check("b", "note", "")], 0),
        ([Check("a", "wrong", "")], 1),
        ([Check("a", "wrong", ""), Check("daemon", "wrong", "")], 3),
    ],
)
def test_the_exit_code_is_the_worst_finding(checks: list[Check], code: int) -> None:
    assert doctor.exit_code(checks) == code


def test_without_a_daemon_the_rest_is_still_checked(lonely: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 3
    checks = {check["check"]: check for check in json.loads(capsys.readouterr().out)}
    assert checks["python"]["state"] == "ok"
    assert checks["daemon"]["state"] == "wrong"
    assert checks["daemon"]["mend"] == f"picoclawd serve --workspace {lonely}"


def test_a_fault_is_shown_with_what_mends_it(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(daemon.path).chmod(0o666)
    done: Any = subprocess.CompletedProcess([], 0, "", "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    daemon.handlers["workspace.status"] = lambda _: {"content": "", "data": GOOD}
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert f"mend: chmod 0600 {daemon.path}" in shown
    assert shown.splitlines()[-1].endswith(" notes")


def test_a_real_daemon_is_found_well(
    lonely: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Scratch() as scratch:
        monkeypatch.setenv("PICOCLAWD_SOCKET", scratch.socket("agent"))
        monkeypatch.setenv("PICOCLAWD_OPERATOR_SOCKET", scratch.socket("operator"))
        code = main(["doctor", "--json"])
    checks = json.loads(capsys.readouterr().out)
    assert (code, [check for check in checks if check["state"] == "wrong"]) == (0, [])
    names = {check["check"] for check in checks}
    assert {"daemon", "agent socket", "operator socket", "version", "configuration", "probe openat2"} <= names
