import subprocess

import pytest

from picoclawd.client import grammar, main, manual
from tests.conftest import needs

COMMANDS = list(grammar.commands(main.parser()))


@pytest.mark.parametrize("form", ["markdown", "roff"])
def test_the_manual_has_every_command_and_option(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["manual", "--format", form]) == 0
    text = capsys.readouterr().out.replace("\\-", "-")
    assert len(COMMANDS) > 20
    for command in COMMANDS:
        assert f"picoclawctl {command.name}" in text
        for option in command.options:
            assert manual.shown(option) in text


def test_man_takes_the_page_without_a_warning() -> None:
    groff = needs("groff")
    page = manual.roff(COMMANDS, "a note").encode()
    command = [groff, "-man", "-Tutf8", "-ww", "-z"]
    done = subprocess.run(command, input=page, capture_output=True, timeout=60, check=True)
    assert done.stderr == b""


def test_text_means_nothing_to_troff() -> None:
    made = manual.roff([], ".SH not a request\n'and neither\na \\fBbackslash")
    assert "\\&.SH not a request" in made
    assert "\\&'and neither" in made
    assert "\\efBbackslash" in made


def test_a_synopsis_tells_what_may_be_left_out() -> None:
    shown = {command.name: manual.synopsis(command) for command in COMMANDS}
    assert shown["read"] == "picoclawctl read PATH [options]"
    assert shown["tools"] == "picoclawctl tools [TOOL] [options]"
    assert shown["search"] == "picoclawctl search PATTERN [PATH ...] [options]"
