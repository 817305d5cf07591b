"""What a person is asked, and what an answer is worth: for one call, on one target, as it was when they saw it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.files.waits import Waits
from picoclawd.text import display
from picoclawd.workspace.actors import Actor
from picoclawd.workspace.tasks import Task

SHOWN_MAX_CHARS = 32 * limits.KIB  # of one text in a listed call; what is cut is counted and hashed

Answer = Literal["once", "task", "deny"]
Mode = Literal["ask", "allow", "deny"]


@dataclass(frozen=True, slots=True)
class Settings:
    """`daemon.approvals`; not `reachable` where the operator's socket is switched off. Replaced whole at a reload."""

    mode: Mode = "ask"
    timeout_s: float = 120.0
    same_ancestor: Literal["warn", "refuse"] = "warn"
    reachable: bool = True


class Target(msgspec.Struct, frozen=True):
    """What a call is about, as it was when somebody looked: the real path, or the bytes of a URL.

    `sha256` is "" where there is no file, `identity` its device and inode.
    """

    path: bytes
    sha256: str = ""
    identity: tuple[int, int] | None = None


class Question(msgspec.Struct, frozen=True):
    """One call that a person must confirm: the exact call, why it is asked for, and its diff.

    `always`: a sensitive read or a URL, which no mode and no earlier answer settles. `waits` is told how long a
    person took; it is no part of the call.
    """

    actor: Actor
    method: str
    params: Mapping[str, Any]
    target: Target
    reason: str
    diff: str = ""
    task: Task | None = None
    always: bool = False
    waits: Waits = msgspec.field(default_factory=Waits)

    def canonical(self) -> bytes:
        """The call in one spelling: method, resolved path, arguments, and the target's content."""
        call = [self.method, display.to_path_bytes(self.target.path), self.params, self.target.sha256]
        return msgspec.json.encode(call, order="sorted")

    def answers(self) -> tuple[Answer, ...]:
        """The answers that a person may give."""
        whole_task = self.task is not None and self.task.opens_scope and not self.always
        return ("once", "task", "deny") if whole_task else ("once", "deny")


class Granted(msgspec.Struct, frozen=True):
    """The call may go on. `by` says on whose word, `request_id` which request was answered."""

    digest: str
    target: Target
    by: Literal["operator", "mode", "task", "once"]
    request_id: str | None = None

    def check_again(self, now: Question) -> None:
        """Refuse if the call, resolved again, is no longer what was confirmed; the next call asks anew.

        Raises: conflict.
        """
        if self.by in ("operator", "mode"):
            return
        if digest_of(now.canonical()) != self.digest or now.target.identity != self.target.identity:
            raise Fault(
                Slug.CONFLICT,
                f"{now.method}: what the path leads to changed after the person was asked, so the confirmation does "
                "not count. Nothing was done. Look at it again; the next call asks anew.",
                next_call=NextCall(now.method, dict(now.params)),
            )


def digest_of(canonical: bytes) -> str:
    """The digest by which a call is known."""
    return hashlib.sha256(canonical).hexdigest()


def shown_params(value: Any) -> Any:
    """A call's parameters for a person: whole, but for texts so long that nobody would read them to the end."""
    if isinstance(value, str) and len(value) > SHOWN_MAX_CHARS:
        left_out = len(value) - SHOWN_MAX_CHARS
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{value[:SHOWN_MAX_CHARS]}… [{left_out} more characters; sha256 of the whole text {digest}]"
    if isinstance(value, Mapping):
        return {key: shown_params(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown_params(each) for each in value]
    return value
