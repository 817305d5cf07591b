"""The state of one subscription, whoever carries its messages: what is new, and what to ask for after a hole."""

import re

from picoclawd.text import glob

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any

    Event = dict[str, Any]  # a notification's params, with `event`: its method

FILE_CHANGED = "file.changed"
RESYNC = "resync"

# Cursors age: the daemon keeps some thousand changes, and ours must not be older than these when one is needed.
_CURSOR_EVENTS = 1000


class Sieve:
    """What a subscriber has seen. It outlives connections: `subscribed` begins on a new one.

    The carrier asks `changes.since` with `cursor` whenever `is_behind`, hands each page to `page`, and goes on until
    it is behind no more.
    """

    def __init__(self, kinds: "list[str]", paths: "list[str]") -> None:
        self.params = {key: value for key, value in {"kinds": kinds, "paths": paths}.items() if value}
        self.cursor = ""
        self.is_behind = False
        self._patterns = [_pattern(form) for form in paths]
        self._files = not kinds or FILE_CHANGED in kinds or "file.*" in kinds
        self._seen_seq = 0
        self._since_cursor = 0

    def subscribed(self, answer: "dict[str, Any]") -> None:
        """Note what events.subscribe answered. After an earlier connection there is a hole to be filled."""
        self.is_behind = bool(self.cursor) and self._files
        self.cursor = self.cursor or str(answer["cursor"])

    def take(self, message: "dict[str, Any]") -> "list[Event]":
        """The events that a notification stands for: itself, or nothing where it was told already."""
        event = {"event": message["method"], **(message.get("params") or {})}
        if event["event"] == RESYNC:
            self.is_behind = self._files
            return [event]
        found = [event] if self._is_new(event) else []
        self.is_behind = self.is_behind or (self._files and self._since_cursor >= _CURSOR_EVENTS)
        return found

    def page(self, answer: "dict[str, Any]") -> "list[Event]":
        """The changes in an answer of changes.since that no notification told of; `gap` where it does not know."""
        self.cursor, self.is_behind = answer["cursor"], answer.get("more", False)
        self._since_cursor = 0
        found: list[Event] = []
        if answer["fresh_instance"]:
            self._seen_seq = 0  # another daemon counts from 1
            found.append({"event": "gap"})
        changes = [{"event": FILE_CHANGED, **change} for change in answer["changes"]]
        found += [event for event in changes if self._is_new(event) and self._is_wanted(event)]
        self._since_cursor = 0
        return found

    def _is_new(self, event: "Event") -> bool:
        self._since_cursor += 1
        if event["event"] != FILE_CHANGED:
            return True
        if event["seq"] <= self._seen_seq:
            return False  # told already, when it was asked for
        self._seen_seq = event["seq"]
        return True

    def _is_wanted(self, event: "Event") -> bool:
        return not self._patterns or any(pattern.search(event["path"]) for pattern in self._patterns)


def _pattern(form: str) -> "re.Pattern[str]":
    """What the daemon does with a file name form: its RE2 source, in `re`'s spelling."""
    source = re.sub(r"\\x\{([0-9A-F]+)\}", lambda code: f"\\U{int(code[1], 16):08X}", glob.to_re2(form))
    return re.compile(source.replace(r"\z", r"\Z"))
