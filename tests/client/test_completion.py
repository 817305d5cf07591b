"""The scripts are run by the shells that they are for."""

import shlex
import subprocess
from pathlib import Path

import pytest

from picoclawd.client import completion, grammar
from picoclawd.client.main import main, parser
from tests.conftest import needs

COMMANDS = list(grammar.commands(parser()))

# What is typed, what is offered for its last word, and what is not.
CASES = [
    ("picoclawctl mc", {"mcp", "mcp-config"}, {"read"}),
    ("picoclawctl mcp --tools ", {"picoclaw", "agenvoy", "all"}, {"x.txt"}),
    ("picoclawctl mcp-config ", {"claude", "cursor", "vscode", "zed"}, set()),
    ("picoclawctl search --col", {"--color"}, {"--count"}),
    ("picoclawctl read x", {"x.txt"}, set()),
    ("picoclawctl call read_", {"read_file", "read_files"}, {"write_file"}),
    ("picoclawctl tools remove", {"remove_file"}, set()),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a file, and the scripts."""
    (tmp_path / "x.txt").write_text("")
    for shell in completion.SHELLS:
        script = {"bash": completion.bash, "zsh": completion.zsh, "fish": completion.fish}[shell](COMMANDS)
        (tmp_path / f"script.{shell}").write_text(script)
    return tmp_path


def run(place: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(("line", "offered", "not_offered"), CASES)
def test_bash_completes(place: Path, line: str, offered: set[str], not_offered: set[str]) -> None:
    words = line.split(" ")
    code = (
        f"source script.bash; COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; "
        '_picoclawctl; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    found = set(run(place, needs("bash"), "--norc", "-c", code).split("\n"))
    assert offered <= found and not not_offered & found
    assert "complete -o filenames -F _picoclawctl picoclawctl" in run(
        place, needs("bash"), "--norc", "-c", "source script.bash; complete -p picoclawctl"
    )


@pytest.mark.parametrize(("line", "offered", "not_offered"), CASES)
def test_fish_completes(place: Path, line: str, offered: set[str], not_offered: set[str]) -> None:
    code = f"source script.fish; complete -C {shlex.quote(line)}"
    home = {"HOME": str(place), "XDG_CONFIG_HOME": str(place), "XDG_DATA_HOME": str(place), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [needs("fish"), "--no-config", "-c", code], cwd=place, capture_output=True, text=True, timeout=60, env=home
    )
    found = {row.split("\t")[0] for row in done.stdout.splitlines()}
    assert offered <= found and not not_offered & found, done.stderr


def test_zsh_takes_the_script(place: Path) -> None:
    code = "autoload -U compinit; compinit -u -D; source ./script.zsh; print -r -- $_comps[picoclawctl]"
    assert run(place, needs("zsh"), "-f", "-c", code) == "_picoclawctl\n"
    run(place, needs("zsh"), "-f", "-n", "script.zsh")


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_script_goes_to_stdout_and_its_place_is_told(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr()
    assert "picoclawctl" in printed.out and printed.err.startswith("Put it into")
