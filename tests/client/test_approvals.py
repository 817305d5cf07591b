import json
import sys
import time
from typing import Any

import pytest

from picoclawd.client import approvals
from picoclawd.client.failures import UsageFault
from picoclawd.client.main import main
from tests.client.fake import FakeDaemon, Refusal


def request(**members: Any) -> dict[str, Any]:
    return {
        "id": "a-12345678",
        "digest": "d1",
        "method": "remove_file",
        "call": "Remove(x.txt)",
        "path": "/ws/x.txt",
        "params": {"path": "x.txt"},
        "diff": "--- a/x.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n",
        "reason": "a file is removed",
        "answers": ["once", "task", "deny"],
        "session_id": "s-1",
        "client": "ada",
        "objective": "tidy up",
        "claims": ["client", "objective"],
        "requested_at": time.time() - 130,
        "expires_at": time.time() + 100,
        **members,
    }


@pytest.fixture
def asking(operated: FakeDaemon) -> FakeDaemon:
    """A daemon with one request, which takes any answer."""
    operated.handlers["approvals.list"] = lambda _: {"pending": [request()]}
    operated.handlers["approvals.answer"] = lambda params: {"id": params["id"], "answer": "x", "warning": None}
    return operated


def test_what_waits_is_a_table(asking: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approvals"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["id", "age", "call", "reason", "client", "(claimed)", "objective", "(claimed)"]
    assert row.split() == ["a-12345678", "2m", "Remove(x.txt)", "a", "file", "is", "removed", "ada", "tidy", "up"]


def test_json_is_a_row_a_line(asking: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    two = [request(), request(id="a-9")]
    asking.handlers["approvals.list"] = lambda _: {"pending": two}
    assert main(["approvals", "--json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == two


def test_nothing_waiting_is_said_on_stderr(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    operated.handlers["approvals.list"] = lambda _: {"pending": []}
    for options in ([], ["--diff"]):
        assert main(["approvals", *options]) == 0
        shown = capsys.readouterr()
        assert (shown.out, shown.err) == ("", "nothing waits for an answer\n")


@pytest.mark.parametrize("options", [["--diff"], ["1234"], ["a-12345678"]])
def test_a_request_is_shown_whole(asking: FakeDaemon, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert main(["approvals", *options]) == 0
    shown = capsys.readouterr().out
    assert "client     ada  (claimed)\n" in shown
    assert "objective  tidy up  (claimed)\n" in shown
    assert 'params     {"path": "x.txt"}\n' in shown
    assert "\n  -gone\n" in shown


def test_without_a_call_line_method_and_path_are_it() -> None:
    bare = request()
    del bare["call"]
    assert approvals.call_line(bare) == "remove_file(/ws/x.txt)"


def test_an_agent_cannot_forge_lines_or_steer_the_terminal(
    asking: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "x\x1b[2J\n  reason     none at all\u202e"
    hostile = request(
        call=evil, client=evil, objective=evil, path=evil, reason=evil, params={"p": evil}, diff=f"+{evil}"
    )
    asking.handlers["approvals.list"] = lambda _: {"pending": [hostile]}
    for options in ([], ["--diff"]):
        assert main(["approvals", *options]) == 0
        shown = capsys.readouterr().out
        assert "\x1b" not in shown and "\u202e" not in shown
        assert not any(line.startswith("  reason     none") for line in shown.splitlines())


def test_a_long_call_is_cut_and_says_so() -> None:
    shown = approvals.described(request(params={"content": "x" * 5000}))
    assert "more characters; --json shows them)" in shown
    assert len(shown) < 4000


@pytest.mark.parametrize(
    ("command", "answer", "said"),
    [
        (["approve", "1"], "once", "approved: Remove(x.txt)"),
        (["approve", "a-1", "--task"], "task", "approved for its task: Remove(x.txt)"),
        (["deny", "a-12345678"], "deny", "denied: Remove(x.txt)"),
    ],
)
def test_an_answer_carries_the_digest_of_what_was_shown(
    asking: FakeDaemon, capsys: pytest.CaptureFixture[str], command: list[str], answer: str, said: str
) -> None:
    assert main([*command, "--yes"]) == 0
    assert asking.asked("approvals.answer") == [{"id": "a-12345678", "digest": "d1", "answer": answer}]
    shown = capsys.readouterr().out
    assert shown.index("-gone") < shown.index(said), "first what is answered, then the answer"


def test_a_warning_of_the_daemon_is_passed_on(asking: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    asking.handlers["approvals.answer"] = lambda _: {"id": "a-1", "answer": "once", "warning": "shares its parent"}
    assert main(["approve", "1", "-y"]) == 0
    assert capsys.readouterr().err == "warning: shares its parent\n"


def test_a_dry_run_answers_nothing(asking: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deny", "1", "--dry-run"]) == 0
    assert "would be denied" in capsys.readouterr().out
    assert asking.asked("approvals.answer") == []


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 4), ("\n", 4), ("", 4)])
def test_a_terminal_is_asked(
    asking: FakeDaemon,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    code: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    assert main(["approve", "1"]) == code
    assert "allow a-12345678? [y/N] " in capsys.readouterr().err
    assert len(asking.asked("approvals.answer")) == (1 if code == 0 else 0)


class Typed:
    """A terminal at which somebody types a line."""

    def __init__(self, line: str) -> None:
        self._line = line

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self._line


def test_where_nobody_can_be_asked_nothing_is_answered(
    asking: FakeDaemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Typed, "isatty", lambda _: False)
    monkeypatch.setattr(sys, "stdin", Typed("y\n"))
    assert main(["approve", "1"]) == 4
    assert "Add --yes" in capsys.readouterr().err
    assert asking.asked("approvals.answer") == []


def test_a_task_is_not_allowed_where_that_is_not_offered(
    asking: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    asking.handlers["approvals.list"] = lambda _: {"pending": [request(answers=["once", "deny"])]}
    assert main(["approve", "1", "--task", "--yes"]) == 1
    assert "Leave out --task" in capsys.readouterr().err
    assert asking.asked("approvals.answer") == []


def test_the_daemons_refusal_is_exit_code_1(asking: FakeDaemon) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32004, "another digest", error="conflict")

    asking.handlers["approvals.answer"] = refuse
    assert main(["approve", "1", "--yes"]) == 1


def test_the_beginning_of_an_id_must_be_unique() -> None:
    pending = [request(id="a-12"), request(id="a-123"), request(id="a-77")]
    assert approvals.pick(pending, "7")["id"] == "a-77"
    assert approvals.pick(pending, "12")["id"] == "a-12", "the whole id wins"
    with pytest.raises(UsageFault, match="a-12, a-123"):
        approvals.pick(pending, "a-1")
    for unknown in ("9", ""):
        with pytest.raises(approvals.UnknownApproval):
            approvals.pick(pending, unknown)


def test_an_unknown_id_is_exit_code_1(asking: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deny", "zz", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["data"]["error"] == "unknown_approval"
