import json
from typing import Any

import pytest

from picoclawd.client import history
from picoclawd.client.main import main
from tests.client.fake import FakeDaemon
from tests.client.past import Past, created, version


@pytest.fixture
def past(operated: FakeDaemon) -> Past:
    outside = version(2, action="external", session_id=None, client=None, tool=None, objective=None, task_id=None)
    return Past(operated, created(1), outside, version(3, session_id="s-2", client="bob\nada", path="b.txt"))


def rows(shown: str) -> list[list[str]]:
    return [line.split() for line in shown.splitlines()]


def test_changes_are_a_table_newest_first(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history"]) == 0
    heading, *found = rows(capsys.readouterr().out)
    assert heading == ["version", "when", "who", "tool", "action", "size", "path", "objective"]
    assert [row[0] for row in found] == ["v3", "v2", "v1"]
    assert found[0][3:] == ["bob\\nada", "edit_file", "modify", "10", "b.txt", "tidy", "up"]
    assert found[1][3:] == ["outside", "-", "external", "10", "a.txt", "-"]


def test_what_is_not_kept_is_marked(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    past.rows = [version(1, restorable=False, reason="too large", size=None)]
    assert main(["history"]) == 0
    assert "a.txt (not kept)" in capsys.readouterr().out


def test_options_narrow_the_list(past: Past, operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--task", "t-1", "--from", "2026-05-01", "--to", "2026-05-02", "--before", "3"]
    assert main(["history", "a.txt", "b.txt", *options, "--json"]) == 0
    (asked,) = operated.asked("file_history")
    assert asked == {
        "mode": "list",
        "path": ["a.txt", "b.txt"],
        "task_id": "t-1",
        "from": "2026-05-01",
        "to": "2026-05-02",
        "before": 3,
        "limit": history.PAGE_MAX,
    }
    assert [json.loads(line)["version"] for line in capsys.readouterr().out.splitlines()] == [1]


def test_pages_are_fetched_until_there_are_enough_rows_of_the_session(
    past: Past, operated: FakeDaemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history.versions, "__defaults__", (None, 2))
    past.rows = [version(number, session_id=f"s-{number % 3}") for number in range(1, 20)]
    assert main(["history", "--session", "s-1", "--limit", "3", "--json"]) == 0
    assert [json.loads(line)["version"] for line in capsys.readouterr().out.splitlines()] == [19, 16, 13]
    assert len(operated.asked("file_history")) == 4


def test_no_change_is_said_on_stderr(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "nothing.txt"]) == 0
    assert capsys.readouterr() == ("", "no such change is recorded\n")


def test_purge_counts_asks_and_forgets(past: Past, operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    past.rows += [version(4, path="a.txt.old"), version(5, path="a.txt/below")]
    operated.handlers["history.purge"] = lambda _: {"purged": 3}
    assert main(["history", "purge", "a.txt", "--dry-run"]) == 0
    assert capsys.readouterr().out == "would forget 3 recorded versions of a.txt and below it\n"
    assert main(["history", "purge", "a.txt"]) == 4, "there is no terminal to ask at"
    assert operated.asked("history.purge") == []
    assert main(["history", "purge", "a.txt", "--yes"]) == 0
    assert operated.asked("history.purge") == [{"path": "a.txt"}]
    assert capsys.readouterr().out.endswith("forgot 3 versions of a.txt\n")


@pytest.mark.parametrize(("path", "code"), [(".", 0), ("/elsewhere/a", 1), ("../a", 1)])
def test_purge_stays_in_the_workspace(past: Past, capsys: pytest.CaptureFixture[str], path: str, code: int) -> None:
    assert main(["history", "purge", path, "--dry-run"]) == code
    assert ("would forget 3 recorded" in capsys.readouterr().out) is (code == 0)


@pytest.mark.parametrize("paths", [[], ["a", "b"]])
def test_purge_takes_one_path(lonely: object, paths: list[str]) -> None:
    assert main(["history", "purge", *paths, "--yes"]) == 2


def test_a_file_named_purge_has_a_history(past: Past, operated: FakeDaemon) -> None:
    assert main(["history", "./purge"]) == 0
    assert operated.asked("file_history")[0]["path"] == ["./purge"]


def test_blame_numbers_the_lines(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[dict[str, Any]] = [
        {"version": None, "line": "first\x1b[2J", "client": None, "task_id": None},
        {"version": 7, "line": "    second", "client": "ada", "task_id": "t-1"},
    ]
    operated.handlers["history.blame"] = lambda _: {"content": "", "data": {"lines": lines}}
    assert main(["blame", "a.txt"]) == 0
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["-", "-", "-", "1", "first\\x1b[2J"]
    assert second.endswith("ada  t-1      2      second")
    assert main(["blame", "caf\udce9", "--json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"line_no": number, **line} for number, line in enumerate(lines, 1)
    ]
    assert operated.asked("history.blame") == [{"path": "a.txt"}, {"path_bytes": "caf%E9"}]
