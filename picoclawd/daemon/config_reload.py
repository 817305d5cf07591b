"""What a reload may change while the daemon runs, and what needs a restart."""

import msgspec
from msgspec import Struct

from picoclawd.daemon.config import Config, DaemonConfig

# `daemon` keys that are read anew at each use.
_RELOADABLE = (
    "approvals",
    "slow_call_ms",
    *(name for name in DaemonConfig.__struct_fields__ if name.startswith("max_")),
)


def reloadable_diff(old: Config, new: Config) -> tuple[Config, list[str]]:
    """The configuration to run with from now on, and the JSON paths of changes that wait for a restart.

    `tools.*`, the limits (`daemon.max_*`), `daemon.slow_call_ms` and `daemon.approvals` are taken from `new`, all else
    stays as in `old`.
    """
    limits = {name: getattr(new.daemon, name) for name in _RELOADABLE}
    effective = msgspec.structs.replace(old, tools=new.tools, daemon=msgspec.structs.replace(old.daemon, **limits))
    waiting = _changed(old.agents, new.agents, "agents") + _changed(effective.daemon, new.daemon, "daemon")
    return effective, waiting


def _changed(old: Struct, new: Struct, path: str) -> list[str]:
    """The JSON paths at which two values of one Struct differ."""
    found: list[str] = []
    for name in old.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if isinstance(before, Struct) and type(before) is type(after):
            found += _changed(before, after, f"{path}.{name}")
        else:
            found.append(f"{path}.{name}")
    return found
