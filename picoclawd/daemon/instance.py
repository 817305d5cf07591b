"""Derive who this daemon is: its name, workspace, state directory and sockets."""

import hashlib
import os
import re
from collections.abc import Mapping

import msgspec

from picoclawd import limits
from picoclawd.daemon import config_file
from picoclawd.daemon.config import DEFAULT_WORKSPACE, Config
from picoclawd.daemon.config_environment import expand
from picoclawd.errors import Fault, Slug

# A name becomes one component of several paths, also of sockets, which hold 107 bytes in all.
NAME_CHARS_MAX = 64
NAME_RULE = f"must be 1 to {NAME_CHARS_MAX} of the characters A-Z a-z 0-9 . _ -, and neither . nor .."
_NAME = re.compile(r"[A-Za-z0-9._-]+")
BASENAME_CHARS_MAX = 32  # of a derived name: leaves room for the rest of the socket's path


class Instance(msgspec.Struct, frozen=True):
    """One daemon's own places. All paths are absolute; `workspace` is the real path of an existing directory.

    `operator_socket` is None where the configuration turns it off. A socket is `configured` when its place was named
    by the person and not derived: then its directory may be shared. Nothing but the default workspace is created here.
    """

    name: str
    workspace: str
    state_dir: str
    runtime_dir: str
    agent_socket: str
    operator_socket: str | None
    agent_socket_configured: bool
    operator_socket_configured: bool
    warnings: tuple[str, ...]

    def info(self, pid: int, version: str) -> dict[str, object]:
        """The content of `<runtime_dir>/info.json`, by which clients find the daemon of a directory."""
        sockets = {"agent": self.agent_socket, "operator": self.operator_socket}
        return {"pid": pid, "workspace": self.workspace, "sockets": sockets, "version": version}


def is_name(name: str) -> bool:
    """Whether a word can name an instance: see `NAME_RULE`."""
    return len(name) <= NAME_CHARS_MAX and _NAME.fullmatch(name) is not None and name not in (".", "..")


def derive(
    config: Config,
    *,
    path: str | None,
    instance: str | None,
    socket: str | None,
    environ: Mapping[str, str],
    bound: Mapping[str, str] | None = None,
) -> Instance:
    """Work out the places of the daemon that `config`, read from `path`, describes. Blocking.

    `instance` and `socket` are the command line's. `bound` are the places of sockets, by role, that systemd listens on
    already: whatever the configuration says, clients find them there. The default workspace is created, 0700; any
    other must exist.

    Raises: not_found or not_a_directory for the workspace; invalid_path for a socket path that is too long, a
    state directory inside the workspace, or a runtime directory that does not exist.
    """
    workspace = _workspace(config, environ)
    name = name_of(config, path=path, instance=instance, environ=environ)
    state_dir = config.daemon.state_dir or os.path.join(state_home(environ), "picoclawd", name)
    _keep_apart(state_dir, workspace)
    runtime_dir = _runtime_dir(name, state_dir, environ)
    given = os.path.abspath(socket) if socket else config.daemon.socket
    there = bound or {}
    agent = there.get("agent") or given or os.path.join(runtime_dir, "agent", "sock")
    operator = config.daemon.operator_socket
    if operator != "":  # that one is turned off, whoever listens
        operator = there.get("operator") or operator or os.path.join(runtime_dir, "operator", "sock")
    _check_socket("the agents' socket", agent, "daemon.socket")
    _check_socket("the operator's socket", operator, "daemon.operator_socket")
    return Instance(
        name=name,
        workspace=workspace,
        state_dir=state_dir,
        runtime_dir=runtime_dir,
        agent_socket=agent,
        operator_socket=operator or None,
        agent_socket_configured=given is not None,
        operator_socket_configured=bool(config.daemon.operator_socket),
        warnings=tuple(_warnings(agent, operator, workspace)),
    )


def name_of(config: Config, *, path: str | None, instance: str | None, environ: Mapping[str, str]) -> str:
    """The instance's name, where `instance` is the command line's. Creates nothing.

    Raises: not_found where it is made of a workspace that does not exist.
    """
    named = instance or config.daemon.instance or _name_of_config(path, environ)
    return named or _name_of_workspace(workspace_of(config))


def workspace_of(config: Config) -> str:
    """The real path of the workspace, which need not exist."""
    return os.path.realpath(config.agents.defaults.workspace)


def _workspace(config: Config, environ: Mapping[str, str]) -> str:
    """The real path of the workspace; the default one is made where it is missing."""
    given = config.agents.defaults.workspace
    if given == expand(DEFAULT_WORKSPACE, environ):
        _make_private(given)
    if not os.path.lexists(given):
        raise _no_workspace(given)
    if not os.path.isdir(given):
        raise Fault(Slug.NOT_A_DIRECTORY, f"the workspace {given} is not a directory: name another with --workspace")
    return workspace_of(config)


def _no_workspace(path: str) -> Fault:
    return Fault(Slug.NOT_FOUND, f"the workspace {path} does not exist: create it, or name another with --workspace")


def _make_private(path: str) -> None:
    """Make the default workspace and PicoClaw's directory above it, 0700; what exists stays as it is."""
    try:
        for directory in (os.path.dirname(path), path):
            if not os.path.isdir(directory):
                os.mkdir(directory, 0o700)
    except OSError as exc:
        raise Fault(Slug.IO_ERROR, f"cannot create the default workspace {path}: {exc.strerror}") from exc


def _name_of_config(path: str | None, environ: Mapping[str, str]) -> str | None:
    """`work` for `$XDG_CONFIG_HOME/picoclawd/work.json`, None for a file elsewhere."""
    if path is None or os.path.realpath(os.path.dirname(path)) != os.path.realpath(config_file.config_home(environ)):
        return None
    name = os.path.basename(path).removesuffix(".json")
    return name if is_name(name) else None


def _name_of_workspace(workspace: str) -> str:
    """The base name, as far as it can be part of a name, and 8 hex digits that tell it from its namesakes."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", os.path.basename(workspace))[:BASENAME_CHARS_MAX] or "root"
    try:
        stat = os.stat(workspace)
    except OSError as exc:
        raise _no_workspace(workspace) from exc
    return f"{plain}-{hashlib.sha256(f'{stat.st_dev}:{stat.st_ino}'.encode()).hexdigest()[:8]}"


def state_home(environ: Mapping[str, str]) -> str:
    """`$XDG_STATE_HOME`, or `~/.local/state` where that is not an absolute path."""
    home = environ.get("XDG_STATE_HOME", "")
    return home if home.startswith("/") else os.path.join(config_file.home_directory(environ), ".local", "state")


def _runtime_dir(name: str, state_dir: str, environ: Mapping[str, str]) -> str:
    home = environ.get("XDG_RUNTIME_DIR", "")
    if not home.startswith("/"):
        return os.path.join(state_dir, "run")
    if not os.path.isdir(home):
        message = f"XDG_RUNTIME_DIR names {home}, which is no directory: create it (mode 0700), or unset the variable"
        raise Fault(Slug.INVALID_PATH, message)
    return os.path.join(home, "picoclawd", name)


def _keep_apart(state_dir: str, workspace: str) -> None:
    """An agent must not reach the daemon's own files, and the workspace must not count as them."""
    real = os.path.realpath(state_dir)
    common = os.path.commonpath([real, workspace])
    if common == workspace:
        message = (
            f"the state directory {state_dir} lies inside the workspace {workspace}: set daemon.state_dir outside it"
        )
        raise Fault(Slug.INVALID_PATH, message)
    if common == real:
        message = (
            f"the workspace {workspace} lies inside the state directory {state_dir}: set daemon.state_dir elsewhere"
        )
        raise Fault(Slug.INVALID_PATH, message)


def _check_socket(what: str, path: str, key: str) -> None:
    size_bytes = len(os.fsencode(path))
    if size_bytes > limits.SOCKET_PATH_MAX_BYTES:
        message = (
            f"the path of {what}, {path}, has {size_bytes} bytes; a Unix socket path has at most "
            f"{limits.SOCKET_PATH_MAX_BYTES}: set {key} to a shorter one, or --instance to a shorter name"
        )
        raise Fault(Slug.INVALID_PATH, message)


def _warnings(agent: str, operator: str, workspace: str) -> list[str]:
    found = []
    if operator and os.path.dirname(os.path.realpath(agent)) == os.path.dirname(os.path.realpath(operator)):
        found.append(
            "both sockets are in one directory: a sandbox that binds it gives agents the operator's socket too"
        )
    for path in (agent, operator):
        if path and os.path.commonpath([os.path.realpath(path), workspace]) == workspace:
            found.append(f"the socket {path} lies inside the workspace")
    return found
