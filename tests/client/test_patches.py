import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from picoclawd.client.main import main
from picoclawd.text import gitpatch
from tests.client.fake import FakeDaemon
from tests.client.past import Past, version
from tests.conftest import needs

PATCH = gitpatch.file_patch("a.txt", b"old\n", b"new\n")


@pytest.fixture
def patched(operated: FakeDaemon) -> FakeDaemon:
    answer = {"content": PATCH, "display": None, "data": {"files": [{"path": "a.txt", "missing": None}]}}
    operated.handlers["history.diff"] = lambda _: answer
    return operated


@pytest.mark.parametrize(
    ("words", "params"),
    [
        (["--task", "t-1"], {"task_id": "t-1"}),
        (["--session", "s-1", "a.txt"], {"session_id": "s-1", "path": "a.txt"}),
        (["--from", "2026-05-01"], {"from": "2026-05-01"}),
    ],
)
def test_the_patch_is_printed_as_it_is(
    patched: FakeDaemon, capsys: pytest.CaptureFixture[str], words: list[str], params: dict[str, str]
) -> None:
    assert main(["diff", *words]) == 0
    assert capsys.readouterr() == (PATCH, "")
    assert patched.asked("history.diff") == [params]


def test_a_path_alone_is_compared_with_the_disk(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    operated.handlers["file_history"] = lambda _: {"content": "+drift\n", "data": {"files": [{"drifted": True}]}}
    assert main(["diff", "a.txt"]) == 0
    assert capsys.readouterr().out == "+drift\n"
    assert main(["diff", "a.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["files"] == [{"drifted": True}]
    assert operated.asked("file_history") == [{"mode": "read", "path": "a.txt"}] * 2


@pytest.mark.parametrize(
    "words", [[], ["a.txt", "--commit"], ["--commit"], ["--task", "t", "-m", "x"], ["--task", "t", "--dry-run"]]
)
def test_what_makes_no_sense_is_wrong_usage(lonely: Path, words: list[str]) -> None:
    assert main(["diff", *words]) == 2


def test_a_file_that_is_not_in_the_patch_is_named(patched: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    files = [{"path": "a.txt", "missing": None}, {"path": "b\n.bin", "missing": "too large"}]
    patched.handlers["history.diff"] = lambda _: {"content": PATCH, "data": {"files": files}}
    assert main(["diff", "--task", "t-1"]) == 1
    assert capsys.readouterr() == (PATCH, "not in the patch: b\\n.bin: too large\n")
    assert main(["diff", "--task", "t-1", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["data"]["files"] == files


def test_no_change_is_said(patched: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    patched.handlers["history.diff"] = lambda _: {"content": "", "data": {"files": []}}
    assert main(["diff", "--session", "s-1"]) == 0
    assert capsys.readouterr() == ("", "no such change is recorded\n")


@pytest.fixture
def repository(patched: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace is a repository that holds what the patch made."""
    needs("git")
    root = tmp_path / "ws"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "somebody@example.org")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True, timeout=30)
    (root / "a.txt").write_text("new\n")
    patched.handlers["session.info"] = lambda _: {"session_id": "s", "workspace": str(root)}
    return root


def subjects(root: Path) -> list[str]:
    done = subprocess.run(["git", "log", "--format=%B%x00"], cwd=root, capture_output=True, text=True, timeout=30)
    return [body.strip() for body in done.stdout.split("\0") if body.strip()]


def test_a_commit_has_the_objective_as_its_message(
    patched: FakeDaemon, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Past(patched, version(1), version(2, objective=None, action="external"))
    assert main(["diff", "--task", "t-1", "--commit", "--dry-run"]) == 0
    assert capsys.readouterr().out == "would commit: tidy up\n  a.txt\n"
    assert subjects(repository) == []
    assert main(["diff", "--task", "t-1", "--commit"]) == 0
    assert subjects(repository) == ["tidy up"]
    shown = capsys.readouterr()
    assert shown.out.startswith("committed ") and shown.out.endswith(": tidy up (1 files)\n")
    assert shown.err == ""


def test_a_message_of_ones_own(patched: FakeDaemon, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--from", "2026-05-01", "--commit", "-m", "mine: all of it", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paths"] == ["a.txt"]
    assert subjects(repository) == ["mine: all of it"]


@pytest.mark.parametrize("objectives", [("one", "another"), (None, None)])
def test_without_one_objective_a_message_is_asked_for(
    patched: FakeDaemon, repository: Path, capsys: pytest.CaptureFixture[str], objectives: tuple[Any, Any]
) -> None:
    Past(patched, *(version(number, objective=text) for number, text in enumerate(objectives, 1)))
    assert main(["diff", "--session", "s-1", "--commit"]) == 2
    assert "-m TEXT" in capsys.readouterr().err
    assert subjects(repository) == []


def test_the_objectives_of_other_sessions_do_not_count(patched: FakeDaemon, repository: Path) -> None:
    Past(patched, version(1), version(2, session_id="s-2", objective="theirs"))
    assert main(["diff", "--session", "s-1", "--commit"]) == 0
    assert subjects(repository) == ["tidy up"]


def test_files_that_changed_since_are_warned_of(
    patched: FakeDaemon, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "a.txt").write_text("newer\n")
    assert main(["diff", "--task", "t-1", "--commit", "-m", "x"]) == 0
    assert "as they are on disk now" in capsys.readouterr().err


def test_outside_a_work_tree_nothing_is_committed(
    patched: FakeDaemon, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    patched.handlers["session.info"] = lambda _: {"session_id": "s", "workspace": str(tmp_path / "ws")}
    assert main(["diff", "--task", "t-1", "--commit", "-m", "x"]) == 1
    assert "is no git work tree" in capsys.readouterr().err


def test_a_patch_without_files_commits_nothing(
    patched: FakeDaemon, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patched.handlers["history.diff"] = lambda _: {"content": "", "data": {"files": []}}
    assert main(["diff", "--task", "t-1", "--commit", "-m", "x"]) == 1
    assert "nothing to commit" in capsys.readouterr().err
