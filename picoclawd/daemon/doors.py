"""Open the two sockets: take those that systemd passed, bind those that are missing."""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import msgspec

from picoclawd.daemon.instance import Instance
from picoclawd.files import state
from picoclawd.rpc import sockets
from picoclawd.rpc.method import Role
from picoclawd.rpc.server import Door

_TURNED_OFF = (
    'daemon.operator_socket is "", so nobody is served at the operator\'s socket, on which systemd listens: '
    "systemctl --user disable --now picoclawd-operator@%s.socket"
)


class Doors(msgspec.Struct, frozen=True):
    """The sockets that the server listens on. `inherited`: some of them are systemd's, which goes on listening."""

    listening: tuple[Door, ...]
    inherited: bool = False


def bound_paths(inherited: Mapping[str, int]) -> dict[str, str]:
    """Where the sockets that systemd has bound are, by role; those without a place in the file system are left out."""
    return {role: path for role, fd in inherited.items() if (path := sockets.path_of(fd)) is not None}


@contextmanager
def open_doors(instance: Instance, inherited: Mapping[str, int], log: logging.Logger) -> Iterator[Doors]:
    """Listen on the agents' socket and, unless it is turned off, the operator's, for the body. Blocking.

    Sockets bound here are unlinked at the end, inherited ones never.

    Raises: path_busy where a daemon listens there; access_denied, invalid_path as `sockets.bind` does.
    """
    os.close(state.open_private_directory(instance.runtime_dir))
    wanted: list[tuple[Role, str | None]] = [("agent", instance.agent_socket), ("operator", instance.operator_socket)]
    with ExitStack() as owned:
        listening: list[Door] = []
        for role, path in wanted:
            if path is None:
                _leave(inherited.get(role), instance, log)
                continue
            taken = _taken(inherited[role], log) if role in inherited else sockets.bind(path)
            owned.callback(taken.close)
            listening.append(Door(taken.listener, role))
        yield Doors(tuple(listening), bool(inherited))


def _taken(fd: int, log: logging.Logger) -> sockets.OwnedSocket:
    taken, warning = sockets.inherit(fd)
    if warning is not None:
        log.warning("%s", warning)
    return taken


def _leave(fd: int | None, instance: Instance, log: logging.Logger) -> None:
    """Serve nobody where the configuration says so, and say what is left of it elsewhere."""
    if fd is not None:
        os.close(fd)
        log.warning(_TURNED_OFF, instance.name)
