import json
from pathlib import Path
from typing import Any

import pytest

from picoclawd.client.main import main
from picoclawd.client.scratch import Scratch
from picoclawd.client.why import explained
from tests.client.fake import FakeDaemon, Refusal

RULE = {"file": ".gitignore", "line": 2, "pattern": "build/"}
ANSWER: dict[str, Any] = {"reason": "ignored", "at": "build", "searched": False, "rule": RULE, "next": "name it"}


def test_an_answer_says_what_decided_where_and_what_to_do() -> None:
    assert explained("build/x", ANSWER) == (
        "build/x: not searched: ignored\ndecided at: build\nrule: .gitignore, line 2: build/\nnext: name it"
    )


def test_what_decides_by_itself_is_not_said_twice() -> None:
    answer = {**ANSWER, "reason": "over_budget", "at": "x", "rule": None}
    assert explained("x", answer) == "x: not searched: over budget\nnext: name it"


def test_a_path_is_sent_as_the_tools_take_it(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    daemon.handlers["workspace.why"] = lambda _: ANSWER
    assert main(["doctor", "--why", "build/x"]) == 0
    assert main(["doctor", "--why", "caf\udce9", "--json"]) == 0
    assert daemon.asked("workspace.why") == [{"path": "build/x"}, {"path_bytes": "caf%E9"}]
    assert json.loads(capsys.readouterr().out.partition("next: name it\n")[2]) == ANSWER


def test_a_refusal_is_exit_code_1(daemon: FakeDaemon) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32602, "the path is blank", error="invalid_path")

    daemon.handlers["workspace.why"] = refuse
    assert main(["doctor", "--why", " "]) == 1


def test_a_real_daemon_explains(
    lonely: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Scratch() as scratch:
        monkeypatch.setenv("PICOCLAWD_SOCKET", scratch.socket("agent"))
        workspace = Path(scratch.workspace)
        (workspace / ".gitignore").write_text("# rules\nbuild/\n")
        (workspace / "build").mkdir()
        monkeypatch.chdir(workspace)
        assert main(["doctor", "--why", "build/x", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert main(["call", "workspace.why", "path=a", "more=1"]) == 1
    assert (answer["reason"], answer["at"], answer["rule"]) == ("ignored", "build", RULE)
