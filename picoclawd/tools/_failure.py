"""Why one file of a call with several failed: the error that the call would have had for it alone."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, Outcome


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """The literal call that would help."""

    method: str
    params: dict[str, Any]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why one file failed: members of `error.data`, with its message."""

    error: str
    message: str
    retryable: bool
    outcome: Outcome | UnsetType = UNSET
    next: Next | UnsetType = UNSET
    changed_by: Any = UNSET
    reason: str | UnsetType = UNSET


def failure_of(fault: Fault, *, mutating: bool = True) -> Failure:
    """The fault of one file as a member of its row."""
    call = fault.next_call
    return Failure(
        error=fault.slug.value,
        message=fault.message,
        retryable=fault.retryable,
        outcome=(fault.outcome or "not_applied") if mutating else UNSET,
        next=UNSET if call is None else Next(method=call.method, params=call.params),
        changed_by=fault.data.get("changed_by", UNSET),
        reason=fault.data.get("reason", UNSET),
    )
