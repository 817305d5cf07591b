"""What the client library does about a lost connection: how it comes back, and which calls it may send again.

A session that was resumed, or that a new daemon does not know, has no call in flight any more: `session_in_use` says
that the old connection is still being wound up. So `outcome.get` is asked only once nothing of the old connection
can take effect, and a change that it calls not applied is never applied behind our back.
"""

import os
import time

from picoclawd import limits
from picoclawd.client.failures import Lost

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    Plan = Literal["repeat", "ask", "give up"]

RECONNECT_S = 10.0  # a daemon that is restarted is back within a second; a machine that is loaded takes longer
ATTEMPTS_MAX = 4  # of one call: a daemon that dies of it four times will do so again
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0

# Methods beside the tools that only look, or whose repetition changes nothing.
_REPEATABLE = frozenset(
    {
        "ping",
        "tools.list",
        "rpc.discover",
        "session.info",
        "outcome.get",
        "changes.since",
        "workspace.status",
        "workspace.why",
        "metrics",
        "approvals.list",
        "history.diff",
        "history.blame",
        "history.purge",
        "editor.dirty",
        "editor.clean",
    }
)
_RECORDED = frozenset({"history.undo"})  # methods beside the tools whose outcome is kept


def plan(method: str, meta: "dict[str, Any]", tools: "list[dict[str, Any]]") -> "Plan":
    """What to do about a call whose answer did not come. `tools` as `tools.list` gives them."""
    if meta.get("dry_run") is True or method in _REPEATABLE:
        return "repeat"
    if method in _RECORDED:
        return "ask"
    hints = next((tool.get("hints", {}) for tool in tools if tool["name"] == method), None)
    if hints is None:
        return "give up"
    if hints.get("readOnlyHint") is True:
        return "repeat"
    # What reaches beyond the workspace (a browser that opens) is in no history, so nobody could tell.
    return "give up" if hints.get("openWorldHint") is not False else "ask"


def new_op() -> str:
    """A name for a call that nobody else has: 128 random bits, printable, within `limits.META_OP_MAX_CHARS`."""
    return os.urandom(16).hex()


def meta_of(op_id: "str | None", *, progress: bool, dry_run: bool) -> "dict[str, Any]":
    """The `_meta` of one call: every call has a name, so that it can be asked for later."""
    wishes = {"progress": progress, "dry_run": dry_run}
    return {"op": op_id or new_op(), **{name: True for name, wished in wishes.items() if wished}}


def pauses(for_s: float) -> "Iterator[float]":
    """How long to wait before each further try, in seconds, longer each time, until `for_s` have gone by."""
    end, pause = time.monotonic() + for_s, _FIRST_PAUSE_S
    while (left := end - time.monotonic()) > 0:
        yield min(pause, left)
        pause = min(pause * 2, _LONGEST_PAUSE_S)


def greeting(client: str, kind: str, resume: str | None) -> "dict[str, Any]":
    """The params of session.open."""
    return {"client": client, "kind": kind, **({} if resume is None else {"resume": resume})}


def default_client() -> str:
    """The client's name where the program gives none: the name of the program."""
    import sys  # its own name is all that is wanted

    name = os.path.basename(sys.argv[0] if sys.argv else "") or "python"
    return "".join(char for char in name if char.isprintable())[: limits.CLIENT_NAME_MAX_CHARS]


def gave_up(method: str, why: str) -> Lost:
    """The failure of a call of which nobody knows whether it took effect."""
    return Lost(f"{method}: {why}.\nWhether the call took effect is unknown: look before you repeat it.")
