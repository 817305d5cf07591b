import json

import pytest

from picoclawd.client.main import main
from tests.client.fake import FakeDaemon

SESSIONS = [
    {"session_id": "s-own", "role": "operator", "kind": "agent", "client": "", "pid": 1},
    {"session_id": "s-1", "role": "agent", "kind": "subagent", "client": "ada\x1b[2J\nbob", "pid": 4711},
]


def test_everybody_but_this_command_is_listed(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    operated.handlers["workspace.status"] = lambda _: {"data": {"sessions": SESSIONS}}
    assert main(["sessions"]) == 0
    (_, row) = capsys.readouterr().out.splitlines()
    assert row.split() == ["s-1", "agent", "subagent", "4711", "ada\\x1b[2J\\nbob"]
    assert main(["sessions", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == SESSIONS[1]


def test_it_speaks_to_the_operators_socket(operated: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PICOCLAWD_SOCKET")
    assert main(["sessions"]) == 0
    monkeypatch.delenv("PICOCLAWD_OPERATOR_SOCKET")
    assert main(["sessions"]) == 3
