"""Sessions: who a connection says it is, how long that outlives the connection, and the tokens that resume it."""

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.workspace.actors import Actor, Kind, Role
from picoclawd.workspace.census import Kept
from picoclawd.workspace.ledger import Ledger, Pins
from picoclawd.workspace.relevance import Judged

PAGES_MAX = 32  # searches of a session that may be paged through at a time
_TOKEN_BYTES = 16  # 128 random bits: not to be guessed in the ten minutes that a token lives


@dataclass(slots=True)
class Session:
    """One session. It is live while a connection holds it; afterwards it waits to be resumed, then is dropped."""

    actor: Actor
    explicit: bool = False
    token_hash: bytes = b""
    connected: bool = True
    opened_at: float = 0.0
    ended_at: float = 0.0
    artifacts: int = field(default=0)
    kept: Kept = field(default_factory=Kept)
    ledger: Ledger = field(default_factory=Ledger)
    judged: Judged = field(default_factory=Judged)
    pages: "OrderedDict[object, tuple[int, int]]" = field(default_factory=OrderedDict)

    @property
    def session_id(self) -> str:
        """The public name of the session: no secret, it opens nothing."""
        return self.actor.session_id

    def note_page(self, key: object, seen: tuple[int, int]) -> None:
        """Remember what a page of a search looked at, so that the next one can tell whether that changed."""
        self.pages[key] = seen
        self.pages.move_to_end(key)
        if len(self.pages) > PAGES_MAX:
            self.pages.popitem(last=False)

    def next_artifact(self) -> int:
        """Number the session's artifacts from 1."""
        self.artifacts += 1
        return self.artifacts


def _nobody_cares(session: Session) -> None:
    return None


class Sessions:
    """All sessions of the daemon. Loop only. `ended` is told of each that nobody can take up again."""

    def __init__(
        self, clock: Callable[[], float] = time.time, ended: Callable[[Session], object] = _nobody_cares
    ) -> None:
        self._clock = clock
        self._ended = ended
        self._pins = Pins()
        self._by_id: dict[str, Session] = {}

    def connect(self, role: Role, peer_pid: int) -> Session:
        """Begin the implicit session of a new connection.

        Raises: overloaded, at limits.SESSIONS_MAX live sessions.
        """
        self._drop_expired()
        if len(self._by_id) >= limits.SESSIONS_MAX:
            raise Fault(
                Slug.OVERLOADED,
                f"{limits.SESSIONS_MAX} sessions are open, which is the most that the daemon keeps. Close some.",
            )
        return self._begin(role, Kind.AGENT, peer_pid)

    def disconnect(self, session: Session) -> None:
        """Note that the session's connection is gone. One that was never opened has nothing to resume."""
        session.connected = False
        session.ended_at = self._clock()
        if not session.explicit:
            self._end(session)

    def open(self, session: Session, client: str, kind: Kind) -> str:
        """Name the client and its kind; returns the token that resumes the session.

        Raises: invalid_params where client has over 200 characters or one that does not print;
        disabled_for_role where a subagent claims to be an agent after all.
        """
        if session.actor.kind is Kind.SUBAGENT and kind is Kind.AGENT:
            raise Fault(Slug.DISABLED_FOR_ROLE, "a subagent's session cannot become an agent's.")
        session.actor = replace(session.actor, client=checked_label("client", client), kind=kind)
        session.explicit = True
        return self._new_token(session)

    def resume(self, current: Session, token: str, kind: Kind | None = None) -> tuple[Session, str]:
        """Take up an earlier session in place of this connection's `current` one; returns it and its next token.

        Raises: unknown_session for a token that is wrong, used, expired or of the other role (all alike, so that
        a guess learns nothing); session_in_use while its own connection lives; disabled_for_role for a claim to
        be less bound than before.
        """
        session = self._by_token(token)
        if session is None or session.actor.role is not current.actor.role:
            raise Fault(
                Slug.UNKNOWN_SESSION,
                "no session waits for this resume token: it was used, has expired (10 minutes after the connection "
                "ended), or never existed. Call session.open without `resume`.",
            )
        if session.connected:
            raise Fault(
                Slug.SESSION_IN_USE,
                "the session of this token is still connected. Close that connection, then resume.",
            )
        if session.actor.kind is Kind.SUBAGENT and kind is Kind.AGENT:
            raise Fault(Slug.DISABLED_FOR_ROLE, "a subagent's session cannot be resumed as an agent's.")
        self._end(current)
        session.connected = True
        session.actor = replace(session.actor, peer_pid=current.actor.peer_pid)
        return session, self._new_token(session)

    def close(self, session: Session) -> Session:
        """End a session for good: its token opens nothing any more. The connection goes on as another, implicit one,
        which this returns; a subagent's stays a subagent's."""
        self._end(session)
        return self._begin(session.actor.role, session.actor.kind, session.actor.peer_pid)

    def live(self) -> list[Session]:
        """Those that hold a connection, oldest first."""
        return [session for session in self._by_id.values() if session.connected]

    def _by_token(self, token: str) -> Session | None:
        self._drop_expired()
        wanted = _hash(token)
        for session in self._by_id.values():
            if session.token_hash and secrets.compare_digest(session.token_hash, wanted):
                return session
        return None

    def _new_token(self, session: Session) -> str:
        token = secrets.token_hex(_TOKEN_BYTES)
        session.token_hash = _hash(token)
        return token

    def _drop_expired(self) -> None:
        oldest = self._clock() - limits.RESUME_VALID_S
        gone = [key for key, each in self._by_id.items() if not each.connected and each.ended_at < oldest]
        for key in gone:
            self._end(self._by_id[key])

    def _begin(self, role: Role, kind: Kind, peer_pid: int) -> Session:
        session_id = f"s-{secrets.token_hex(6)}"
        actor = Actor(session_id, role, kind, client="", peer_pid=peer_pid)
        session = Session(actor, opened_at=self._clock(), ledger=Ledger(self._pins))
        self._by_id[session_id] = session
        return session

    def _end(self, session: Session) -> None:
        if self._by_id.pop(session.session_id, None) is not None:
            session.ledger.close()
            self._ended(session)


def checked_label(name: str, text: str) -> str:
    """A client's name or objective: printable, at most 200 characters.

    Raises: invalid_params.
    """
    if len(text) > limits.CLIENT_NAME_MAX_CHARS or not text.isprintable():
        raise Fault(
            Slug.INVALID_PARAMS,
            f"`{name}` takes at most {limits.CLIENT_NAME_MAX_CHARS} printable characters.",
            path=f"$.{name}",
        )
    return text


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
