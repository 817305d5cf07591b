"""A fake daemon's memory of what it applied: enough of sessions and outcomes to lose connections on."""

import threading
from typing import Any

from tests.client.fake import FakeDaemon, Refusal, Vanish

HINTS = {
    "read_file": {"readOnlyHint": True, "openWorldHint": False},
    "edit_file": {"readOnlyHint": False, "openWorldHint": False},
    "open_file": {"readOnlyHint": False, "openWorldHint": True},
}


class Memory:
    """Wires a fake daemon so that calls of `edit_file` are lost at the points that `losses` names, one each.

    "before": the connection goes before the change is made; "after": once it is made. Then calls are answered.
    """

    def __init__(self, daemon: FakeDaemon, *losses: str) -> None:
        self.losses = list(losses)
        self.applied: list[str] = []
        self.tokens: list[str | None] = []
        self._lock = threading.Lock()
        daemon.handlers["session.open"] = self._open
        daemon.handlers["tools.list"] = lambda _: {
            "tools": [{"name": name, "hints": hints} for name, hints in HINTS.items()]
        }
        daemon.handlers["outcome.get"] = self._outcome
        for name in HINTS:
            daemon.handlers[name] = self._change

    def _open(self, params: Any) -> Any:
        with self._lock:
            self.tokens.append(params.get("resume"))
            return {"session_id": "s-1", "resume": f"token-{len(self.tokens)}"}

    def _change(self, params: Any) -> Any:
        with self._lock:
            loss = self.losses.pop(0) if self.losses else None
            if loss == "before":
                raise Vanish
            self.applied.append(params["_meta"]["op"])
            if loss == "after":
                raise Vanish
        return {"content": "edited", "display": None, "data": {"path": "x"}}

    def _outcome(self, params: Any) -> Any:
        if params["op"] == "unheard-of":
            raise Refusal(-32012, "no history", error="history_unavailable")
        return {"op": params["op"], "outcome": "applied" if params["op"] in self.applied else "not_applied"}
