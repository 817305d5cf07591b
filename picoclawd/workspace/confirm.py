"""Approvals: put a call before a person, wait for the answer, and let it count for that one call only. Loop only.

A request outlives the call that waits for it: an identical call within ten minutes joins it, or uses its answer, once.
"""

import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import trio

from picoclawd import limits
from picoclawd.errors import Fault, NextCall, Slug
from picoclawd.text import display
from picoclawd.text.calls import call_line
from picoclawd.workspace.actors import Actor
from picoclawd.workspace.ancestry import Answerer, ReadProcess, answerer, read_process
from picoclawd.workspace.audit import Approval
from picoclawd.workspace.events import Feed
from picoclawd.workspace.questions import Answer, Granted, Question, Settings, digest_of, shown_params

REQUEST_VALID_S = 600.0  # a person may be at lunch, but an old question should not take effect tomorrow
GRANT_VALID_S = 1800.0  # of an answer for a whole task
PENDING_MAX = 16  # unanswered requests of a session: more than anybody reads
KEPT_BYTES_MAX = 64 * limits.MIB  # of all requests together: each keeps its call, which may be a large one


@dataclass(slots=True, eq=False)
class _Request:
    id: str
    digest: str
    question: Question
    size_bytes: int
    requested_at: float
    expires_s: float
    answer: Literal["once", "deny", "session ended", "changed"] | None = None
    used: bool = False
    waiters: int = 0
    decided: trio.Event = field(default_factory=trio.Event)

    @property
    def key(self) -> tuple[str, str]:
        return self.question.actor.session_id, self.digest


class _Grant(msgspec.Struct, frozen=True):
    task_id: str
    until_s: float


def _no_pids() -> Iterable[int]:
    return ()


class Confirmations:
    """All requests and standing answers.

    `record` takes each answer for the audit log and must not block for long. `agent_pids` gives the processes of the
    agents that are connected. `clock` is monotonic, `wall` in seconds of the epoch.
    """

    def __init__(
        self,
        settings: Settings,
        feed: Feed,
        record: Callable[[Approval], object],
        *,
        agent_pids: Callable[[], Iterable[int]] = _no_pids,
        read: ReadProcess = read_process,
        clock: Callable[[], float] = trio.current_time,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._feed = feed
        self._record = record
        self._agent_pids = agent_pids
        self._read = read
        self._clock = clock
        self._wall = wall
        self._requests: dict[tuple[str, str], _Request] = {}
        self._grants: dict[tuple[str, str], _Grant] = {}
        self.answers: dict[Answer, int] = {"once": 0, "task": 0, "deny": 0}  # of a person, since the start

    @property
    def unanswered(self) -> int:
        """How many requests wait for a person."""
        return sum(request.answer is None for request in self._requests.values())

    async def wait(self, question: Question, timeout_s: float | None = None) -> Granted:
        """Wait until a person allowed the call, at most the configured time and `timeout_s`. Hold no lock meanwhile.

        Afterwards resolve the path again and call `Granted.check_again`.

        Raises: confirmation_pending where nobody answered in time, confirmation_denied, confirmation_unavailable,
        conflict where the target was exchanged meanwhile, cancelled where the session ended, overloaded.
        """
        digest = digest_of(question.canonical())
        settled = self._settled(question, digest)
        if settled is not None:
            return settled
        patience_s = self.settings.timeout_s if timeout_s is None else min(timeout_s, self.settings.timeout_s)
        request = self._join(question, digest)
        with question.waits.for_person(), trio.move_on_after(patience_s):
            while True:
                await self._decided(request)
                if request.answer != "once":
                    self._drop(request)
                    raise _refusal(request)
                if not request.used:
                    request.used = True
                    self._drop(request)
                    return Granted(digest, question.target, "once", request.id)
                request = self._join(question, digest)  # an identical call took the answer, which counts once
        raise self._still_pending(request)

    def pending(self, actor: Actor) -> list[dict[str, Any]]:
        """The rows of approvals.list: unanswered requests, oldest first.

        Raises: operator_only.
        """
        _check_operator(actor, "approvals.list")
        self._expire()
        return [self._row(request) for request in self._requests.values() if request.answer is None]

    def answer(
        self, actor: Actor, request_id: str, digest: str, answer: Answer, via: str | None = None
    ) -> dict[str, Any]:
        """Take a person's answer to the request of this id and digest; returns what approvals.answer answers.

        `via` says for the record who passed it on, where the person did not answer here.

        Raises: operator_only, also where `same_ancestor` is "refuse" and an agent's process tree tries to allow
        something; unknown_approval; conflict for another digest; invalid_params for "task" where it is not offered.
        """
        _check_operator(actor, "approvals.answer")
        request = self._unanswered(request_id, digest)
        if answer not in request.question.answers():
            raise Fault(
                Slug.INVALID_PARAMS,
                f"{answer!r} is no answer to this request: give one of {', '.join(request.question.answers())}. (For a "
                "whole task: only where the session has one running that never ended before, and not for credentials "
                "and URLs.)",
                path="$.answer",
            )
        by = answerer(actor.peer_pid, self._agent_pids(), via, self._read)
        if by.warning is not None and answer != "deny" and self.settings.same_ancestor == "refuse":
            self._audit(request, "refused", by)
            raise Fault(
                Slug.OPERATOR_ONLY,
                f"{by.warning}, so this answer may be the agent's own: it was not taken "
                '(daemon.approvals.same_ancestor is "refuse"). Answer from a terminal that no agent started.',
            )
        self._audit(request, answer, by)
        self._apply(request, answer)
        return {"id": request.id, "answer": answer, "warning": by.warning}

    def end_task(self, session_id: str) -> None:
        """Forget what was allowed for the session's task: it ended."""
        for key in [key for key in self._grants if key[0] == session_id]:
            del self._grants[key]

    def end_session(self, session_id: str) -> None:
        """Withdraw every request of a session that is over; calls that still wait end with `cancelled`."""
        self.end_task(session_id)
        for request in [each for each in self._requests.values() if each.key[0] == session_id]:
            self._withdraw(request, "session ended")

    # Before anybody is asked

    def _settled(self, question: Question, digest: str) -> Granted | None:
        """Whether the call may go on without a question; None where a person must be asked."""
        if question.actor.is_operator:
            return Granted(digest, question.target, "operator")
        if self.settings.mode == "deny":
            raise _denied(question, 'the configuration denies it (daemon.approvals.mode is "deny")')
        if self.settings.mode == "allow" and not question.always:
            return Granted(digest, question.target, "mode")
        if self._is_granted(question):
            return Granted(digest, question.target, "task")
        if not self.settings.reachable:
            raise Fault(
                Slug.CONFIRMATION_UNAVAILABLE,
                f"{question.method}: {question.reason}, so a person must confirm it, but nobody can be asked: the "
                "operator's socket is switched off (daemon.operator_socket). Nothing was done.",
            )
        return None

    def _is_granted(self, question: Question) -> bool:
        task = question.task
        if task is None or "task" not in question.answers():
            return False
        grant = self._grants.get((question.actor.session_id, question.method))
        return grant is not None and grant.task_id == task.task_id and self._clock() < grant.until_s

    def _join(self, question: Question, digest: str) -> _Request:
        """The request of an identical call, else a new one."""
        self._expire()
        request = self._requests.get((question.actor.session_id, digest))
        if request is not None and request.question.target.identity != question.target.identity:
            self._withdraw(request, "changed")
            request = None
        if request is None:
            request = self._ask(question, digest)
        if request.answer is None:
            request.expires_s = self._clock() + REQUEST_VALID_S
        return request

    def _ask(self, question: Question, digest: str) -> _Request:
        size_bytes = len(question.canonical()) + len(question.diff)
        self._check_room(question, size_bytes)
        request = _Request(
            id=f"a-{secrets.token_hex(4)}",
            digest=digest,
            question=question,
            size_bytes=size_bytes,
            requested_at=self._wall(),
            expires_s=self._clock() + REQUEST_VALID_S,
        )
        self._requests[request.key] = request
        row = self._row(request)
        self._feed.tell("approval.requested", {key: row[key] for key in row if key not in ("params", "diff")})
        return request

    def _check_room(self, question: Question, size_bytes: int) -> None:
        session_id = question.actor.session_id
        unanswered = sum(each.key[0] == session_id and each.answer is None for each in self._requests.values())
        if unanswered >= PENDING_MAX:
            raise Fault(
                Slug.OVERLOADED,
                f"{PENDING_MAX} calls of this session wait for a person already. Nothing was done. Wait for answers.",
            )
        if size_bytes + sum(each.size_bytes for each in self._requests.values()) > KEPT_BYTES_MAX:
            raise Fault(
                Slug.OVERLOADED,
                "the calls that wait for a person take all the memory there is for them. Nothing was done. Try later.",
            )

    # While somebody is asked

    async def _decided(self, request: _Request) -> None:
        if request.answer is not None:
            return
        request.waiters += 1
        try:
            await request.decided.wait()
        finally:
            request.waiters -= 1
            if request.answer is None:
                request.expires_s = self._clock() + REQUEST_VALID_S

    def _still_pending(self, request: _Request) -> Fault:
        question = request.question
        return Fault(
            Slug.CONFIRMATION_PENDING,
            f"{question.method}: {question.reason}, so a person must confirm it, and nobody has answered yet. Nothing "
            f"was done. The request ({request.id}) stays open for {REQUEST_VALID_S / 60:.0f} minutes: repeat the very "
            "same call to wait on.",
            next_call=NextCall(question.method, dict(question.params)),
            id=request.id,
        )

    def _drop(self, request: _Request) -> None:
        if self._requests.get(request.key) is request:
            del self._requests[request.key]

    def _expire(self) -> None:
        now = self._clock()
        for request in [each for each in self._requests.values() if not each.waiters and each.expires_s <= now]:
            self._drop(request)
            if request.answer is None:
                self._feed.tell("approval.withdrawn", {"id": request.id, "reason": "expired"})
        for key in [key for key, grant in self._grants.items() if grant.until_s <= now]:
            del self._grants[key]

    def _withdraw(self, request: _Request, why: Literal["session ended", "changed"]) -> None:
        self._drop(request)
        if request.answer is None:
            request.answer = why
            request.decided.set()
            self._feed.tell("approval.withdrawn", {"id": request.id, "reason": why})

    # When somebody answers

    def _unanswered(self, request_id: str, digest: str) -> _Request:
        self._expire()
        found = (each for each in self._requests.values() if each.id == request_id and each.answer is None)
        request = next(found, None)
        if request is None:
            raise Fault(
                Slug.UNKNOWN_APPROVAL,
                f"no request {request_id!r} waits for an answer: it was answered, has expired, or its session ended. "
                "See approvals.list.",
            )
        if not hmac.compare_digest(request.digest.encode(), digest.encode("utf-8", "surrogatepass")):
            raise Fault(
                Slug.CONFLICT,
                f"request {request_id!r} has another digest, so it is not the call that you saw. Nothing was decided. "
                "Look at approvals.list again.",
            )
        return request

    def _apply(self, request: _Request, answer: Answer) -> None:
        self.answers[answer] += 1
        self._decide(request, "deny" if answer == "deny" else "once", answer)
        task = request.question.task
        if answer != "task" or task is None:
            return
        session_id, method = request.key[0], request.question.method
        self._grants[session_id, method] = _Grant(task.task_id, self._clock() + GRANT_VALID_S)
        for other in list(self._requests.values()):
            if other.key[0] == session_id and other.answer is None and self._covers(method, other.question):
                self._decide(other, "once", answer)

    def _covers(self, method: str, question: Question) -> bool:
        return question.method == method and self._is_granted(question)

    def _decide(self, request: _Request, answer: Literal["once", "deny"], given: Answer) -> None:
        request.answer = answer
        request.decided.set()
        self._feed.tell("approval.answered", {"id": request.id, "answer": given})

    def _audit(self, request: _Request, answer: str, by: Answerer) -> None:
        question = request.question
        entry = Approval(
            id=request.id,
            digest=request.digest,
            method=question.method,
            path=display.data_name(question.target.path)[0],
            answer=answer,
            session_id=question.actor.session_id,
            client=question.actor.client,
            objective="" if question.task is None else question.task.objective,
            pid=by.pid,
            ancestors=by.ancestors,
            warning=by.warning,
            via=by.via,
        )
        self._record(entry)

    def _row(self, request: _Request) -> dict[str, Any]:
        """One row of approvals.list. What an agent says of itself is named in `claims`."""
        question = request.question
        return {
            "id": request.id,
            "digest": request.digest,
            "method": question.method,
            "call": call_line(question.method, question.params, question.target.path),
            "path": display.data_name(question.target.path)[0],
            "params": shown_params(question.params),
            "diff": question.diff,
            "reason": question.reason,
            "answers": list(question.answers()),
            "session_id": question.actor.session_id,
            "client": question.actor.client,
            "objective": "" if question.task is None else question.task.objective,
            "claims": ["client", "objective"],
            "requested_at": request.requested_at,
            "expires_at": self._wall() + request.expires_s - self._clock(),
        }


def _check_operator(actor: Actor, method: str) -> None:
    if not actor.is_operator:
        raise Fault(
            Slug.OPERATOR_ONLY, f"{method} is for the person, on the operator's socket: no agent approves itself."
        )


def _denied(question: Question, why: str) -> Fault:
    return Fault(
        Slug.CONFIRMATION_DENIED,
        f"{question.method}: {question.reason}, and {why}. Nothing was done. Do not repeat the call: find another way, "
        "or ask the person.",
    )


def _refusal(request: _Request) -> Fault:
    match request.answer:
        case "changed":
            return Fault(
                Slug.CONFLICT,
                f"{request.question.method}: what the path leads to was exchanged while the person was asked. Nothing "
                "was done. Look at it again; the next call asks anew.",
            )
        case "session ended":
            return Fault(Slug.CANCELLED, "the session ended before anybody answered. Nothing was done.")
        case _:
            return _denied(request.question, "the person denied it")
