"""Take over the sockets that systemd has bound for us: sd_listen_fds(3), by hand."""

import os
import socket
from collections.abc import MutableMapping

from picoclawd.errors import Fault, Slug

LISTEN_FDS_START = 3  # SD_LISTEN_FDS_START of sd_listen_fds(3)
ROLES = ("agent", "operator")


def listen_fds(environ: MutableMapping[str, str], pid: int, first_fd: int = LISTEN_FDS_START) -> dict[str, int]:
    """The inherited listening sockets by role, `agent` and `operator`; empty where systemd gave none to this process.

    A first descriptor that carries neither name is the agents'. All inherited descriptors are made close-on-exec, and
    the variables are removed from `environ`, so that neither reaches a child. The caller owns the descriptors.

    Raises: invalid_params where a descriptor is no listening Unix stream socket, or a name comes twice.
    """
    mine = environ.pop("LISTEN_PID", "") == str(pid)
    count = environ.pop("LISTEN_FDS", "")
    names = environ.pop("LISTEN_FDNAMES", "").split(":")
    if not mine or not (count.isascii() and count.isdigit()):
        return {}
    fds = range(first_fd, first_fd + int(count))
    found: dict[str, int] = {}
    for index, fd in enumerate(fds):
        os.set_inheritable(fd, False)
        role = _role(index, names)
        if role in found:
            raise Fault(Slug.INVALID_PARAMS, f"two inherited sockets are named {role}: see FileDescriptorName=")
        if role is not None:
            _check_listening(fd, role)
            found[role] = fd
    return found


def _role(index: int, names: list[str]) -> str | None:
    name = names[index] if index < len(names) else ""
    if name in ROLES:
        return name
    return "agent" if index == 0 and "agent" not in names else None


def _check_listening(fd: int, role: str) -> None:
    try:
        with socket.socket(fileno=os.dup(fd)) as inherited:
            listening = inherited.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            fits = listening and inherited.family == socket.AF_UNIX and inherited.type == socket.SOCK_STREAM
    except OSError:
        fits = False
    if not fits:
        message = f"the inherited descriptor {fd} ({role}) is no listening Unix stream socket: see ListenStream="
        raise Fault(Slug.INVALID_PARAMS, message)
