import json
from typing import Any

import pytest

from picoclawd.client.main import main
from tests.client.fake import FakeDaemon


@pytest.fixture
def reading(daemon: FakeDaemon) -> FakeDaemon:
    daemon.handlers["read_file"] = lambda params: {"content": "hello\n", "display": None, "data": {"got": params}}
    return daemon


def test_content_is_printed(reading: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "read_file", "path=x"]) == 0
    assert capsys.readouterr().out == "hello\n"


def test_the_schema_turns_text_into_numbers(reading: FakeDaemon) -> None:
    main(["call", "read_file", "path=12", "offset=12", "whole=true"])
    assert reading.asked("read_file") == [{"path": "12", "offset": 12, "whole": True}]


def test_without_text_words_no_schema_is_fetched(reading: FakeDaemon) -> None:
    main(["call", "read_file", 'path:="x"'])
    assert reading.asked("tools.list") == []


def test_a_method_that_is_no_tool_gets_text(daemon: FakeDaemon) -> None:
    daemon.handlers["session.close"] = lambda _: {}
    assert main(["call", "session.close", "offset=12"]) == 0
    assert daemon.asked("session.close") == [{"offset": "12"}]


def test_json_prints_the_whole_result(reading: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "read_file", "path=x", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == {"got": {"path": "x"}}


def test_params_are_given_as_json(reading: FakeDaemon) -> None:
    main(["call", "read_file", "--params", '["x", 3]'])
    assert reading.asked("read_file") == [["x", 3]]


@pytest.mark.parametrize(
    ("argv", "params"),
    [
        (["path=x"], {"path": "x", "_meta": {"dry_run": True}}),
        ([], {"_meta": {"dry_run": True}}),
        (["--params", '{"_meta": {"op": "1"}}'], {"_meta": {"op": "1", "dry_run": True}}),
    ],
)
def test_dry_run_is_passed_on(reading: FakeDaemon, argv: list[str], params: Any) -> None:
    assert main(["call", "read_file", "--dry-run", *argv]) == 0
    assert reading.asked("read_file") == [params]


def test_dry_run_needs_named_params(reading: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "read_file", "--dry-run", "--params", "[1]"]) == 2
    assert "named params" in capsys.readouterr().err
    assert reading.asked("read_file") == []


def test_operator_speaks_to_the_other_socket(
    reading: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeDaemon(reading.path + ".op", {"who": lambda _: "operator"}) as operator:
        monkeypatch.setenv("PICOCLAWD_OPERATOR_SOCKET", operator.path)
        assert main(["call", "who", "--operator"]) == 0
    assert capsys.readouterr().out == '"operator"\n'


def test_status_shows_the_daemons_status(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    daemon.handlers["workspace.status"] = lambda _: {"content": "all well\n", "data": {}}
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "all well\n"


def test_a_timeout_can_be_set(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    daemon.handlers["slow"] = lambda _: daemon.cancelled.wait(10)
    assert main(["call", "slow", "--timeout", "0.05"]) == 1
    assert "no answer within 0.05 s" in capsys.readouterr().err
    daemon.cancelled.set()


def test_metrics_are_for_agents_too(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.handlers["metrics"] = lambda _: {"content": "picoclawd_sessions 1\n", "data": {}}
    assert main(["metrics"]) == 0
    assert capsys.readouterr().out == "picoclawd_sessions 1\n"
    assert main(["metrics", "--operator"]) == 3
    monkeypatch.setenv("PICOCLAWD_OPERATOR_SOCKET", daemon.path)
    assert main(["metrics", "--operator"]) == 0
