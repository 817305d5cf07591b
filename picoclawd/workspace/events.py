"""The change feed: what happened, in order and with who did it, to those who asked to be told. Loop only.

Nothing is queued here. Each subscription has a `deliver(method, params)`, which never blocks and owns the bounded
queue to its peer: where that is full it answers False, has put one `resync` there, and the peer asks `changes.since`.
"""

import re
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from picoclawd.errors import Fault, Slug
from picoclawd.index.matcher import Pattern, compile_pattern
from picoclawd.text import display, glob, redact
from picoclawd.workspace.actors import Actor, Role

CHANGES_KEPT = 10_000  # for changes.since; some 2 MiB
SUBSCRIPTIONS_MAX = 64  # of one session
FORMS_MAX = 64  # file name patterns of one subscription: each is tried on every change
PAGE_MAX = 1_000  # changes in one answer of changes.since

FILE_CHANGED = "file.changed"
RESYNC = "resync"
_FOR_OPERATORS = frozenset(
    {
        "approval.requested",
        "approval.answered",
        "approval.withdrawn",
        "session.opened",
        "session.closed",
        "session.resumed",
    }
)
KINDS: dict[Role, frozenset[str]] = {
    Role.AGENT: frozenset({FILE_CHANGED}),
    Role.OPERATOR: _FOR_OPERATORS | {FILE_CHANGED},
}

_CURSOR = re.compile(r"([0-9a-f]{16})\.(0|[1-9][0-9]{0,17})", re.ASCII)

Action = Literal["create", "modify", "delete"]
Deliver = Callable[[str, object], bool]


class Author(msgspec.Struct, frozen=True):
    """The session behind a change that a tool made."""

    session_id: str
    client: str
    tool: str


OUTSIDE: Final = "outside"  # by a program that is no client of ours
By = Author | Literal["outside"]


class Change(msgspec.Struct, frozen=True):
    """A file came, changed or went. `path` is relative to the workspace.

    `ignored`: it lies below an ignored directory; `protected`: its name is one that holds credentials.
    """

    path: bytes
    action: Action
    by: By = OUTSIDE
    version: int | None = None
    ignored: bool = False
    protected: bool = False


class Page(msgspec.Struct, frozen=True):
    """The answer of changes.since. `fresh_instance`: nothing is known of the time since that cursor, so look at
    everything; `more`: ask again with the new cursor."""

    changes: tuple[dict[str, Any], ...]
    cursor: str
    fresh_instance: bool
    more: bool = False


class FeedStatistics(msgspec.Struct, frozen=True):
    """How many events there were, changes are kept, and subscriptions exist; and events that found a queue full."""

    events: int
    kept: int
    subscriptions: int
    refused: int


class _Subscription(msgspec.Struct, frozen=True):
    name: str
    holder: object
    role: Role
    kinds: frozenset[str]
    patterns: tuple[Pattern, ...]
    deliver: Deliver

    def wants(self, text: bytes) -> bool:
        return not self.patterns or any(pattern.search(text) for pattern in self.patterns)


class Feed:
    """All events of one run of the daemon, numbered from 1; numbers that a subscriber may not see are gaps."""

    def __init__(self, kept: int = CHANGES_KEPT) -> None:
        self._instance = secrets.token_hex(8)
        self._seq = 0
        self._gone_seq = 0  # the newest change that is no longer kept
        self._kept: deque[tuple[int, Change]] = deque()
        self._kept_max = kept
        self._subscriptions: dict[str, _Subscription] = {}
        self._named = 0
        self._refused = 0

    @property
    def cursor(self) -> str:
        """Now, as changes.since takes it."""
        return self._cursor_at(self._seq)

    def subscribe(
        self,
        holder: object,
        actor: Actor,
        deliver: Deliver,
        kinds: Sequence[str] = (),
        paths: Sequence[str] = (),
    ) -> tuple[str, str]:
        """Tell `deliver` of every event of these kinds from now on; returns the subscription's name and the cursor.

        `kinds` are event names, or `approval.*`; none means all that the role may see. `paths` are file name forms
        (`text/glob`) that narrow file.changed. `holder` stands for the connection, and is compared by identity.

        Raises: overloaded over SUBSCRIPTIONS_MAX; operator_only; invalid_params; pattern_too_complex.
        """
        if sum(each.holder is holder for each in self._subscriptions.values()) >= SUBSCRIPTIONS_MAX:
            raise Fault(
                Slug.OVERLOADED,
                f"this session has {SUBSCRIPTIONS_MAX} subscriptions, the most there may be. Call events.unsubscribe.",
            )
        wanted = _kinds(kinds, actor.role)
        patterns = _patterns(paths)
        self._named += 1
        name = f"sub-{self._named}"
        self._subscriptions[name] = _Subscription(name, holder, actor.role, wanted, patterns, deliver)
        return name, self.cursor

    def unsubscribe(self, holder: object, name: str) -> None:
        """End one of the connection's own subscriptions.

        Raises: not_found.
        """
        found = self._subscriptions.get(name)
        if found is None or found.holder is not holder:
            raise Fault(Slug.NOT_FOUND, f"this connection has no subscription {name!r}: it ended, or never was.")
        del self._subscriptions[name]

    def disconnect(self, holder: object) -> None:
        """End every subscription of a connection that is gone."""
        for each in list(self._subscriptions.values()):
            if each.holder is holder:
                del self._subscriptions[each.name]

    def changed(self, change: Change) -> None:
        """Tell of a change. One from outside below `.git` or an ignored directory is nobody's business."""
        if change.by == OUTSIDE and (change.ignored or b".git" in change.path.split(b"/")):
            return
        self._seq += 1
        self._keep(change)
        text = change.path.decode("utf-8", "replace").encode()
        for each in self._listeners(FILE_CHANGED):
            if _may_see(change, each.role) and each.wants(text):
                self._deliver(each, FILE_CHANGED, _shown(self._seq, change, each.role))

    def tell(self, kind: str, params: dict[str, Any]) -> None:
        """Tell the operators of something else than a file: `approval.*`, `session.*`."""
        self._seq += 1
        for each in self._listeners(kind):
            self._deliver(each, kind, {"seq": self._seq, **params})

    def lost(self) -> None:
        """Say that changes were missed: everybody gets a `resync`, and no earlier cursor answers any more."""
        self._seq += 1
        self._gone_seq = self._seq
        self._kept.clear()
        for each in self._listeners(FILE_CHANGED):
            self._deliver(each, RESYNC, {"seq": self._seq})

    def since(self, actor: Actor, cursor: str) -> Page:
        """The changes after a cursor that this role may see, oldest first, PAGE_MAX at a time.

        Raises: bad_cursor where it is none that was ever given out; one of an earlier run gives `fresh_instance`.
        """
        parsed = _CURSOR.fullmatch(cursor)
        if parsed is None or (parsed[1] == self._instance and int(parsed[2]) > self._seq):
            raise Fault(
                Slug.BAD_CURSOR,
                "the cursor is malformed: pass one that events.subscribe or changes.since gave, unchanged.",
            )
        if parsed[1] != self._instance or int(parsed[2]) < self._gone_seq:
            return Page((), self.cursor, fresh_instance=True)
        return self._page(actor.role, int(parsed[2]))

    def statistics(self) -> FeedStatistics:
        """Counts, for status and metrics."""
        return FeedStatistics(self._seq, len(self._kept), len(self._subscriptions), self._refused)

    def _page(self, role: Role, after: int) -> Page:
        visible = ((seq, change) for seq, change in self._kept if seq > after and _may_see(change, role))
        found = list(islice(visible, PAGE_MAX + 1))
        shown = tuple(_shown(seq, change, role) for seq, change in found[:PAGE_MAX])
        if len(found) <= PAGE_MAX:
            return Page(shown, self.cursor, fresh_instance=False)
        return Page(shown, self._cursor_at(found[PAGE_MAX - 1][0]), fresh_instance=False, more=True)

    def _keep(self, change: Change) -> None:
        self._kept.append((self._seq, change))
        if len(self._kept) > self._kept_max:
            self._gone_seq, _ = self._kept.popleft()

    def _listeners(self, kind: str) -> Iterable[_Subscription]:
        """A list of its own: a delivery may find the peer gone, and end its subscriptions."""
        return [each for each in self._subscriptions.values() if kind in each.kinds]

    def _deliver(self, to: _Subscription, method: str, params: dict[str, Any]) -> None:
        if not to.deliver(method, {"subscription": to.name, **params}):
            self._refused += 1

    def _cursor_at(self, seq: int) -> str:
        return f"{self._instance}.{seq}"


def _may_see(change: Change, role: Role) -> bool:
    return role is Role.OPERATOR or not change.protected


def _shown(seq: int, change: Change, role: Role) -> dict[str, Any]:
    path, path_bytes = display.data_name(change.path)
    shown: dict[str, Any] = {"seq": seq, "path": path, "action": change.action, "version": change.version}
    if path_bytes is not None:
        shown["path_bytes"] = path_bytes
    shown["by"] = change.by if isinstance(change.by, str) else _author(change.by, role)
    return shown


def _author(by: Author, role: Role) -> dict[str, str]:
    client = by.client if role is Role.OPERATOR else redact.redact(by.client)
    return {"session_id": by.session_id, "client": client, "tool": by.tool}


def _kinds(wanted: Sequence[str], role: Role) -> frozenset[str]:
    """The kinds that are meant. Raises: invalid_params, operator_only."""
    if not wanted:
        return KINDS[role]
    chosen: set[str] = set()
    for index, each in enumerate(wanted):
        prefix = each[:-1] if each.endswith(".*") else None
        meant = {kind for kind in KINDS[Role.OPERATOR] if kind == each or (prefix and kind.startswith(prefix))}
        if not meant:
            known = ", ".join(sorted(KINDS[role]))
            raise Fault(Slug.INVALID_PARAMS, f"there is no event {each!r}: use {known}.", path=f"$.kinds[{index}]")
        if not meant <= KINDS[role]:
            raise Fault(Slug.OPERATOR_ONLY, f"{each} events go to the operator's socket only: leave them out.")
        chosen |= meant
    return frozenset(chosen)


def _patterns(forms: Sequence[str]) -> tuple[Pattern, ...]:
    if len(forms) > FORMS_MAX:
        raise Fault(Slug.INVALID_PARAMS, f"`paths` takes at most {FORMS_MAX} patterns.", path="$.paths")
    return tuple(compile_pattern(glob.to_re2(form)) for form in forms)
