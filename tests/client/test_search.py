import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from picoclawd.client.main import main
from picoclawd.client.scratch import Scratch
from tests.client.fake import FakeDaemon, Refusal
from tests.client.test_discover import announce
from tests.client.test_paging import answer

ROW = {"path": "src/a.py", "line": 2, "text": "needle"}


@pytest.fixture
def answering(daemon: FakeDaemon) -> FakeDaemon:
    for method in ("search_files", "find_files"):
        daemon.handlers[method] = lambda _: answer([ROW])
    return daemon


@pytest.mark.parametrize(
    ("argv", "params"),
    [
        (["search", "n"], {"pattern": "n"}),
        (["search", "--", "-n"], {"pattern": "-n"}),
        (["search", "n", "src", "-g", "*.py"], {"pattern": "n", "path": "src", "file_glob": "*.py"}),
        (["search", "n", "-C", "2", "src"], {"pattern": "n", "path": "src", "context": 2}),
        (["search", "-c", "n"], {"pattern": "n", "output_mode": "count"}),
        (["search", "-l", "n", "--newest"], {"pattern": "n", "output_mode": "files_only", "order": "modified"}),
        (["search", "n", "--watched"], {"pattern": "n", "consistency": "watched"}),
        (["search", "n", "--limit", "7", "--offset", "3"], {"pattern": "n", "limit": 7, "offset": 3}),
        (["search", "n", "--all"], {"pattern": "n", "limit": 200}),
        (["search", "n", "caf\udce9"], {"pattern": "n", "path_bytes": "caf%E9"}),
        (["find"], {"pattern": "", "target": "files"}),
        (
            ["find", "*.py", "src", "--newest"],
            {"pattern": "*.py", "path": "src", "target": "files", "order": "modified"},
        ),
    ],
)
def test_a_search_is_one_call_of_search_files(answering: FakeDaemon, argv: list[str], params: dict[str, Any]) -> None:
    assert main(argv) == 0
    assert answering.asked("search_files") == [{"limit": 50, "offset": 0, **params}]


@pytest.mark.parametrize(
    ("argv", "mode", "query"),
    [
        (["--list"], "list", {}),
        (["--list", "src", "-r"], "list", {"dir": "src", "recursive": True}),
        (["--glob", "*.py", "src"], "glob", {"dir": "src", "pattern": "*.py"}),
        (["--search", "n"], "search", {"pattern": "n", "file_pattern": "**/*"}),
        (["--search", "n", "-g", "*.c"], "search", {"pattern": "n", "file_pattern": "*.c"}),
    ],
)
def test_a_mode_is_one_query_of_find_files(answering: FakeDaemon, argv: list[str], mode: str, query: Any) -> None:
    assert main(["find", *argv]) == 0
    assert answering.asked("find_files") == [{"mode": mode, "queries": [query], "limit": 50, "offset": 0}]


def test_matching_across_lines_is_asked_for(answering: FakeDaemon) -> None:
    assert main(["find", "--search", "a.b", "-U"]) == 0
    assert answering.asked("find_files")[0]["multiline"] is True


@pytest.mark.parametrize(
    "argv",
    [
        ["search", "n", "one", "two"],
        ["search", "n", "-0"],
        ["search", "caf\udce9"],
        ["find", "--glob"],
        ["find", "--list", "--newest"],
        ["find", "n", "-g", "*.c"],
        ["find", "n", "-U"],
    ],
)
def test_what_cannot_be_asked_is_exit_code_2(answering: FakeDaemon, argv: list[str]) -> None:
    assert main(argv) == 2
    assert answering.calls == []


@pytest.mark.parametrize(
    "argv", [["n", "-c", "-l"], ["n", "--all", "--limit", "3"], ["n", "--limit", "0"], ["n", "--offset", "-1"], []]
)
def test_wrong_usage_is_exit_code_2(answering: FakeDaemon, argv: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["search", *argv])
    assert caught.value.code == 2


def test_rows_go_to_stdout_and_the_footer_to_stderr(answering: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "n"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("src/a.py:2:needle\n", "[results 1-1 of 1]\n")


def test_nothing_found_is_exit_code_1(answering: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    answering.handlers["search_files"] = lambda _: answer([])
    assert main(["search", "n"]) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("slug", ["not_found", "confirmation_unavailable"])
def test_any_refusal_is_exit_code_2(answering: FakeDaemon, slug: str, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32002, "no such directory", error=slug)

    answering.handlers["search_files"] = refuse
    assert main(["search", "n"]) == 2
    assert capsys.readouterr().err == "no such directory\n"


def test_an_answer_that_makes_no_sense_is_exit_code_2(answering: FakeDaemon) -> None:
    """A bug must not pass for "nothing matched"."""
    answering.handlers["search_files"] = lambda _: {"content": ""}
    assert main(["search", "n"]) == 2


@pytest.mark.parametrize("command", ["search", "find"])
def test_without_a_daemon_the_exit_code_is_3(lonely: Path, command: str) -> None:
    assert main([command, "n"]) == 3


def test_json_is_the_whole_result(answering: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "n", "--json"]) == 0
    shown = capsys.readouterr()
    assert (json.loads(shown.out), shown.err) == (answer([ROW]), "")


def test_json_of_several_pages_is_one_object(answering: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    def page(params: Any) -> Any:
        return answer([ROW], offset=params["offset"], total=2, next_offset=None if params["offset"] else 1)

    answering.handlers["search_files"] = page
    assert main(["search", "n", "--all", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert (data["results"], data["offset"], data["next_offset"]) == ([ROW, ROW], 0, None)


def test_a_terminal_gets_headings_and_colour(
    answering: FakeDaemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["search", "n"]) == 0
    assert capsys.readouterr().out == "\x1b[35msrc/a.py\x1b[0m\n\x1b[32m2\x1b[0m:needle\n"


def test_in_a_subdirectory_paths_are_meant_and_shown_from_there(
    lonely: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (lonely / "src").mkdir()
    monkeypatch.chdir(lonely / "src")
    path = str(lonely.parent / "s")
    announce(lonely.parent, "one", lonely, path)
    with FakeDaemon(path, {"search_files": lambda _: answer([ROW]), "find_files": lambda _: answer([])}) as fake:
        assert main(["search", "n"]) == 0
        assert main(["find", "n", ".."]) == 0
        assert main(["find", "--list"]) == 1
    assert [params["path"] for params in fake.asked("search_files")] == ["src", "src/.."]
    assert fake.asked("find_files")[0]["queries"] == [{"dir": "src"}]
    assert capsys.readouterr().out == "a.py:2:needle\n" * 2


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    with Scratch() as made:
        workspace = Path(made.workspace)
        (workspace / "src").mkdir()
        (workspace / "src/a.py").write_text("one\nneedle\nthree\n")
        (workspace / "src/b.py").write_text("needle\n" * 230)
        os.utime(workspace / "src/a.py", (1, 1))
        yield made


@pytest.fixture
def real(scratch: Scratch, lonely: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PICOCLAWD_SOCKET", scratch.socket("agent"))
    monkeypatch.setenv("PICOCLAWD_OPERATOR_SOCKET", scratch.socket("operator"))
    return Path(scratch.workspace)


@pytest.mark.parametrize(
    ("argv", "code", "out"),
    [
        (["search", "needle", "src/a.py"], 0, "src/a.py:2:needle\n"),
        (["search", "needle", "src/a.py", "-C", "1"], 0, "src/a.py-1-one\nsrc/a.py:2:needle\nsrc/a.py-3-three\n"),
        (["search", "-c", "needle"], 0, "src/a.py:1\nsrc/b.py:230\n"),
        (["search", "-l", "needle", "-g", "b*"], 0, "src/b.py\n"),
        (["search", "nothing like it"], 1, ""),
        (["search", "(("], 2, ""),
        (["search", "needle", "nowhere"], 2, ""),
        (["find", "*.py"], 0, "src/a.py\nsrc/b.py\n"),
        (["find", "*.py", "--newest", "--operator"], 0, "src/b.py\nsrc/a.py\n"),
        (["find", "a.py", "-0"], 0, "src/a.py\0"),
        (["find", "nothing like it"], 1, ""),
        (["find", "--list"], 0, "src/\n"),
        (["find", "--list", "nowhere"], 2, ""),
        (["find", "--glob", "*.py", "src"], 0, "src/b.py\nsrc/a.py\n"),
        (["find", "--search", "needle"], 0, "src/a.py:1\nsrc/b.py:230\n"),
        (["find", "--search", "one.needle", "-U"], 0, "src/a.py:2\n"),
    ],
)
def test_a_real_daemon_is_searched(
    real: Path, argv: list[str], code: int, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == code
    assert capsys.readouterr().out == out


def test_all_pages_of_a_real_daemon_are_every_line_once(real: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "needle", "--all"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == ["src/a.py:2:needle", *(f"src/b.py:{line}:needle" for line in range(1, 231))]
    assert shown.err.startswith("[results 1-231 of 231")
