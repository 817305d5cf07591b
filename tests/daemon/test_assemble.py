"""Each setting reaches the part that it is for."""

import os
from pathlib import Path

import msgspec
import pytest

from picoclawd.daemon import assemble
from picoclawd.daemon.config import Config, config_type
from picoclawd.daemon.config_walk import read_struct
from picoclawd.daemon.findings import Findings
from picoclawd.daemon.instance import Instance
from picoclawd.errors import Fault, Slug
from picoclawd.service import Service
from picoclawd.speech.engine import Command, Draft, Engine
from picoclawd.tools._registry import discover


def config(**keys: object) -> Config:
    """A configuration with these keys: `tools__x=1` is `tools.x`."""
    raw: dict[str, object] = {}
    for key, value in keys.items():
        node = raw
        *parents, leaf = key.split("__")
        for parent in parents:
            node = node.setdefault(parent, {})  # type: ignore[assignment]
        node[leaf] = value
    findings = Findings()
    made = read_struct(config_type({name: tool.settings for name, tool in discover().items()}), raw, "", findings)
    assert isinstance(made, Config) and not findings.faults, findings.faults
    return made


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    run = tmp_path / "run"
    places = {name: str(tmp_path / name) for name in ("workspace", "state_dir")}
    return Instance(
        name="n",
        **places,
        runtime_dir=str(run),
        agent_socket=str(run / "a/s"),
        operator_socket=None,
        agent_socket_configured=False,
        operator_socket_configured=False,
        warnings=(),
    )


def test_the_daemons_own_files_are_nobodys_by_their_real_paths(tmp_path: Path, instance: Instance) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/real.json").touch()
    (tmp_path / "link.json").symlink_to("conf/real.json")
    policy = assemble.policy_of(config(), instance, str(tmp_path / "link.json"))
    own = {os.path.relpath(os.fsdecode(path), os.path.realpath(tmp_path)) for path in policy.rules.own}
    assert own == {"state_dir", "run", "run/a/s", "conf/real.json"}


def test_path_settings_reach_the_policy_and_a_bad_pattern_is_named(instance: Instance) -> None:
    given = config(
        tools__allow_read_paths=["^/r"],
        tools__allow_write_paths=["^/w"],
        tools__unprotect=["^u$"],
        agents__defaults__restrict_to_workspace=False,
        agents__defaults__allow_read_outside_workspace=True,
    )
    rules = assemble.policy_of(given, instance, None).rules
    assert (rules.allow_read, rules.allow_write, rules.unprotect) == (("^/r",), ("^/w",), ("^u$",))
    assert (rules.restrict, rules.allow_read_outside) == (False, True)
    bad = msgspec.structs.replace(given, tools=msgspec.structs.replace(given.tools, allow_read_paths=("(",)))
    with pytest.raises(Fault) as caught:
        assemble.policy_of(bad, instance, None)
    assert caught.value.slug is Slug.INVALID_PARAMS
    assert "allow_read" in caught.value.message


def test_a_new_files_mode_is_private_or_left_to_the_umask() -> None:
    assert assemble.options_of(config()).new_file_mode == 0o600
    assert assemble.options_of(config(daemon__new_file_mode="umask")).new_file_mode is None
    options = assemble.options_of(config(daemon__redaction="strict", daemon__text_cache_bytes=0))
    assert (options.redaction, options.text_cache_bytes) == ("strict", 0)


def test_a_tool_that_is_switched_off_is_not_there_and_others_have_their_settings() -> None:
    toolbox = assemble.toolbox_of(config(tools__write_file={"enabled": False}, tools__read_file={"mode": "lines"}))
    assert toolbox.names == set(discover()) - {"write_file"}
    assert toolbox.entries["read_file"][1].mode == "lines"  # type: ignore[attr-defined]


def test_a_client_is_told_the_bounds_that_hold() -> None:
    given = config(daemon__max_in_flight=3, daemon__max_connections=7)
    wire = assemble.wire_settings_of(given)
    assert (wire.max_in_flight, wire.max_connections) == (3, 7)
    assert assemble.limits_of(given)["max_in_flight"] == 3
    assert assemble.limits_of(given)["max_request_bytes"] == wire.max_request_bytes


def test_the_engine_and_the_decision_model_arrive_as_plain_values() -> None:
    where = {"base_url": "http://h/v1", "model": "m", "api_key_env": "K"}
    service = Service("http://h/v1", "m", "K")
    assert assemble.options_of(config()).speech is None
    assert assemble.options_of(config()).decision_model is None
    assert assemble.options_of(config(daemon__decision_model=where)).decision_model == service
    engines: list[tuple[dict[str, object], Engine]] = [
        ({"engine": "openai", **where}, service),
        ({"engine": "command", "argv": ["hear", "{audio}"]}, Command(("hear", "{audio}"))),
        ({"engine": "pocketsphinx"}, Draft()),
    ]
    for raw, engine in engines:
        assert assemble.options_of(config(daemon__speech_to_text=raw)).speech == engine
