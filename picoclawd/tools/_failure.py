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
    """Why one file failed; the members of `error.data` of a call that fails for it."""

    error: str
    message: str
    retryable: bool
    next: Next | UnsetType = UNSET


class ChangeFailure(Failure, frozen=True, kw_only=True):
    """Why one file was not changed; `changed_by` is who changed it instead, `reason` why its state is not kept."""

    outcome: Outcome
    changed_by: Any = UNSET
    reason: str | UnsetType = UNSET


def failure_of(fault: Fault) -> Failure:
    """The fault of one file as a member of its row."""
    return Failure(error=fault.slug.value, message=fault.message, retryable=fault.retryable, next=_next(fault))


def change_failure_of(fault: Fault) -> ChangeFailure:
    """The same of a file that was to be changed."""
    return ChangeFailure(
        error=fault.slug.value,
        message=fault.message,
        retryable=fault.retryable,
        next=_next(fault),
        outcome=fault.outcome or "not_applied",
        changed_by=fault.data.get("changed_by", UNSET),
        reason=fault.data.get("reason", UNSET),
    )


def _next(fault: Fault) -> Next | UnsetType:
    call = fault.next_call
    return UNSET if call is None else Next(method=call.method, params=call.params)
