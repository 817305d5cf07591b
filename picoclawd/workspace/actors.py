"""Who is asking: the first argument of every workspace method."""

from enum import StrEnum

import msgspec


class Role(StrEnum):
    """What a connection may do. The socket that it came in on decides, nothing that it says."""

    AGENT = "agent"
    OPERATOR = "operator"


class Kind(StrEnum):
    """What a client declares itself to be. Binds honest hosts only."""

    AGENT = "agent"
    SUBAGENT = "subagent"


class Actor(msgspec.Struct, frozen=True):
    """The session, and what is known of the process behind it, at the time of one call."""

    session_id: str
    role: Role
    kind: Kind
    client: str
    peer_pid: int

    @property
    def is_operator(self) -> bool:
        """Whether this is the person beside the agents: answers verbatim, never asked to confirm."""
        return self.role is Role.OPERATOR
