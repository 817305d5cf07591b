import os
import sys
from pathlib import Path
from typing import Any

import pytest

from picoclawd.client import demo, demo_steps
from picoclawd.client.demo_steps import STEPS, Agent, BrokenPromise, Stage
from picoclawd.client.main import main
from picoclawd.client.wire import Connection
from tests.client.fake import FakeDaemon, Refusal


def test_the_demo_keeps_every_promise(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["demo", "--fast"])
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert f"{len(STEPS)} of {len(STEPS)} steps held" in shown
    assert "\x1b" not in shown, "colours are for terminals"
    assert os.listdir(short) == []


def test_without_a_daemon_there_is_no_demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert main(["demo"]) == 3
    assert "did not start" in capsys.readouterr().err


class NoScratch:
    """Stands for a daemon's places where no step looks at them."""

    workspace = "/nowhere"


def stage(daemon: FakeDaemon, connection: Connection) -> Stage:
    scratch: Any = NoScratch()
    return Stage(scratch, Agent("ada", connection), Agent("bob", connection), demo.say)


def test_a_broken_promise_is_counted_and_the_play_goes_on(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(stage: Stage) -> None:
        """It breaks"""
        stage.check(False, "two is three")

    def holds(stage: Stage) -> None:
        """It holds"""
        stage.check(True, "two is two")

    with Connection.open(daemon.path) as connection:
        played = stage(daemon, connection)
        assert demo.play(played, 0, (breaks, holds)) == 1
    assert played.checks == 1
    shown = capsys.readouterr().out
    assert "1. It breaks\nThis did not hold: two is three\n\n2. It holds\n" in shown


def test_a_call_that_should_be_refused_must_be(daemon: FakeDaemon) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32004, "changed", error="conflict")

    with Connection.open(daemon.path) as connection:
        played = stage(daemon, connection)
        with pytest.raises(BrokenPromise, match="it was allowed"):
            played.is_refused(played.ada, "conflict", "ping")
        daemon.handlers["edit_file"] = refuse
        with pytest.raises(BrokenPromise, match="refused as no_match, not conflict"):
            played.is_refused(played.ada, "no_match", "edit_file")
        played.is_refused(played.ada, "conflict", "edit_file")


def test_what_agents_say_is_escaped_and_coloured_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    demo.say("ada", "a\x1b[2Jb\nc")
    assert capsys.readouterr().out == "\x1b[36mada      a\\x1b[2Jb\n         c\x1b[0m\n"


def test_a_call_is_shown_on_one_line() -> None:
    assert demo_steps.call_line("m", {"a": "x\ny", "b": 1}) == "m(a='x\\ny', b='1')"
