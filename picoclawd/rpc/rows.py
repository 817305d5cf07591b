"""What the methods beside the tools are made of: their row in the table, and what a handler is given."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from picoclawd.rpc.meter import Meter
from picoclawd.rpc.method import Exchange, Notifier
from picoclawd.rpc.underway import Underway
from picoclawd.tools._call import Toolbox
from picoclawd.workspace.actors import Actor
from picoclawd.workspace.sessions import Session
from picoclawd.workspace.workspace import Workspace


@dataclass(slots=True, eq=False)
class Guest:
    """A connection's standing in the house: the session that it holds now, and how it is told of things."""

    session: Session
    notifier: Notifier


class Caller(msgspec.Struct, frozen=True):
    """Who makes a call, and the call as it came in."""

    guest: Guest
    exchange: Exchange

    @property
    def session(self) -> Session:
        """The session that the connection holds."""
        return self.guest.session

    @property
    def actor(self) -> Actor:
        """Who is at the other end."""
        return self.guest.session.actor

    @property
    def notifier(self) -> Notifier:
        """Tells the connection of things."""
        return self.guest.notifier


class Facts(msgspec.Struct, frozen=True):
    """What the daemon knows of itself and tells. `request_limits` are the numbers that a client should respect."""

    version: str
    started_at: float
    request_limits: dict[str, int]


class House(msgspec.Struct, frozen=True):
    """What every handler works on."""

    workspace: Workspace
    toolbox: Toolbox
    facts: Facts
    meter: Meter
    underway: Underway


class NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A method without parameters."""


Answer = dict[str, Any]
Handler = Callable[[House, Caller, Any], Answer | Awaitable[Answer]]


class Row(msgspec.Struct, frozen=True):
    """One method. A handler that is no coroutine function is answered at once, on the loop.

    `in_lane`: calls on one `path` of one connection take effect in the order sent.
    """

    name: str
    summary: str
    params: type[msgspec.Struct]
    handler: Handler
    operator_only: bool = False
    mutating: bool = False
    in_lane: bool = False
