"""Tests of check-config."""

from pathlib import Path

from picoclawd.daemon.config_check import check
from tests.daemon.sample import SECTIONS


def checked(tmp_path: Path, content: str) -> tuple[list[str], int]:
    path = tmp_path / "c.json"
    path.write_text(content)
    return check(config=str(path), instance=None, environ={"HOME": str(tmp_path)}, sections=SECTIONS)


def test_a_valid_file_says_so_and_which_it_was(tmp_path: Path) -> None:
    assert checked(tmp_path, "{}") == ([f"read {tmp_path}/c.json", "configuration is valid"], 0)


def test_the_defaults_are_named_where_there_is_no_file(tmp_path: Path) -> None:
    lines, status = check(config=None, instance=None, environ={"HOME": str(tmp_path)}, sections=SECTIONS)
    assert (lines[0], status) == ("no configuration file: the built-in defaults", 0)


def test_warnings_do_not_fail(tmp_path: Path) -> None:
    lines, status = checked(tmp_path, '{"tools": {"reed_file": {}}}')
    assert lines[1] == "warning: tools.reed_file: ignored; did you mean tools.read_file?"
    assert status == 0


def test_every_fault_is_printed_with_its_path_and_the_nearest_key(tmp_path: Path) -> None:
    lines, status = checked(tmp_path, '{"tools": {"read_file": {"mod": 1}}, "daemon": {"redaction": "none"}}')
    assert lines == [
        f"read {tmp_path}/c.json",
        "tools.read_file.mod: unknown key; the nearest valid key is tools.read_file.mode",
        'daemon.redaction: must be one of "accident", "strict"; it is "none"',
        "2 faults: the configuration cannot be used",
    ]
    assert status == 2


def test_a_file_that_is_no_json_says_where(tmp_path: Path) -> None:
    lines, status = checked(tmp_path, '{\n"a" 1}')
    assert "line 2, column 5" in lines[1]
    assert lines[-1] == "1 fault: the configuration cannot be used"
    assert status == 2


def test_keys_from_the_file_cannot_steer_the_terminal(tmp_path: Path) -> None:
    lines, _ = checked(tmp_path, '{"daemon": {"a\\u001b[31m\\nb": 1}}')
    assert "\\x1b[31m\\nb" in lines[1]
    assert not any("\x1b" in line or "\n" in line for line in lines)
