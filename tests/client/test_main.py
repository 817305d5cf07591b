import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from picoclawd.client import call, main
from tests.client.fake import FakeDaemon, Refusal

COMMAND = [sys.executable, "-c", "import sys; from picoclawd.client.main import main; sys.exit(main())"]


def test_without_a_daemon_the_exit_code_is_3(lonely: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["call", "ping"]) == 3
    assert f"picoclawd serve --workspace {lonely}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["call"],
        ["read"],
        ["read", "x", "--mode", "pages"],
        ["call", "ping", "--nonsense"],
        ["call", "ping", "--timeout", "0"],
    ],
)
def test_wrong_usage_is_exit_code_2(argv: list[str], lonely: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main.main(argv)
    assert caught.value.code == 2
    assert "usage: picoclawctl" in capsys.readouterr().err


@pytest.mark.parametrize(
    "before",
    [["--json"], ["--dry-run"], ["--timeout", "5"], ["--timeout=5"], ["--timeout", "5", "--json", "--dry-run"]],
)
def test_what_most_commands_share_may_stand_before_the_command(before: list[str]) -> None:
    command = ["edit", "a.txt", "--old", "x", "--new", "y"]
    assert main.parse([*before, *command]) == main.parse([*command, *before])


def test_a_call_goes_to_the_operator_wherever_that_is_said() -> None:
    assert main.parse(["--operator", "call", "ping", "a=1"]) == main.parse(["call", "ping", "a=1", "--operator"])


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["--old", "x", "edit", "a.txt"], "--old stands before the command: write picoclawctl COMMAND --old"),
        (["--limit=5", "ls"], "--limit stands before the command: write picoclawctl COMMAND --limit"),
        (["--dry-run", "read", "x"], "read takes no --dry-run"),
        (["ls", "--operator"], "picoclawctl ls --help lists them"),
        (["--json"], "a COMMAND is missing behind --json"),
        (["--timeout", "5"], "a COMMAND is missing behind --timeout"),
        (["--timeout"], "a COMMAND is missing behind --timeout"),
    ],
)
def test_an_option_in_the_wrong_place_is_told_where_it_goes(
    argv: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main.parse(argv)
    assert caught.value.code == 2
    assert hint in capsys.readouterr().err


def test_help_is_shown_behind_a_shared_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main.parse(["--json", "edit", "--help"])
    assert caught.value.code == 0
    assert "--dry-run" in capsys.readouterr().out


def test_a_wrong_word_is_exit_code_2_even_without_a_daemon(lonely: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["call", "ping", "oops"]) == 2
    assert "key=value" in capsys.readouterr().err


@pytest.mark.parametrize(("slug", "code"), [("not_found", 1), ("confirmation_denied", 4)])
def test_a_call_that_fails_tells_its_exit_code(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], slug: str, code: int
) -> None:
    def refuse(_: Any) -> Any:
        raise Refusal(-32000, "refused by test", error=slug)

    daemon.handlers["remove_file"] = refuse
    assert main.main(["call", "remove_file"]) == code
    assert capsys.readouterr().err == "refused by test\n"
    assert main.main(["call", "remove_file", "--json"]) == code
    shown = capsys.readouterr()
    assert json.loads(shown.out)["data"]["error"] == slug
    assert shown.err == ""


def test_a_bug_shows_no_traceback(
    daemon: FakeDaemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Any) -> int:
        raise ZeroDivisionError("by test")

    monkeypatch.setattr(call, "run", broken)
    assert main.main(["call", "ping"]) == 1
    said = capsys.readouterr().err
    assert "ZeroDivisionError: by test" in said
    assert "Traceback" not in said
    monkeypatch.setenv("PICOCLAWD_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main.main(["call", "ping"])


def test_an_interrupted_call_is_exit_code_130(daemon: FakeDaemon) -> None:
    with subprocess.Popen([*COMMAND, "call", "slow"], stderr=subprocess.PIPE) as process:
        daemon.handlers["slow"] = lambda _: daemon.cancelled.wait(10)
        deadline = time.monotonic() + 10
        while not daemon.asked("slow"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
        daemon.cancelled.set()
    assert (process.returncode, said) == (130, b"")


def test_a_closed_pipe_ends_quietly(daemon: FakeDaemon) -> None:
    daemon.handlers["big"] = lambda _: {"content": "line\n" * 200_000}
    with subprocess.Popen([*COMMAND, "call", "big"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(5)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(10) == 0


def test_output_is_utf8_in_any_locale(daemon: FakeDaemon) -> None:
    daemon.handlers["say"] = lambda _: {"content": "é\ud800"}
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([*COMMAND, "call", "say"], capture_output=True, env=environment, timeout=10)
    assert (done.returncode, done.stdout) == (0, "é\\ud800\n".encode())


def test_a_call_loads_nothing_heavy(daemon: FakeDaemon) -> None:
    code = (
        "import sys; from picoclawd.client.main import main; main(['call', 'ping']);"
        "print(sorted({'trio', 'mcp', 'rich', 'typing', 'dataclasses', 'msgspec', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_a_ping_starts_in_less_than_four_bare_pythons(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The best of several pairs, taken in turns, so that a busy machine slows both. Compiled, as when installed."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "compiled"))
    pairs = [(_seconds([sys.executable, "-c", "pass"]), _seconds([*COMMAND, "call", "ping"])) for _ in range(15)]
    bare, ping = (min(times) for times in zip(*pairs, strict=True))
    assert ping < 4 * bare, (bare, ping)


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # a timeout would wait in steps of up to 50 ms
    return time.perf_counter() - began
