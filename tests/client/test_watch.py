import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from picoclawd.client import watch
from picoclawd.client.main import main
from tests.client.fake import FakeDaemon


@pytest.fixture
def building(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> FakeDaemon:
    """A daemon whose index is ready at the fourth look."""
    monkeypatch.setattr(watch, "INTERVAL_S", 0.001)
    states: Iterator[tuple[str, int, int]] = iter(
        [("cold", 0, 0), ("building", 5, 10), ("building", 5, 10), ("ready", 10, 10)]
    )

    def status(_: Any) -> Any:
        state, done, total = next(states)
        index = {"state": state, "done": done, "total": total}
        return {"content": f"it is {state}", "data": {"version": "1", "index": index}}

    daemon.handlers["workspace.status"] = status
    return daemon


def test_a_pipe_gets_a_line_for_each_change_and_the_status(
    building: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--watch"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"index cold [{'-' * 30}] 0/?",
        f"index building [{'#' * 15}{'-' * 15}] 5/10",
        f"index ready [{'#' * 30}] 10/10",
        "it is ready",
    ]
    assert len(building.asked("workspace.status")) == 4


def test_json_is_a_line_for_each_look(building: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--watch", "--json"]) == 0
    looks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [look["index"]["state"] for look in looks] == ["cold", "building", "building", "ready"]


@pytest.mark.parametrize("has_rich", [True, False])
def test_a_terminal_gets_a_bar(
    building: FakeDaemon, has_rich: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["status", "--watch"]) == 0
    shown = capsys.readouterr().out
    assert "10/10" in shown
    assert shown.endswith("it is ready\n")
    assert ("\r\x1b[K" in shown) is not has_rich, "the plain bar draws over its own line"


def test_a_daemon_that_tells_nothing_of_its_index_ends_the_watch(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.handlers["workspace.status"] = lambda _: {"content": "x", "data": {}}
    assert main(["status", "--watch"]) == 1
    assert "restart it" in capsys.readouterr().err


def test_without_watch_one_look_is_enough(building: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 0
    assert capsys.readouterr().out == "it is cold\n"
