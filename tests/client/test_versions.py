import importlib.metadata
import json
from pathlib import Path

import pytest

from picoclawd.client.main import main
from tests.client.fake import FakeDaemon

MINE = importlib.metadata.version("picoclawd")


def test_version_needs_no_daemon(lonely: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"picoclawctl {MINE}, daemon not running here\n"


def test_version_shows_the_daemons_too(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    daemon.handlers["workspace.status"] = lambda _: {"content": "", "data": {"version": "9"}}
    assert main(["version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"client": MINE, "daemon": "9"}
