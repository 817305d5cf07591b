"""Tests of the configuration Structs and of their schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from picoclawd.daemon.config import Config, DaemonConfig, config_type, schema, tool_sections
from picoclawd.daemon.config_load import load
from tests.daemon.sample import SECTIONS, ReadFile, daemon

EXAMPLE = Path(__file__).parents[2] / "config.example.json"


def valid(document: object, of: dict[str, Any]) -> bool:
    """Whether a JSON Schema validator of its own takes the document."""
    return bool(jsonschema.Draft202012Validator(of).is_valid(document))


def test_the_defaults_are_those_of_the_contract() -> None:
    config = config_type(SECTIONS)()
    assert msgspec.to_builtins(config.agents.defaults) == {
        "workspace": "~/.picoclaw/workspace",
        "restrict_to_workspace": True,
        "allow_read_outside_workspace": False,
    }
    assert config.tools.max_inline_result_chars == 16_384
    assert config.tools.allow_read_paths == config.tools.allow_write_paths == config.tools.unprotect == ()
    assert msgspec.to_builtins(config.daemon) == {
        "instance": None,
        "socket": None,
        "operator_socket": None,
        "state_dir": None,
        "redaction": "accident",
        "approvals": {"mode": "ask", "timeout_s": 120, "same_ancestor": "warn"},
        "max_request_bytes": 8_388_608,
        "max_in_flight": 64,
        "max_connections": 256,
        "max_buffered_bytes": 134_217_728,
        "slow_call_ms": 2_000,
        "text_cache_bytes": 268_435_456,
        "verify_files_max": 100_000,
        "new_file_mode": "0600",
        "output_dir": None,
        "history": {"max_age_days": 30, "max_bytes": 1_073_741_824},
        "speech_to_text": None,
        "decision_model": None,
    }


def test_every_tool_has_its_section_and_its_switch() -> None:
    config = config_type(SECTIONS)()
    assert config.tools.tool_names() == ("edit_file", "list_dir", "read_file")
    assert config.tools.section("read_file") == ReadFile()
    off = msgspec.structs.replace(config.tools, read_file=ReadFile(enabled=False))
    assert off.enabled() == {"edit_file", "list_dir"}
    with pytest.raises(KeyError):
        config.tools.section("allow_read_paths")


def test_a_configuration_is_a_value() -> None:
    assert daemon(max_in_flight=3) == daemon(max_in_flight=3) != daemon()
    with pytest.raises(AttributeError):
        daemon().daemon.instance = "x"  # type: ignore[misc]


def test_the_schema_takes_what_the_loader_takes_and_refuses_what_it_refuses() -> None:
    made = schema(SECTIONS)
    jsonschema.Draft202012Validator.check_schema(made)
    assert valid({}, made)
    assert valid({"$schema": "x", "channels": {}, "tools": {"web": {}, "read_file": {"mode": "lines"}}}, made)
    assert valid({"daemon": {"speech_to_text": {"engine": "pocketsphinx"}}}, made)
    for bad in (
        {"tools": {"read_file": {"mode": "pages"}}},
        {"tools": {"read_file": {"mod": "lines"}}},
        {"daemon": {"sokcet": "/x"}},
        {"daemon": {"max_in_flight": "64"}},
        {"daemon": {"max_in_flight": 0}},
        {"daemon": {"speech_to_text": {"engine": "ears"}}},
    ):
        assert not valid(bad, made), bad


def test_every_daemon_key_is_described() -> None:
    made = schema(SECTIONS)
    described = made["$defs"]["DaemonConfig"]["properties"]
    assert set(described) == set(DaemonConfig.__struct_fields__)
    # A section's own Struct describes it.
    assert {name for name, of in described.items() if "description" not in of} == {"approvals", "history"}


def test_the_example_file_is_valid_and_loads_without_a_warning(tmp_path: Path) -> None:
    example = json.loads(EXAMPLE.read_text())
    assert valid(example, schema())
    loaded = load(config=str(EXAMPLE), instance=None, workspace=None, environ={"HOME": str(tmp_path)})
    assert isinstance(loaded.config, Config)
    assert loaded.warnings == ()


def test_the_example_file_shows_every_key_with_its_default() -> None:
    example = json.loads(EXAMPLE.read_text())
    example.pop("$schema")
    assert example == json.loads(msgspec.json.encode(config_type(tool_sections())()))
