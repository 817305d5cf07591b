"""Find the daemon that serves the current directory, and connect to it."""

import json
import os

from picoclawd.client import wire
from picoclawd.client.failures import NoDaemon
from picoclawd.client.wire import Connection

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from typing import Any, Literal

    Role = Literal["agent", "operator"]

VARIABLES = {"agent": "PICOCLAWD_SOCKET", "operator": "PICOCLAWD_OPERATOR_SOCKET"}
_INFO_MAX_BYTES = 64 * 1024  # an info.json is under 1 KiB


class Endpoint:
    """Where a daemon listens: the socket `path`, and the `workspace` behind it ("" where that is not known)."""

    __slots__ = ("path", "workspace")

    def __init__(self, path: str, workspace: str) -> None:
        self.path = path
        self.workspace = workspace


class Daemon:
    """What one `info.json` says of a daemon that runs, or ran: its sockets by role, "" for one that is turned off."""

    __slots__ = ("pid", "sockets", "version", "workspace")

    def __init__(self, info: "dict[str, Any]") -> None:
        sockets = info.get("sockets")
        known = sockets if isinstance(sockets, dict) else {}
        self.workspace = str(info.get("workspace") or "")
        self.version = str(info.get("version") or "")
        self.pid = info.get("pid")
        self.sockets = {role: str(known.get(role) or "") for role in VARIABLES}


def connect(role: "Role" = "agent", start: str | None = None) -> tuple[Connection, Endpoint]:
    """Connect to the daemon of `start` (default: the current directory): the environment's socket, else discovery.

    Of several daemons whose workspaces hold the directory the deepest wins. Those that no longer answer are skipped.

    Raises:
        NoDaemon: none answers; its text says what to type.
    """
    sock, endpoint = _first(role, candidates(role, start), start)
    return Connection(sock), endpoint


def reach(role: "Role", start: str | None, path: str | None = None) -> "socket.socket":
    """A socket that is connected to the daemon at `path`, or to the one that `connect` would take.

    Raises:
        NoDaemon: none answers.
    """
    if path is None:
        return _first(role, candidates(role, start), start)[0]
    try:
        return wire.connected(path)
    except OSError as exc:
        raise NoDaemon(unreachable(path, exc)) from None


def _first(role: "Role", endpoints: "list[Endpoint]", start: str | None) -> "tuple[socket.socket, Endpoint]":
    for endpoint in endpoints:
        try:
            return wire.connected(endpoint.path), endpoint
        except (ConnectionRefusedError, FileNotFoundError):
            continue
        except OSError as exc:
            raise NoDaemon(unreachable(endpoint.path, exc)) from None
    raise NoDaemon(advice(role, endpoints, start))


def unreachable(path: str, exc: OSError) -> str:
    """What is wrong with a socket that is there and cannot be connected to, and what to type next."""
    if isinstance(exc, PermissionError):
        return (
            f"{path} may not be opened by you: it is another user's, or your sandbox keeps it from you.\n"
            f"Look with:                   ls -l {path}\n"
            "Start a daemon of your own:  picoclawd serve --workspace DIRECTORY"
        )
    if isinstance(exc, TimeoutError):
        return f"{path} does not take connections: the daemon behind it hangs.\nLook at it with:  picoclawctl doctor"
    if isinstance(exc, ConnectionRefusedError | FileNotFoundError):
        return f"no daemon listens at {path}.\nStart one with:  picoclawd serve --workspace DIRECTORY"
    return f"cannot connect to {path}: {exc.strerror or exc}"


def candidates(role: "Role", start: str | None = None) -> list[Endpoint]:
    """The sockets to try, best first; not yet connected to.

    Raises:
        NoDaemon: the daemon of this directory has its operator socket turned off.
    """
    if named := os.environ.get(VARIABLES[role]):
        owners = [daemon.workspace for daemon in daemons() if named in daemon.sockets.values()]
        return [Endpoint(named, owners[0] if owners else "")]
    holding = holders(start)
    found = [Endpoint(daemon.sockets[role], daemon.workspace) for daemon in holding if daemon.sockets[role]]
    if holding and not found:
        raise NoDaemon(
            f"the daemon of {holding[0].workspace} has no {role} socket: "
            f'daemon.{"operator_" if role == "operator" else ""}socket is "" in its configuration'
        )
    return found or list(_waiting(role, start_directory(start)))


def _waiting(role: "Role", here: str) -> "Iterator[Endpoint]":
    """The sockets of instances of which no daemon has told yet: systemd may hold them, and starts one."""
    runtime = _runtime_directory()
    if not os.path.isdir(f"{runtime}/picoclawd"):
        return
    from picoclawd.client import activation  # where a daemon runs, which is nearly always, nothing of it is needed

    for instance, workspace in activation.instances(here):
        path = f"{runtime}/picoclawd/{instance}/{role}/sock"
        if within(here, workspace) is not None and os.path.exists(path):
            yield Endpoint(path, workspace)


def holders(start: str | None = None) -> list[Daemon]:
    """The daemons whose workspace holds `start`, the deepest workspace first."""
    here = start_directory(start)
    return sorted(
        (daemon for daemon in daemons() if daemon.workspace and within(here, daemon.workspace) is not None),
        key=lambda daemon: len(daemon.workspace),
        reverse=True,
    )


def daemons() -> "Iterator[Daemon]":
    """Every daemon of this user that left an `info.json`: below XDG_RUNTIME_DIR, and in the state directory.

    Both places are read whatever the environment says: a daemon started without XDG_RUNTIME_DIR (cron, su) is still
    found from a desktop shell. A file of another user is not believed.
    """
    for path in _info_paths():
        if (info := _read_info(path)) is not None:
            yield Daemon(info)


def start_directory(start: str | None) -> str:
    """The real path of `start`, or of the current directory ("" where that is gone)."""
    try:
        return os.path.realpath(start) if start else os.getcwd()
    except FileNotFoundError:
        return ""


def within(path: str, directory: str) -> str | None:
    """`path` relative to `directory` ("" for itself), or None where it is not below it. Compares whole components."""
    for base in (directory, os.path.realpath(directory)):
        base = base.rstrip("/")
        if path == base:
            return ""
        if path.startswith(base + "/"):
            return path[len(base) + 1 :]
    return None


def _info_paths() -> "Iterator[str]":
    runtime = _runtime_directory()
    for instance in _names(f"{runtime}/picoclawd"):
        yield f"{runtime}/picoclawd/{instance}/info.json"
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    for instance in _names(f"{state}/picoclawd"):
        yield f"{state}/picoclawd/{instance}/run/info.json"


def _runtime_directory() -> str:
    """`$XDG_RUNTIME_DIR`, or where systemd puts it: many MCP hosts hand a server nothing of the environment but PATH
    and HOME."""
    return os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _read_info(path: str) -> "dict[str, Any] | None":
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            info = json.loads(file.read(_INFO_MAX_BYTES))
    except (OSError, ValueError):
        return None
    return info if isinstance(info, dict) else None


def advice(role: "Role", tried: list[Endpoint], start: str | None) -> str:
    """What to type where none of the sockets that were `tried` answers."""
    here = start_directory(start) or "."
    if named := os.environ.get(VARIABLES[role]):
        owner = tried[0].workspace if tried else ""
        return (
            f"no daemon listens at {named} (from ${VARIABLES[role]}).\n"
            f"Start it again with:  picoclawd serve --workspace {owner or 'DIRECTORY'}\n"
            f"or let it be found:   unset {VARIABLES[role]}"
        )
    others = sorted({daemon.workspace for daemon in daemons() if daemon.workspace} - {end.workspace for end in tried})
    served = f"\nOther workspaces have one: {', '.join(others[:5])}" if others else ""
    return f"no daemon serves {here}.\nStart one with:  picoclawd serve --workspace {here}{served}"
