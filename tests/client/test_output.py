import json
import shlex
import sys
from typing import Any

import pytest

from picoclawd.client import output
from picoclawd.client.failures import NoDaemon, RpcError

TRICKY = "a\x1b[31mred\u202egnp.exe\x9b"


def test_a_result_shows_its_content(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_result({"content": "text\n", "data": {"n": 1}}, False)
    assert capsys.readouterr().out == "text\n"


def test_content_without_a_last_newline_gets_one(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_result({"content": "text"}, False)
    assert capsys.readouterr().out == "text\n"


@pytest.mark.parametrize(
    ("result", "as_json"), [({"n": "é"}, False), ({"content": "x"}, True), ([1], False), (None, False)]
)
def test_a_result_without_content_is_shown_as_json(
    capsys: pytest.CaptureFixture[str], result: Any, as_json: bool
) -> None:
    output.show_result(result, as_json)
    assert json.loads(capsys.readouterr().out) == result


def test_a_pipe_gets_the_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_text(TRICKY)
    assert capsys.readouterr().out == TRICKY + "\n"


def test_a_terminal_gets_no_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    output.show_text(TRICKY)
    assert capsys.readouterr().out == "a\\x1b[31mred\\u202egnp.exe\\u009b\n"


def test_stderr_is_always_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_failure(NoDaemon(TRICKY), False, False)
    assert capsys.readouterr().err == "a\\x1b[31mred\\u202egnp.exe\\u009b\n"


def test_a_failure_as_json_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_failure(RpcError({"code": -1, "message": "m", "data": {"error": "s"}}), True, False)
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"code": -1, "message": "m", "data": {"error": "s"}}
    assert shown.err == ""


def test_the_next_call_is_a_command_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    call = {"method": "read_file", "params": {"path": "a b", "start_line": 3}}
    output.show_failure(RpcError({"message": "stale", "data": {"error": "x", "next": call}}), False, True)
    assert capsys.readouterr().err == "stale\nnext: picoclawctl call read_file 'path=a b' start_line:=3 --operator\n"


def test_an_unknown_method_is_followed_by_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    failure = RpcError({"message": "no such method", "data": {"error": "x", "available": ["ls", "read"]}})
    output.show_failure(failure, False, False)
    assert capsys.readouterr().err == "no such method\navailable: ls, read\n"


@pytest.mark.parametrize(
    "params",
    [
        {"path": "it's $HOME `x`"},
        {"path": "@home", "n": -1, "b": True, "l": ["a", None]},
        {"path": "two\nlines"},
        {"path": TRICKY},
        {"odd key": "x"},
        [1, "two"],
        {},
    ],
)
def test_a_shown_command_means_the_same_call(params: Any) -> None:
    line = output.command({"method": "m", "params": params}, False)
    assert line.isprintable()
    method, found = parse(line)
    assert (method, found) == ("m", params)


def parse(line: str) -> tuple[str, Any]:
    """What `picoclawctl` would send for a command line that `output.command` made."""
    from picoclawd.client import arguments
    from picoclawd.client.main import parse as parse_command

    args = parse_command(shlex.split(line)[1:])
    return args.method, arguments.params([arguments.Word(word) for word in args.arguments], args.params, None)


def test_rows_are_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_lines([{"a": "x\ny"}, None])
    assert capsys.readouterr().out == '{"a": "x\\ny"}\nnull\n'


def test_lines_of_json_are_escaped_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    output.show_lines([{"a": TRICKY}])
    assert capsys.readouterr().out == '{"a": "a\\u001b[31mred\\u202egnp.exe\\u009b"}\n'


def test_one_line_stays_one_in_a_pipe_too() -> None:
    assert output.one_line(f"{TRICKY}\nsecond\tthird") == "a\\x1b[31mred\\u202egnp.exe\\u009b\\nsecond\\tthird"


@pytest.mark.parametrize(
    ("choice", "is_terminal", "variables", "wanted"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch, choice: str, is_terminal: bool, variables: dict[str, str], wanted: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    assert output.wants_colour(choice) is wanted
