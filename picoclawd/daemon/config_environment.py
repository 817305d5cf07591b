"""What the environment adds to a configuration: variables in paths, and a switch for each tool."""

import os
import re
from collections.abc import Mapping

import msgspec

from picoclawd.daemon.config import Config, Sections
from picoclawd.daemon.findings import Findings
from picoclawd.daemon.suggest import CLOSE, nearest

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_SWITCH = re.compile(r"PICOCLAW_TOOLS_([A-Z0-9_]+)_ENABLED")

# The spellings that PicoClaw itself takes (Go's ParseBool).
_BOOLEANS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}

_DAEMON_PATHS = ("socket", "operator_socket", "state_dir")


def expand(value: str, environ: Mapping[str, str]) -> str:
    """Replace a leading `~` or `~user`, `$VAR` and `${VAR}`. Any other `$` stands for itself.

    Raises ValueError, with what is wrong, for a variable that is not set, an unknown user, or a NUL.
    """
    expanded = _VARIABLE.sub(lambda match: _variable(match[1] or match[2], environ), value)
    if "\0" in expanded:
        raise ValueError("must not hold a NUL character")
    return _home(expanded, environ) if value.startswith("~") else expanded


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise ValueError(f"the variable ${name} is not set")
    return environ[name]


def _home(value: str, environ: Mapping[str, str]) -> str:
    head, slash, rest = value.partition("/")
    home = environ.get("HOME") if head == "~" else None
    home = home or os.path.expanduser(head)
    if home.startswith("~"):
        raise ValueError(f"there is no user named {head[1:]}")
    return home.rstrip("/") + slash + rest if slash else home


def expand_paths(config: Config, base: str, environ: Mapping[str, str], findings: Findings) -> Config:
    """The configuration with every path in it expanded and absolute; a relative one starts at `base`, the directory
    of the configuration file. `output_dir` may stay relative: it is then below the workspace."""

    def resolved(path: str, value: str | None, base: str) -> str | None:
        if not value:
            return value
        try:
            return os.path.join(base, expand(value, environ))
        except ValueError as exc:
            findings.fault(path, str(exc))
            return value

    defaults, daemon = config.agents.defaults, config.daemon
    workspace = resolved("agents.defaults.workspace", defaults.workspace, base)
    changed = {name: resolved(f"daemon.{name}", getattr(daemon, name), base) for name in _DAEMON_PATHS}
    changed["output_dir"] = resolved("daemon.output_dir", daemon.output_dir, "")
    agents = msgspec.structs.replace(config.agents, defaults=msgspec.structs.replace(defaults, workspace=workspace))
    return msgspec.structs.replace(config, agents=agents, daemon=msgspec.structs.replace(daemon, **changed))


def apply_switches(
    config: Config, sections: Sections, absent: frozenset[str], environ: Mapping[str, str], findings: Findings
) -> Config:
    """The configuration with `PICOCLAW_TOOLS_<TOOL>_ENABLED` applied; an empty variable counts as not set.

    read_file has no switch in the environment, as in PicoClaw; `absent` are tools that exist but not in this build.
    Variables of PicoClaw's other tools are passed over.
    """
    tools = config.tools
    for variable in sorted(environ):
        match = _SWITCH.fullmatch(variable)
        if match is None or not environ[variable]:
            continue
        name = match[1].lower()
        if name == "read_file":
            findings.warn(variable, "ignored: read_file is switched in the configuration file only")
        elif name in sections:
            enabled = _BOOLEANS.get(environ[variable].lower())
            if enabled is None:
                findings.fault(variable, "must be true or false")
            else:
                section = msgspec.structs.replace(config.tools.section(name), enabled=enabled)
                tools = msgspec.structs.replace(tools, **{name: section})
        elif name in absent:
            findings.warn(variable, f"ignored: this version has no tool {name}")
        elif (likely := nearest(name, sections, CLOSE)) is not None:
            findings.warn(variable, f"ignored; did you mean PICOCLAW_TOOLS_{likely.upper()}_ENABLED?")
    return msgspec.structs.replace(config, tools=tools)
