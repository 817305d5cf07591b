"""Load the configuration: file, environment, checks. Every fault is reported, not only the first."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from picoclawd.daemon import config_environment, config_file
from picoclawd.daemon.config import Config, Sections, config_type, tool_sections
from picoclawd.daemon.config_walk import read_struct
from picoclawd.daemon.findings import ConfigFaults, Findings
from picoclawd.daemon.instance import NAME_RULE, is_name
from picoclawd.errors import Fault
from picoclawd.index.matcher import compile_pattern

# Tools of the family that a build may lack: a configuration that is ready for them still loads.
FAMILY = frozenset(
    {
        "read_file",
        "write_file",
        "edit_file",
        "append_file",
        "list_dir",
        "search_files",
        "find_files",
        "read_files",
        "remove_file",
        "restore_file",
        "file_history",
        "open_file",
    }
)
# PicoClaw's own filter for sensitive data.
FILTER_KEYS = ("filter_sensitive_data", "filter_min_length")


class Loaded(msgspec.Struct, frozen=True):
    """A usable configuration, the file it came from (None: built-in defaults), and what to tell the person."""

    config: Config
    path: str | None
    warnings: tuple[str, ...]


def load(
    *,
    config: str | None,
    instance: str | None,
    workspace: str | None,
    environ: Mapping[str, str],
    sections: Sections | None = None,
) -> Loaded:
    """Load what `--config`, `--instance` and `--workspace` ask for; None where the option was not given.

    `workspace` without `config` reads no file at all. Paths in the result are absolute, `~` and variables expanded.
    `sections` are the tools' settings by name; those of this build where None.

    Raises: ConfigFaults with every fault found.
    """
    findings = Findings()
    if instance is not None and not is_name(instance):
        findings.fault("--instance", NAME_RULE)
        raise ConfigFaults(findings.faults)
    path = None if workspace is not None and config is None else config_file.find(config, instance, environ)
    known = tool_sections() if sections is None else sections
    raw = {} if path is None else config_file.read(path)
    loaded = _build(raw, known, environ, os.path.dirname(path) if path else os.getcwd(), findings)
    if workspace is not None:
        loaded = _with_workspace(loaded, workspace)
    if findings.faults:
        raise ConfigFaults(findings.faults, findings.warnings, path)
    return Loaded(loaded, path, tuple(findings.warnings))


def _build(
    raw: dict[str, Any], sections: Sections, environ: Mapping[str, str], base: str, findings: Findings
) -> Config:
    absent = FAMILY - set(sections)
    kind = config_type(sections)
    built = read_struct(kind, _without_ignored(raw, absent, findings), "", findings)
    config = built if isinstance(built, Config) else kind()
    config = config_environment.expand_paths(config, base, environ, findings)
    config = config_environment.apply_switches(config, sections, absent, environ, findings)
    _check_patterns(config, findings)
    _check_daemon(config, findings)
    return config


def _without_ignored(raw: dict[str, Any], absent: frozenset[str], findings: Findings) -> dict[str, Any]:
    """The file's object without the keys under `tools` that belong to the family but that nothing reads."""
    tools = raw.get("tools")
    if not isinstance(tools, dict):
        return raw
    for name in tools:
        if name in FILTER_KEYS:
            findings.warn(f"tools.{name}", "ignored: secrets are always masked, no switch turns that off")
        elif name in absent:
            findings.warn(f"tools.{name}", f"ignored: this version has no tool {name}")
    return {**raw, "tools": {name: value for name, value in tools.items() if name not in absent.union(FILTER_KEYS)}}


def _check_patterns(config: Config, findings: Findings) -> None:
    """Every pattern that guards paths must compile. A glob has no bad form."""
    for key in ("allow_read_paths", "allow_write_paths", "unprotect"):
        for index, source in enumerate(getattr(config.tools, key)):
            try:
                compile_pattern(source)
            except Fault as fault:
                findings.fault(f"tools.{key}[{index}]", fault.message)


def _check_daemon(config: Config, findings: Findings) -> None:
    """What no key can be judged for alone."""
    daemon = config.daemon
    if daemon.instance is not None and not is_name(daemon.instance):
        findings.fault("daemon.instance", NAME_RULE)
    for name in ("socket", "state_dir"):
        if getattr(daemon, name) == "":
            findings.fault(f"daemon.{name}", "must not be empty; leave the key out to have it derived")
    if daemon.max_request_bytes > daemon.max_buffered_bytes:
        message = f"must be at least daemon.max_request_bytes, {daemon.max_request_bytes}"
        findings.fault("daemon.max_buffered_bytes", message)


def _with_workspace(config: Config, workspace: str) -> Config:
    """The configuration with the workspace of the command line, relative to the working directory."""
    defaults = msgspec.structs.replace(config.agents.defaults, workspace=os.path.abspath(workspace))
    return msgspec.structs.replace(config, agents=msgspec.structs.replace(config.agents, defaults=defaults))
