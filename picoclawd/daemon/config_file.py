"""Find the configuration file and turn its bytes into plain JSON values."""

import json
import os
import stat
from collections.abc import Mapping
from typing import Any

import msgspec

from picoclawd import limits
from picoclawd.daemon.findings import ConfigFault, ConfigFaults

CONFIG_BYTES_MAX = 4 * limits.MIB  # PicoClaw's whole configuration is some tens of KiB


def config_home(environ: Mapping[str, str]) -> str:
    """`$XDG_CONFIG_HOME/picoclawd`. A relative variable is ignored (XDG Base Directory Specification)."""
    home = environ.get("XDG_CONFIG_HOME", "")
    return os.path.join(home if home.startswith("/") else os.path.join(home_directory(environ), ".config"), "picoclawd")


def home_directory(environ: Mapping[str, str]) -> str:
    """The user's home: `$HOME`, else the user database's."""
    return environ.get("HOME") or os.path.expanduser("~")


def find(config: str | None, instance: str | None, environ: Mapping[str, str]) -> str | None:
    """The file to read, None for the built-in defaults. `config` is what the command line named.

    A file that was named must exist; one that is only looked for need not.

    Raises: ConfigFaults where a named file does not exist.
    """
    named = config or environ.get("PICOCLAWD_CONFIG")
    if named:
        return os.path.abspath(named)
    looked_for = (
        os.path.join(config_home(environ), f"{instance or 'default'}.json"),
        os.path.join(home_directory(environ), ".picoclaw", "config.json"),
    )
    return next((path for path in looked_for if os.path.lexists(path)), None)


def read(path: str) -> dict[str, Any]:
    """The file's one JSON object. Of two equal keys the last counts; a byte order mark is passed over.

    Raises: ConfigFaults with what is wrong: unreadable, too large, no UTF-8, no JSON (line and column), no object.
    """
    try:
        raw = _bytes(path).removeprefix(b"\xef\xbb\xbf")
    except OSError as exc:
        raise _fault(path, f"cannot be read: {exc.strerror or exc}") from None
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise _fault(path, _where(raw, exc)) from None
    if not isinstance(value, dict):
        raise _fault(path, "must hold one JSON object, { ... }")
    return value


def _bytes(path: str) -> bytes:
    """The file's bytes; never waits for the other end of a FIFO."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _fault(path, "is not a regular file")
        raw = file.read(CONFIG_BYTES_MAX + 1)
    if len(raw) > CONFIG_BYTES_MAX:
        raise _fault(path, f"is larger than {CONFIG_BYTES_MAX} bytes")
    return raw


def _where(raw: bytes, exc: Exception) -> str:
    """What is wrong with the JSON text, and where: msgspec decides, the standard decoder knows lines."""
    if isinstance(exc, RecursionError):
        return "is nested too deeply"
    try:
        json.loads(raw.decode())
    except UnicodeDecodeError as bad:
        return f"is not UTF-8: line {raw[: bad.start].count(10) + 1}"
    except json.JSONDecodeError as bad:
        return f"is not valid JSON: line {bad.lineno}, column {bad.colno}: {bad.msg}"
    return f"is not valid JSON: {exc}"


def _fault(path: str, message: str) -> ConfigFaults:
    return ConfigFaults([ConfigFault(path, message)], path=path)
