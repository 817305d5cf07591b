import json

import pytest

from picoclawd.client.main import main
from tests.client.fake import TOOLS, FakeDaemon


def test_tools_are_listed_with_their_first_sentence(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools"]) == 0
    assert capsys.readouterr().out == "read_file        Read a file\nremove_file      Remove one file\n"


def test_one_tool_shows_its_parameters(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "read_file"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("read_file\n\nRead a file. Then go on.\n\nMore about it.\n\nParameters:\n")
    assert "  path (string, required): Absolute, or relative to the workspace.\n" in shown
    assert "  offset (integer, default 0)\n" in shown
    assert "  whole (boolean)\n" in shown
    assert "  mode (string, default 'bytes', one of bytes, lines)\n" in shown


def test_an_unknown_tool_names_the_known_ones(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "fly"]) == 2
    assert "there are: read_file, remove_file" in capsys.readouterr().err


def test_json_gives_what_the_daemon_gave(daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"tools": TOOLS}
    assert main(["tools", "remove_file", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == TOOLS[1]
