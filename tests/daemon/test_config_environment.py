"""Tests of variables in paths and of the switches in the environment."""

import msgspec
import pytest

from picoclawd.daemon.config import Config
from picoclawd.daemon.config_environment import apply_switches, expand, expand_paths
from picoclawd.daemon.findings import Findings
from tests.daemon.sample import SECTIONS, daemon, walked

ENV = {"HOME": "/home/ada", "A": "/a", "EMPTY": "", "TILDE": "~"}


@pytest.mark.parametrize(
    ("value", "expanded"),
    [
        ("/plain", "/plain"),
        ("~", "/home/ada"),
        ("~/w", "/home/ada/w"),
        ("$A/b", "/a/b"),
        ("${A}b", "/ab"),
        ("x$EMPTY/y", "x/y"),
        ("a/~", "a/~"),
        ("$TILDE/x", "~/x"),
        ("cost$", "cost$"),
        ("$1 ${} ${a-b}", "$1 ${} ${a-b}"),
    ],
)
def test_a_path_expands(value: str, expanded: str) -> None:
    assert expand(value, ENV) == expanded


@pytest.mark.parametrize(
    ("value", "said"),
    [("$NO/x", "$NO is not set"), ("${NO}", "$NO is not set"), ("~no.such.user/x", "no user named"), ("a\0b", "NUL")],
)
def test_what_cannot_expand_says_why(value: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("$", r"\$")):
        expand(value, ENV)


def test_without_home_the_user_database_decides() -> None:
    assert expand("~/x", {}).startswith("/")


def test_paths_in_a_configuration_become_absolute() -> None:
    findings = Findings()
    config = daemon(socket="s", operator_socket="", state_dir="$A/state", output_dir="$A/out")
    config = expand_paths(config, "/etc/pico", ENV, findings)
    assert config.agents.defaults.workspace == "/home/ada/.picoclaw/workspace"
    assert config.daemon.socket == "/etc/pico/s"
    assert config.daemon.operator_socket == ""
    assert config.daemon.state_dir == "/a/state"
    assert config.daemon.output_dir == "/a/out"
    assert expand_paths(daemon(output_dir="out"), "/x", ENV, findings).daemon.output_dir == "out"
    assert findings.faults == []


def test_every_path_that_cannot_expand_is_a_fault_of_its_own() -> None:
    findings = Findings()
    expand_paths(daemon(socket="$NO", state_dir="${NO}"), "/", ENV, findings)
    assert [fault.path for fault in findings.faults] == ["daemon.socket", "daemon.state_dir"]


def switched(environ: dict[str, str], absent: frozenset[str] = frozenset()) -> tuple[Config, Findings]:
    findings = Findings()
    return apply_switches(walked({})[0], SECTIONS, absent, environ, findings), findings


@pytest.mark.parametrize("word", ["false", "FALSE", "0", "f"])
def test_a_switch_turns_a_tool_off(word: str) -> None:
    config, findings = switched({"PICOCLAW_TOOLS_EDIT_FILE_ENABLED": word})
    assert config.tools.enabled() == {"read_file", "list_dir"}
    assert (findings.faults, findings.warnings) == ([], [])


def test_a_switch_overrides_the_file() -> None:
    findings = Findings()
    config, _ = walked({"tools": {"edit_file": {"enabled": False}}})
    config = apply_switches(config, SECTIONS, frozenset(), {"PICOCLAW_TOOLS_EDIT_FILE_ENABLED": "true"}, findings)
    assert "edit_file" in config.tools.enabled()


def test_a_switch_that_is_no_boolean_is_a_fault() -> None:
    _, findings = switched({"PICOCLAW_TOOLS_EDIT_FILE_ENABLED": "nope"})
    assert [str(fault) for fault in findings.faults] == ["PICOCLAW_TOOLS_EDIT_FILE_ENABLED: must be true or false"]


def test_an_empty_switch_is_not_set() -> None:
    config, findings = switched({"PICOCLAW_TOOLS_EDIT_FILE_ENABLED": ""})
    assert config == walked({})[0]
    assert findings.faults == []


def test_read_file_has_no_switch_in_the_environment() -> None:
    config, findings = switched({"PICOCLAW_TOOLS_READ_FILE_ENABLED": "false"})
    assert "read_file" in config.tools.enabled()
    assert len(findings.warnings) == 1


def test_switches_of_other_tools_are_passed_over_unless_nearly_ours() -> None:
    environ = {f"PICOCLAW_TOOLS_{name}_ENABLED": "false" for name in ("WEB", "LIST_DIRS", "FIND_FILES")}
    config, findings = switched(environ, absent=frozenset({"find_files"}))
    assert config == walked({})[0]
    assert findings.warnings == [
        "PICOCLAW_TOOLS_FIND_FILES_ENABLED: ignored: this version has no tool find_files",
        "PICOCLAW_TOOLS_LIST_DIRS_ENABLED: ignored; did you mean PICOCLAW_TOOLS_LIST_DIR_ENABLED?",
    ]


def test_switching_keeps_the_tools_other_settings() -> None:
    config, _ = walked({"tools": {"list_dir": {}}})
    before = msgspec.to_builtins(config.tools)
    after = msgspec.to_builtins(switched({"PICOCLAW_TOOLS_LIST_DIR_ENABLED": "0"})[0].tools)
    assert after == {**before, "list_dir": {"enabled": False}}
