"""What the writing tools share: the request for a change, and the check that a mask is not written back."""

from collections.abc import Sequence
from typing import Any

from msgspec import UnsetType

from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.text import redact
from picoclawd.tools._spec import Call
from picoclawd.workspace.actors import Kind
from picoclawd.workspace.change import Request
from picoclawd.workspace.freshness import Guard, Setting
from picoclawd.workspace.plans import Old


def request_for(
    call: Call[Any], path: str, path_bytes: str | UnsetType, if_match: str | UnsetType, verb: str
) -> Request:
    """The change that this call wants.

    Raises: invalid_path.
    """
    return Request(
        session=call.session,
        path=call.workspace.parse(path, None if isinstance(path_bytes, UnsetType) else path_bytes),
        verb=verb,
        method=call.tool,
        params=call.given,
        cancelled=call.cancelled,
        task=call.task,
        op=call.op,
        if_match=None if isinstance(if_match, UnsetType) else if_match,
        dry_run=call.dry_run,
        waits=call.waits,
    )


def refuse_subagent(call: Call[Any]) -> None:
    """Keep a call for those that a person talks to. Raises: disabled_for_role."""
    if call.actor.kind is Kind.SUBAGENT:
        raise Fault(
            Slug.DISABLED_FOR_ROLE,
            f"{call.tool} is not for subagents. Nothing was done. Report to the agent that started you what should be "
            "done, and why.",
        )


def guard_of(
    call: Call[Any], request: Request, old: Old, setting: Setting = "content", anchors: Sequence[bytes] = ()
) -> Guard:
    """What the session knows of the file that it is about to change; for a commit thread."""
    ledger = call.session.ledger
    return Guard(
        given=request.path.given,
        setting=setting,
        entry=ledger.entry(old.real),
        ledger_is_empty=ledger.is_empty,
        if_match=request.if_match,
        anchors=anchors,
        last_change=lambda: call.workspace.journal.last_change(old.real, old.sha256()),
        read_tool="read_files" if "read_files" in call.enabled else "read_file",
    )


def refuse_mask(given: str, before: bytes, after: bytes) -> None:
    """Keep a secret that the caller saw only as a marker from being replaced by that marker.

    Raises: masked_text.
    """
    if redact.loses_secret(before, after):
        raise Fault(
            Slug.MASKED_TEXT,
            f"{given} holds a secret that was shown to you as {redact.MARK}, and this change would put the marker in "
            "its place. Nothing was written. Change the other lines with edit_file, leaving that text out.",
            next_call=NextCall("edit_file", {"path": given}),
        )
