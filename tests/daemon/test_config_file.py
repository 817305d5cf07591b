"""Tests of finding and reading the configuration file."""

import os
from pathlib import Path

import pytest

from picoclawd.daemon.config_file import CONFIG_BYTES_MAX, config_home, find, home_directory, read
from picoclawd.daemon.findings import ConfigFaults


def touch(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    return str(path)


def test_the_search_order_is_option_variable_xdg_picoclaw_defaults(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert find(None, None, environ) is None
    picoclaws = touch(tmp_path / ".picoclaw/config.json")
    assert find(None, None, environ) == picoclaws
    default = touch(tmp_path / "xdg/picoclawd/default.json")
    work = touch(tmp_path / "xdg/picoclawd/work.json")
    assert find(None, None, environ) == default
    assert find(None, "work", environ) == work
    assert find(None, "other", environ) == picoclaws
    environ["PICOCLAWD_CONFIG"] = "/variable.json"
    assert find(None, None, environ) == "/variable.json"
    assert find("/option.json", "work", environ) == "/option.json"
    environ["PICOCLAWD_CONFIG"] = ""
    assert find(None, None, environ) == default


def test_without_xdg_the_home_directory_counts() -> None:
    assert config_home({"HOME": "/h"}) == "/h/.config/picoclawd"
    assert config_home({"HOME": "/h", "XDG_CONFIG_HOME": "relative"}) == "/h/.config/picoclawd"
    assert home_directory({}).startswith("/")


def fault_of(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "c.json"
    path.write_bytes(content)
    with pytest.raises(ConfigFaults) as raised:
        read(str(path))
    (fault,) = raised.value.faults
    assert fault.path == raised.value.path == str(path)
    return fault.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1,\n  "b": }', "line 2, column 8"),
        (b'{"a": 1', "line 1, column 8"),
        (b"", "line 1, column 1"),
        (b'{"a": NaN}', "not valid JSON"),
        (b'{"a": "\\ud83d"}', "not valid JSON"),
        (b'{\n"a": "\xff"}', "is not UTF-8: line 2"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "must hold one JSON object"),
        (b'{"a": 1} x', "line 1, column 10"),
        (b"{}" + b" " * CONFIG_BYTES_MAX, "is larger than"),
    ],
)
def test_a_file_that_is_no_configuration_says_why_and_where(tmp_path: Path, content: bytes, said: str) -> None:
    assert said in fault_of(tmp_path, content)


def test_a_byte_order_mark_is_passed_over_and_the_last_of_equal_keys_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1, "a": 2}')
    assert read(str(path)) == {"a": 2}


def test_a_missing_file_a_directory_and_a_fifo_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name, said in (("none", "No such file"), (".", "director"), ("fifo", "not a regular file")):
        with pytest.raises(ConfigFaults, match=said):
            read(str(tmp_path / name))
