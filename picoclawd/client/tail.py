"""`picoclawctl tail`: a line for each change, approval and session, until Ctrl-C."""

from picoclawd.client import approvals, output, table, times
from picoclawd.client.desk import Desk
from picoclawd.client.failures import OK
from picoclawd.client.follower import Follower
from picoclawd.client.table import OUTSIDE

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse

    from picoclawd.client.sieve import Event

_ACTION_WIDTH = len("modify")


def run(args: "argparse.Namespace") -> int:
    """Follow the feed; ends when the daemon goes away, or with the interrupt that `main` turns into 130."""
    with Desk(args) as desk:
        desk.introduce()
        for event in Follower(desk.connection, args.kinds, args.arguments).events():
            if args.json:
                output.show_lines([event])
            elif not _is_noise(event):
                output.show_rows([line(event, output.wants_colour())])
    return OK


def _is_noise(event: "Event") -> bool:
    """Whether it is the end of a session that never said who it is: every single call of a shell has one."""
    return event["event"] == "session.closed" and not event.get("client")


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
