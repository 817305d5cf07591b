"""The commands `approvals`, `approve` and `deny`: what waits for the person, and the person's answer."""

import json

from picoclawd.client import desk, output, table, times
from picoclawd.client.desk import Desk
from picoclawd.client.failures import OK, Failure, UsageFault
from picoclawd.client.table import Column

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from typing import Any

    Request = dict[str, Any]

_SHOWN_MAX_CHARS = 2000  # of a call's params: more is a file's text, and its diff says what it does
_ID_PREFIX = "a-"
_DONE = {"once": "approved", "task": "approved for its task", "deny": "denied"}


class UnknownApproval(Failure):
    """No request that waits has such an id."""

    slug = "unknown_approval"


def call_line(request: "Request") -> str:
    """A request's call on one line, not yet escaped."""
    return str(request.get("call") or f"{request['method']}({request['path']})")


_COLUMNS = (
    Column("id", lambda row: str(row["id"])),
    Column("age", lambda row: times.age(row["requested_at"]), right=True),
    Column("call", call_line),
    Column("reason", lambda row: str(row["reason"])),
    Column("client (claimed)", lambda row: str(row["client"] or "-"), who=lambda row: str(row["session_id"])),
    Column("objective (claimed)", lambda row: str(row["objective"] or "-")),
)


def listed(args: "argparse.Namespace") -> int:
    """`picoclawctl approvals [ID] [--diff]`."""
    with Desk(args) as at:
        pending = _pending(at)
    if args.id is not None:
        pending = [pick(pending, args.id)]
    if args.json or not pending or not (args.diff or args.id is not None):
        table.show(pending, _COLUMNS, args.json, "nothing waits for an answer")
    else:
        output.show_rows("\n\n".join(map(described, pending)).split("\n"))
    return OK


def answer(args: "argparse.Namespace") -> int:
    """`picoclawctl approve ID [--task]` and `picoclawctl deny ID`."""
    given = "deny" if args.command == "deny" else "task" if args.task else "once"
    with Desk(args) as at:
        request = pick(_pending(at), args.id)
        offered = request.get("answers", ["once", "deny"])
        if given not in offered:
            raise Failure(
                f"{request['id']} cannot be allowed for a whole task: only where one is running that never ended "
                "before, and never for credentials and URLs.\nLeave out --task to allow this one call."
            )
        if args.dry_run:
            output.show_rows([*described(request).split("\n"), f"would be {_DONE[given]}"])
            return OK
        verb = "deny" if given == "deny" else "allow"
        at.confirm(described(request), f"{verb} {request['id']}{' for its task' if given == 'task' else ''}")
        told = at.call("approvals.answer", {"id": request["id"], "digest": request["digest"], "answer": given})
    if args.json:
        output.show_json(told)
    else:
        output.show_rows([f"{_DONE[given]}: {output.one_line(call_line(request))}"])
        if told.get("warning"):
            output.complain(f"warning: {told['warning']}")
    return OK


def pick(pending: "list[Request]", wanted: str) -> "Request":
    """The request that an id, or the beginning of one, names.

    Raises:
        UsageFault: several begin like that.
        UnknownApproval: none does.
    """
    found = [request for request in pending if request["id"] in (wanted, _ID_PREFIX + wanted)]
    if not found and wanted:
        found = [request for request in pending if request["id"].startswith((wanted, _ID_PREFIX + wanted))]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageFault(f"{wanted!r} begins several: {', '.join(request['id'] for request in found)}")
    raise UnknownApproval(
        f"no request {wanted!r} waits for an answer: it was answered, has expired, or its session ended.\n"
        "picoclawctl approvals lists what waits."
    )


def described(request: "Request") -> str:
    """A request whole: the exact call, why it is asked for, what the agent claims, and the diff. Escaped."""
    rows = [
        f"{request['id']}  {output.one_line(call_line(request))}",
        f"  reason     {output.one_line(str(request['reason']))}",
        f"  method     {output.one_line(str(request['method']))}",
        f"  path       {output.one_line(str(request['path']))}",
        f"  params     {_params(request['params'])}",
        f"  session    {output.one_line(str(request['session_id']))}, {times.age(request['requested_at'])} ago",
        f"  client     {output.one_line(str(request['client'] or '-'))}  (claimed)",
        f"  objective  {output.one_line(str(request['objective'] or '-'))}  (claimed)",
    ]
    if request.get("diff"):
        rows.append(desk.patch(str(request["diff"])))
    return "\n".join(rows)


def _params(params: "Any") -> str:
    text = output.one_line(json.dumps(params, ensure_ascii=False))
    if len(text) <= _SHOWN_MAX_CHARS:
        return text
    return f"{text[:_SHOWN_MAX_CHARS]}… ({len(text) - _SHOWN_MAX_CHARS} more characters; --json shows them)"


def _pending(at: Desk) -> "list[Request]":
    pending: list[Request] = at.call("approvals.list")["pending"]
    return pending
