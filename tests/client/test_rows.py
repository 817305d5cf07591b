import argparse
import sys
from typing import Any

import pytest

from picoclawd.client.rows import Printer, Style, path_here, style_of

LINES = [{"path": "a.py", "line": 3, "text": "x"}, {"path": "a.py", "line": 9, "text": "y"}]
OTHER = {"path": "b.py", "line": 1, "text": "z"}


def block(path: str, start: int, *texts: str) -> dict[str, Any]:
    lines = [{"line": start + i, "text": text, "match": text.isupper()} for i, text in enumerate(texts)]
    return {"path": path, "start_line": start, "lines": lines}


def shown(capsys: pytest.CaptureFixture[str], rows: list[Any], style: Style | None = None, here: str = "/w") -> str:
    Printer(style or Style(), "/w", here).show(rows)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([*LINES, OTHER], "a.py:3:x\na.py:9:y\nb.py:1:z\n"),
        ([{"path": "a.py"}, {"path": "d", "kind": "dir", "ignored": True}], "a.py\nd/ (ignored)\n"),
        ([{"path": "a.py", "count": 3}, {"path": "b", "count": 2, "lines": [1, 4]}], "a.py:3\nb:2\n"),
        ([block("a", 1, "x", "Y"), block("a", 7, "Z")], "a-1-x\na:2:Y\n--\na:7:Z\n"),
        ([block("a", 1, "X"), block("b", 2, "Z")], "a:1:X\n--\nb:2:Z\n"),
    ],
)
def test_a_pipe_gets_rows_as_rg_writes_them(capsys: pytest.CaptureFixture[str], rows: list[Any], text: str) -> None:
    assert shown(capsys, rows) == text


def test_a_block_that_was_split_is_shown_in_one_piece(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, [block("a", 1, "X", "Y"), block("a", 3, "Z")]) == "a:1:X\na:2:Y\na:3:Z\n"


def test_pages_go_on_where_the_last_one_ended(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer(Style(heading=True), "/w", "/w")
    printer.show(LINES[:1])
    printer.show([LINES[1], OTHER])
    assert capsys.readouterr().out == "a.py\n3:x\n9:y\n\nb.py\n1:z\n"


def test_headings_part_files_and_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [block("a", 1, "X"), block("a", 7, "Y"), block("b", 1, "Z")]
    assert shown(capsys, rows, Style(heading=True)) == "a\n1:X\n--\n7:Y\n\nb\n1:Z\n"


def test_paths_are_magenta_and_line_numbers_green(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, [OTHER], Style(colour=True)) == "\x1b[35mb.py\x1b[0m:\x1b[32m1\x1b[0m:z\n"


def test_a_terminal_is_driven_by_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"path": "a\x1b[2J\nb", "line": 1, "text": "t\x1b[31m"}
    assert shown(capsys, [row], Style(is_terminal=True)) == "a\\x1b[2J\\nb:1:t\\x1b[31m\n"
    assert shown(capsys, [row]) == "a\\x1b[2J\\nb:1:t\x1b[31m\n", "a pipe gets the text as it is, one name one row"


def test_bytes_that_are_no_text_are_escaped_or_with_null_raw(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    row = {"path": "caf�\n", "path_bytes": "caf%E9%0A"}
    Printer(Style(), "/w", "/w").show([row])
    Printer(Style(null=True), "/w", "/w").show([row])
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == b"caf\\xe9\\n\ncaf\xe9\n\0"


@pytest.mark.parametrize(
    ("path", "workspace", "here", "seen"),
    [
        ("src/a.py", "/w", "/w", "src/a.py"),
        ("src/a.py", "/w", "/w/src", "a.py"),
        ("doc/a.md", "/w", "/w/src/x", "../../doc/a.md"),
        ("src/a.py", "/w", "/elsewhere", "src/a.py"),
        ("src/a.py", "", "/w/src", "src/a.py"),
        ("/etc/hosts", "/w", "/w/src", "/etc/hosts"),
    ],
)
def test_a_path_is_shown_as_the_shell_takes_it(path: str, workspace: str, here: str, seen: str) -> None:
    assert path_here(path, workspace, here) == seen


@pytest.mark.parametrize(
    ("color", "terminal", "environment", "coloured"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
    ],
)
def test_colour_is_for_terminals_unless_asked_for(
    color: str, terminal: bool, environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    style = style_of(argparse.Namespace(color=color, null=False))
    assert (style.colour, style.heading) == (coloured, terminal)
