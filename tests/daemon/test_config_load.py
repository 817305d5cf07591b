"""Tests of loading a configuration from end to end."""

import json
from pathlib import Path

import pytest

from picoclawd.daemon.config_load import FAMILY, Loaded, load
from picoclawd.daemon.findings import ConfigFaults
from tests.daemon.sample import SECTIONS


def loaded(tmp_path: Path, raw: object, **environ: str) -> Loaded:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(raw))
    env = {"HOME": str(tmp_path), **environ}
    return load(config=str(path), instance=None, workspace=None, environ=env, sections=SECTIONS)


def faults_of(tmp_path: Path, raw: object, **environ: str) -> list[str]:
    with pytest.raises(ConfigFaults) as raised:
        loaded(tmp_path, raw, **environ)
    return [str(fault) for fault in raised.value.faults]


def test_no_file_is_the_defaults(tmp_path: Path) -> None:
    found = load(config=None, instance=None, workspace=None, environ={"HOME": str(tmp_path)}, sections=SECTIONS)
    assert found.path is None
    assert found.config.agents.defaults.workspace == f"{tmp_path}/.picoclaw/workspace"


def test_a_workspace_option_alone_reads_no_file_not_even_the_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.json").write_text("no json")
    monkeypatch.chdir(tmp_path)
    environ = {"HOME": str(tmp_path), "PICOCLAWD_CONFIG": str(tmp_path / "bad.json")}
    found = load(config=None, instance=None, workspace="ws", environ=environ, sections=SECTIONS)
    assert found.path is None
    assert found.config.agents.defaults.workspace == f"{tmp_path}/ws"


def test_a_workspace_option_beside_a_file_overrides_its_workspace(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"agents": {"defaults": {"workspace": "/w"}}, "daemon": {"max_in_flight": 3}}')
    found = load(config=str(path), instance=None, workspace="/v", environ={}, sections=SECTIONS)
    assert found.config.agents.defaults.workspace == "/v"
    assert found.config.daemon.max_in_flight == 3


def test_faults_of_shape_paths_patterns_and_switches_come_together(tmp_path: Path) -> None:
    found = faults_of(
        tmp_path,
        {
            "tools": {"read_file": {"mode": "pages"}, "allow_read_paths": ["ok", "("], "unprotect": ["(?<=a)b"]},
            "daemon": {"state_dir": "$NOWHERE/x", "instance": "a/b", "socket": ""},
        },
        PICOCLAW_TOOLS_LIST_DIR_ENABLED="maybe",
    )
    assert [fault.split(":")[0] for fault in found] == [
        "tools.read_file.mode",
        "daemon.state_dir",
        "PICOCLAW_TOOLS_LIST_DIR_ENABLED",
        "tools.allow_read_paths[1]",
        "tools.unprotect[0]",
        "daemon.instance",
        "daemon.socket",
    ]


def test_one_request_must_fit_the_memory_of_all(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path, {"daemon": {"max_request_bytes": 1 << 20, "max_buffered_bytes": 1 << 19}})
    assert fault.startswith("daemon.max_buffered_bytes: must be at least")


def test_a_glob_has_no_bad_form(tmp_path: Path) -> None:
    globs = ["[", "{a", "", "**", ".claude/**"]
    assert loaded(tmp_path, {"tools": {"confirm_write_globs": globs}}).config.tools.confirm_write_globs == tuple(globs)


def test_a_configuration_of_picoclaw_loads_with_warnings_where_they_help(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        {
            "agents": {"defaults": {"workspace": "~/ws", "model_name": "m", "max_tokens": 1}},
            "channels": {"telegram": {"token": "t"}},
            "tools": {
                "filter_sensitive_data": True,
                "filter_min_length": 8,
                "web": {"brave": {}},
                "find_files": {"enabled": True},
                "readfile": {},
            },
        },
    )
    assert found.config.agents.defaults.workspace == f"{tmp_path}/ws"
    assert found.warnings == (
        "tools.filter_sensitive_data: ignored: secrets are always masked, no switch turns that off",
        "tools.filter_min_length: ignored: secrets are always masked, no switch turns that off",
        "tools.find_files: ignored: this version has no tool find_files",
        "tools.readfile: ignored; did you mean tools.read_file?",
    )


def test_a_relative_path_starts_at_the_files_directory(tmp_path: Path) -> None:
    found = loaded(tmp_path, {"agents": {"defaults": {"workspace": "ws"}}})
    assert found.config.agents.defaults.workspace == f"{tmp_path}/ws"


def test_tools_that_are_no_object_are_one_fault(tmp_path: Path) -> None:
    assert faults_of(tmp_path, {"tools": 3}) == ["tools: must be an object, not a number"]


def test_an_instance_that_cannot_be_a_name_is_refused_before_any_file_is_looked_for() -> None:
    with pytest.raises(ConfigFaults, match="--instance"):
        load(config=None, instance="../x", workspace=None, environ={}, sections=SECTIONS)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigFaults, match="cannot be read: No such file"):
        load(config=None, instance=None, workspace=None, environ={"PICOCLAWD_CONFIG": str(tmp_path / "none")})


def test_the_tools_of_this_build_are_known_by_themselves(tmp_path: Path) -> None:
    found = load(config=None, instance=None, workspace=None, environ={"HOME": str(tmp_path)})
    names = set(found.config.tools.tool_names())
    assert {"read_file", "write_file", "edit_file", "append_file", "list_dir"} <= names <= FAMILY
