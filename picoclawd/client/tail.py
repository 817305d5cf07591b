"""`picoclawctl tail`: a line for each change, approval and session, until Ctrl-C."""

import re

from picoclawd.client import approvals, output, table, times
from picoclawd.client.desk import Desk
from picoclawd.client.failures import OK
from picoclawd.client.table import OUTSIDE
from picoclawd.text import glob

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

    Event = dict[str, Any]  # a notification's params, with `event`: its method

FILE_CHANGED = "file.changed"
RESYNC = "resync"

# Cursors age: the daemon keeps some thousand changes, and ours must not be older than these when one is needed.
_CURSOR_EVENTS = 1000

_ACTION_WIDTH = len("modify")


def run(args: "argparse.Namespace") -> int:
    """Follow the feed; ends when the daemon goes away, or with the interrupt that `main` turns into 130."""
    with Desk(args) as desk:
        desk.introduce()
        for event in Follower(desk, args.kinds, args.arguments).events():
            if args.json:
                output.show_lines([event])
            elif not _is_noise(event):
                output.show_rows([line(event, output.wants_colour())])
    return OK


class Follower:
    """One subscription, read without holes: what a full queue dropped is asked for afterwards."""

    def __init__(self, desk: Desk, kinds: "list[str]", paths: "list[str]") -> None:
        self._desk = desk
        params = {"kinds": kinds, "paths": paths}
        subscribed = desk.call("events.subscribe", {key: value for key, value in params.items() if value})
        self._cursor = subscribed["cursor"]
        self._patterns = [_pattern(form) for form in paths]
        self._files = not kinds or FILE_CHANGED in kinds or "file.*" in kinds
        self._seen_seq = 0
        self._since_cursor = 0

    def events(self) -> "Iterator[Event]":
        """Every event as it comes, without end."""
        while True:
            message = self._desk.connection.next_notification()
            event = {"event": message["method"], **(message.get("params") or {})}
            if event["event"] == RESYNC:
                yield event
                yield from self._missed()
            elif self._is_new(event):
                yield event
            if self._since_cursor >= _CURSOR_EVENTS:
                yield from self._missed()

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

    def _missed(self) -> "Iterator[Event]":
        """The changes that no notification told of. Ends with a cursor that is new."""
        self._since_cursor = 0
        if not self._files:
            return
        more = True
        while more:
            page = self._desk.call("changes.since", {"cursor": self._cursor})
            self._cursor, more = page["cursor"], page.get("more", False)
            if page["fresh_instance"]:
                yield {"event": "gap"}
            for change in page["changes"]:
                event = {"event": FILE_CHANGED, **change}
                if self._is_new(event) and self._is_wanted(event):
                    yield event
        self._since_cursor = 0


def _is_noise(event: "Event") -> bool:
    """Whether it is the end of a session that never said who it is: every single call of a shell has one."""
    return event["event"] == "session.closed" and not event.get("client")


def _pattern(form: str) -> "re.Pattern[str]":
    """What the daemon does with a file name form: its RE2 source, in `re`'s spelling."""
    source = re.sub(r"\\x\{([0-9A-F]+)\}", lambda code: f"\\U{int(code[1], 16):08X}", glob.to_re2(form))
    return re.compile(source.replace(r"\z", r"\Z"))


def line(event: "Event", colour: bool) -> str:
    """One event for a person, escaped."""
    who, text = _described(event)
    text = output.one_line(text)
    return f"{times.clock()} {table.paint(text, who) if colour and who else text}"


def _described(event: "Event") -> "tuple[str | None, str]":
    """Whose event it is, and what it says."""
    kind = event["event"]
    session = str(event["session_id"]) if event.get("session_id") else None
    match kind:
        case "file.changed":
            return _change(event)
        case "approval.requested":
            claims = f"client {event['client'] or '-'}, objective {event['objective'] or '-'}"
            text = f"{event['id']} {approvals.call_line(event)}: {event['reason']} (claimed: {claims})"
            return session, f"approval requested  {text}"
        case "approval.answered":
            return None, f"approval answered   {event['id']}: {event['answer']}"
        case "approval.withdrawn":
            return None, f"approval withdrawn  {event['id']}: {event['reason']}"
        case "resync":
            return None, "resync: events were missed; asking for the changes among them"
        case "gap":
            return None, "more was missed than the daemon keeps: nothing is known of that time"
        case _:
            says = f" {event['client']}" if event.get("client") else ""
            return session, f"{str(kind).replace('.', ' ', 1):<18}  {session or '-'}{says}"


def _change(event: "Event") -> "tuple[str | None, str]":
    by = event["by"]
    version = f" v{event['version']}" if event.get("version") is not None else ""
    text = f"{event['action']:<{_ACTION_WIDTH}}  {event['path']}{version}"
    if not isinstance(by, dict):
        return OUTSIDE, f"{text}  {by}"
    return str(by["session_id"]), f"{text}  {by['client'] or '-'} ({by['session_id']}) {by['tool']}"
