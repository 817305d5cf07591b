from pathlib import Path
from typing import Any

import pytest

from picoclawd.client.files import workspace_path
from picoclawd.client.main import main
from tests.client.fake import FakeDaemon
from tests.client.test_discover import announce


@pytest.fixture
def answering(daemon: FakeDaemon) -> FakeDaemon:
    for method in ("read_file", "list_dir", "edit_file"):
        daemon.handlers[method] = lambda _: {"content": "done\n"}
    return daemon


@pytest.mark.parametrize(
    ("argv", "method", "params"),
    [
        (["read", "x"], "read_file", {"path": "x"}),
        (["read", "x", "--offset", "3", "--length", "9"], "read_file", {"path": "x", "offset": 3, "length": 9}),
        (
            ["read", "x", "--mode", "lines", "--start-line", "2", "--max-lines", "5"],
            "read_file",
            {"path": "x", "mode": "lines", "start_line": 2, "max_lines": 5},
        ),
        (["read", "caf\udce9"], "read_file", {"path_bytes": "caf%E9"}),
        (["ls"], "list_dir", {"path": ""}),
        (["ls", "/abs", "--limit", "2", "--offset", "1"], "list_dir", {"path": "/abs", "limit": 2, "offset": 1}),
        (["edit", "x", "--old", "a", "--new", ""], "edit_file", {"path": "x", "old_text": "a", "new_text": ""}),
        (["edit", "x", "--old", "@@a", "--new", "b"], "edit_file", {"path": "x", "old_text": "@a", "new_text": "b"}),
        (
            ["edit", "x", "--patch", "@p.txt", "--dry-run"],
            "edit_file",
            {"path": "x", "patch": "@@\n-a\n+b\n", "_meta": {"dry_run": True}},
        ),
    ],
)
def test_a_command_is_one_tool_call(answering: FakeDaemon, argv: list[str], method: str, params: Any) -> None:
    Path("p.txt").write_text("@@\n-a\n+b\n")
    assert main(argv) == 0
    assert answering.asked(method) == [params]


@pytest.mark.parametrize("argv", [["--old", "a"], ["--new", "a"], [], ["--old", "a", "--new", "b", "--patch", "p"]])
def test_edit_needs_one_form(answering: FakeDaemon, argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edit", "x", *argv]) == 2
    assert "--old" in capsys.readouterr().err
    assert answering.calls == []


@pytest.mark.parametrize(
    ("path", "here", "sent"),
    [
        ("x", "/w", "x"),
        ("x", "/w/src", "src/x"),
        ("../x", "/w/src", "src/../x"),
        ("", "/w/src/a", "src/a"),
        ("", "/w", ""),
        ("/w/x", "/w/src", "/w/x"),
        ("x", "/elsewhere", "x"),
        ("x", "", "x"),
    ],
)
def test_a_relative_path_means_what_the_shell_means(path: str, here: str, sent: str) -> None:
    assert workspace_path(path, "/w", here) == sent


def test_a_path_in_an_unknown_workspace_stays_as_typed() -> None:
    assert workspace_path("x", "", "/w/src") == "x"


def test_a_subdirectory_is_part_of_the_path(
    lonely: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (lonely / "src").mkdir()
    monkeypatch.chdir(lonely / "src")
    path = str(lonely.parent / "s")
    announce(lonely.parent, "one", lonely, path)
    with FakeDaemon(path, {"read_file": lambda _: {"content": "x"}}) as fake:
        assert main(["read", "a.py"]) == 0
        monkeypatch.setenv("PICOCLAWD_SOCKET", path)
        assert main(["read", "b.py"]) == 0
    assert fake.asked("read_file") == [{"path": "src/a.py"}, {"path": "src/b.py"}]
