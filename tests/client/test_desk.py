import argparse
import io
import sys
from typing import Any

import pytest

from picoclawd.client import desk
from picoclawd.client.desk import Declined, Desk
from picoclawd.client.failures import NoDaemon, UsageFault
from tests.client.fake import FakeDaemon


def arguments(**given: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"command": "undo", "json": False, "yes": False, "timeout": 10.0, **given})


def test_calls_go_to_the_operator_and_may_be_dry(operated: FakeDaemon) -> None:
    with Desk(arguments()) as at:
        at.introduce()
        at.call("ping", {"a": 1}, dry_run=True)
        at.call("ping")
    assert operated.asked("session.open") == [{"client": "picoclawctl undo"}]
    assert operated.asked("ping") == [{"a": 1, "_meta": {"dry_run": True}}, {}]


def test_without_an_operators_socket_there_is_no_desk(daemon: FakeDaemon) -> None:
    with pytest.raises(NoDaemon):
        Desk(arguments())


def test_paths_are_sent_as_the_daemon_takes_them(operated: FakeDaemon) -> None:
    with Desk(arguments()) as at:
        assert at.path("a.txt") == "a.txt"
        assert at.path("") == "."
        assert at.path_params("caf\udce9") == {"path_bytes": "caf%E9"}
        with pytest.raises(UsageFault):
            at.path("caf\udce9")
        assert at.workspace() == "/ws"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_yes_asks_nobody(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    with Desk(arguments(yes=True)) as at:
        at.confirm("this\n", "do it")
    assert capsys.readouterr() == ("this\n", "")


def test_what_is_asked_does_not_mix_with_json(
    operated: FakeDaemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("Y\n"))
    with Desk(arguments(json=True)) as at:
        at.confirm("this", "do \x1b it")
    assert capsys.readouterr() == ("", "this\ndo \\x1b it? [y/N] ")


@pytest.mark.parametrize("stdin", [Terminal("no\n"), Terminal(""), io.StringIO("y\n")])
def test_anything_but_a_yes_at_a_terminal_declines(
    operated: FakeDaemon, monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with Desk(arguments()) as at, pytest.raises(Declined) as caught:
        at.confirm("this", "do it")
    assert (caught.value.exit_code, caught.value.slug) == (4, "declined")
    assert "nothing was done" in str(caught.value)


def test_a_diff_is_indented_and_escaped() -> None:
    assert desk.patch("@@ -1 +1 @@\n-a\x1b[2J\n+b\rc\n") == "  @@ -1 +1 @@\n  -a\\x1b[2J\n  +b\\rc"


def test_a_diff_is_coloured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert desk.patch("-a\n+b\n c") == "  \x1b[31m-a\x1b[0m\n  \x1b[32m+b\x1b[0m\n   c"
