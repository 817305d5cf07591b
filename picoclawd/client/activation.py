"""Instances that may not have run yet, whose sockets systemd holds: to connect to one starts its daemon."""

import hashlib
import json
import os
import re

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_CONFIG_MAX_BYTES = 1024 * 1024
_BASENAME_CHARS_MAX = 32  # as the daemon derives names


def instances(here: str) -> "Iterator[tuple[str, str]]":
    """The name and the workspace of every instance that could be meant: those with a configuration of their own, and
    those whose name the daemon derives from `here` or a directory above it."""
    yield from _configured()
    while here:
        if (name := _derived(here)) is not None:
            yield name, here
        here = "" if here == "/" else os.path.dirname(here)


def _configured() -> "Iterator[tuple[str, str]]":
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    directory = os.path.join(home, "picoclawd")
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json"))
    except OSError:
        return
    for name in names:
        config = _read(os.path.join(directory, name))
        workspace = _at(config, "agents", "defaults", "workspace")
        if isinstance(workspace, str) and workspace:
            place = os.path.expanduser(os.path.expandvars(workspace))
            instance = _at(config, "daemon", "instance")
            yield instance if isinstance(instance, str) else name[: -len(".json")], os.path.join(directory, place)


def _derived(directory: str) -> str | None:
    try:
        stat = os.stat(directory)
    except OSError:
        return None
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", os.path.basename(directory))[:_BASENAME_CHARS_MAX] or "root"
    return f"{plain}-{hashlib.sha256(f'{stat.st_dev}:{stat.st_ino}'.encode()).hexdigest()[:8]}"


def _read(path: str) -> "Any":
    try:
        with open(path, "rb") as file:
            return json.loads(file.read(_CONFIG_MAX_BYTES))
    except (OSError, ValueError):
        return None  # the daemon says what is wrong with it; here it names no workspace


def _at(config: "Any", *keys: str) -> "Any":
    for key in keys:
        config = config.get(key) if isinstance(config, dict) else None
    return config
