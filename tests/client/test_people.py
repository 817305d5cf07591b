import json

import pytest

from picoclawd.client import main, people


@pytest.mark.parametrize("command", people.OPTIONS)
def test_each_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main.main([command, "--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: picoclawctl {command}" in shown and "--json" in shown


WORDS = {"approve": ["a-1"], "deny": ["a-1"], "blame": ["x"], "diff": ["x"], "restore": ["1"]}


@pytest.mark.parametrize("command", people.OPTIONS)
def test_each_command_needs_the_operators_socket(
    command: str, lonely: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([command, *WORDS.get(command, []), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["data"]["error"] == "no_daemon"


@pytest.mark.parametrize("command", ["approve", "deny", "history", "diff", "restore", "undo"])
def test_what_takes_effect_has_a_dry_run(command: str) -> None:
    assert main.parse([command, *WORDS.get(command, []), "--dry-run"]).dry_run is True


@pytest.mark.parametrize(
    "argv",
    [
        ["approve"],
        ["deny", "a-1", "--task"],
        ["undo", "--task", "t", "--session", "s"],
        ["undo", "--task", "t", "--last", "10m"],
        ["diff", "--task", "t", "--from", "2026-05-01"],
        ["history", "--limit", "0"],
        ["blame"],
    ],
)
def test_wrong_usage_is_exit_code_2(argv: list[str], lonely: object) -> None:
    with pytest.raises(SystemExit) as caught:
        main.main(argv)
    assert caught.value.code == 2


def test_options_may_stand_between_paths() -> None:
    args = main.parse(["history", "a", "--limit", "3", "b"])
    assert (args.arguments, args.limit) == (["a", "b"], 3)
