"""What stands behind the wire: the tools and the door as methods, a session for each connection."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial

from picoclawd.errors import Fault
from picoclawd.rpc import door
from picoclawd.rpc.meter import Meter, Subject
from picoclawd.rpc.method import LATER, Exchange, Method, Notifier, Params, Peer
from picoclawd.rpc.rows import Facts, Guest, House
from picoclawd.rpc.underway import Underway
from picoclawd.tools._call import Asked, Toolbox, call_at_once, call_tool, named
from picoclawd.tools._spec import AnyTool, Settings
from picoclawd.workspace.actors import Role
from picoclawd.workspace.workspace import Workspace


class WorkspaceHost:
    """Implements `rpc.method.Host` for one workspace."""

    def __init__(self, workspace: Workspace, toolbox: Toolbox, facts: Facts, log: logging.Logger, meter: Meter) -> None:
        self._workspace = workspace
        self._log = log
        self._facts = facts
        self._meter = meter
        self._methods: dict[str, Method] = {}
        self._underway = Underway()
        self.equip(toolbox)

    @property
    def methods(self) -> Mapping[str, Method]:
        """Every method by name."""
        return self._methods

    @property
    def log(self) -> logging.Logger:
        """The daemon's log."""
        return self._log

    @property
    def meter(self) -> Meter:
        """The daemon's counters."""
        return self._meter

    @property
    def underway(self) -> Underway:
        """The named changes of all connections that are on their way."""
        return self._underway

    def subject(self, client: object) -> Subject:
        """The session that a connection holds now."""
        assert isinstance(client, Guest)
        actor = client.session.actor
        return Subject(actor.session_id, actor.client)

    def equip(self, toolbox: Toolbox) -> None:
        """Offer these tools from the next request on."""
        house = House(self._workspace, toolbox, self._facts, self._meter, self._underway)
        methods = [self._tool_method(toolbox, tool, settings) for tool, settings in toolbox.entries.values()]
        self._methods = {method.name: method for method in [*door.methods(house), *methods]}

    def connected(self, peer: Peer, notifier: Notifier) -> object:
        """Give the connection its implicit session.

        Raises: overloaded.
        """
        return Guest(self._workspace.sessions.connect(Role(peer.role), peer.pid), notifier)

    def disconnected(self, client: object) -> None:
        """Let the session wait to be resumed, or end it."""
        assert isinstance(client, Guest)
        self._workspace.disconnect(client.session, client)

    def available(self, peer: Peer) -> Sequence[str]:
        """All method names that this peer may call."""
        return sorted(
            name for name, method in self._methods.items() if peer.role == "operator" or not method.operator_only
        )

    def _tool_method(self, toolbox: Toolbox, tool: AnyTool, settings: Settings) -> Method:
        workspace = self._workspace

        async def run(exchange: Exchange, params: Params) -> object:
            return await call_tool(toolbox, workspace, tool.name, params, _asked(exchange))

        def at_once(exchange: Exchange, params: Params) -> object:
            answer = call_at_once(toolbox, workspace, tool.name, params, _asked(exchange))
            return LATER if answer is None else answer

        return Method(
            tool.name,
            run,
            at_once=None if tool.at_hand is None else at_once,
            mutating=not tool.hints.read_only,
            lane_paths=partial(_lane_paths, workspace, tool, settings),
        )


def _asked(exchange: Exchange) -> Asked:
    assert isinstance(exchange.client, Guest)
    return Asked(
        session=exchange.client.session,
        cancelled=exchange.cancelled,
        progress=exchange.progress,
        dry_run=exchange.meta.get("dry_run") is True,
        op=exchange.meta.get("op"),
        waits=exchange.waits,
    )


def _lane_paths(workspace: Workspace, tool: AnyTool, settings: Settings, params: Params) -> tuple[bytes, ...]:
    """The lanes of a call, from parameters that nobody has checked yet: what cannot be read is in none."""
    try:
        paths = tool.paths(named(tool, settings, params))
    except (Fault, TypeError, AttributeError, KeyError):
        return ()
    return tuple(key for path in paths if (key := workspace.lane_key(path)) is not None)
