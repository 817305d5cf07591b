"""Approvals: one answer for one call, from a person, and nothing that an agent does makes it count for another."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock, wait_all_tasks_blocked

from picoclawd.errors import Fault, Slug
from picoclawd.workspace import ancestry, confirm
from picoclawd.workspace.actors import Actor, Kind, Role
from picoclawd.workspace.ancestry import Process, ancestors, read_process
from picoclawd.workspace.audit import Approval
from picoclawd.workspace.confirm import Confirmations
from picoclawd.workspace.events import Feed
from picoclawd.workspace.questions import Answer, Granted, Question, Settings, Target
from picoclawd.workspace.tasks import Task

AGENT = Actor("s-1", Role.AGENT, Kind.AGENT, "bot", 501)
OTHER = Actor("s-2", Role.AGENT, Kind.AGENT, "bot", 502)
PERSON = Actor("s-9", Role.OPERATOR, Kind.AGENT, "shell", 900)
TASK = Task("t-1", "s-1", "tidy up", 0.0)


def ask(
    path: str = "x.txt",
    actor: Actor = AGENT,
    task: Task | None = None,
    sha256: str = "aa",
    identity: tuple[int, int] = (1, 2),
    always: bool = False,
    method: str = "remove_file",
    **params: Any,
) -> Question:
    return Question(
        actor=actor,
        method=method,
        params={"path": path, **params},
        target=Target(b"/w/" + path.encode(), sha256, identity),
        reason="a removal is confirmed",
        diff="-gone",
        task=task,
        always=always,
    )


class Desk:
    """Confirmations with a person who answers, what is recorded, and the processes that there are."""

    def __init__(self, **settings: Any) -> None:
        self.recorded: list[Approval] = []
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.processes: dict[int, Process] = {}
        self.agents: list[int] = []
        feed = Feed()
        feed.subscribe(self, PERSON, self._deliver, kinds=["approval.*"])
        self.all = Confirmations(
            Settings(**settings),
            feed,
            self.recorded.append,
            agent_pids=lambda: self.agents,
            read=self.processes.get,
            wall=lambda: 5_000.0 + trio.current_time(),
        )

    def _deliver(self, method: str, params: object) -> bool:
        assert isinstance(params, dict)
        self.events.append((method, params))
        return True

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.all.pending(PERSON)

    def answer(self, answer: Answer, index: int = 0, actor: Actor = PERSON) -> dict[str, Any]:
        row = self.rows[index]
        return self.all.answer(actor, row["id"], row["digest"], answer)

    async def refused(self, slug: Slug, question: Question, timeout_s: float | None = None) -> Fault:
        with pytest.raises(Fault) as caught:
            await self.all.wait(question, timeout_s)
        assert caught.value.slug is slug, caught.value
        return caught.value

    async def left_pending(self, question: Question) -> dict[str, Any]:
        """Ask, wait a second in vain, and return the row."""
        fault = await self.refused(Slug.CONFIRMATION_PENDING, question, 1)
        return next(row for row in self.rows if row["id"] == fault.data["id"])


class Calls:
    """Calls in the background, and what became of each."""

    def __init__(self, desk: Desk, nursery: trio.Nursery) -> None:
        self._desk = desk
        self._nursery = nursery
        self.outcomes: list[str] = []

    async def start(self, question: Question) -> None:
        self._nursery.start_soon(self._run, question)
        await wait_all_tasks_blocked()

    async def _run(self, question: Question) -> None:
        try:
            self.outcomes.append((await self._desk.all.wait(question)).by)
        except Fault as fault:
            self.outcomes.append(fault.slug.value)


async def test_a_call_waits_for_its_answer(autojump_clock: MockClock) -> None:
    desk = Desk()
    async with trio.open_nursery() as nursery:
        calls = Calls(desk, nursery)
        await calls.start(ask())
        assert calls.outcomes == []
        assert desk.answer("once") == {"id": desk.recorded[0].id, "answer": "once", "warning": None}
    assert calls.outcomes == ["once"]
    assert desk.rows == []


async def test_the_person_sees_the_exact_call_and_what_the_agent_claims(autojump_clock: MockClock) -> None:
    desk = Desk()
    row = await desk.left_pending(ask(task=TASK, force=True))
    assert row == {
        "id": row["id"],
        "digest": row["digest"],
        "method": "remove_file",
        "call": "Remove(x.txt)",
        "path": "/w/x.txt",
        "params": {"path": "x.txt", "force": True},
        "diff": "-gone",
        "reason": "a removal is confirmed",
        "answers": ["once", "task", "deny"],
        "session_id": "s-1",
        "client": "bot",
        "objective": "tidy up",
        "claims": ["client", "objective"],
        "requested_at": 5_000.0,
        "expires_at": 5_601.0,
    }


async def test_a_very_long_text_is_shown_in_part_with_its_hash(autojump_clock: MockClock) -> None:
    desk = Desk()
    row = await desk.left_pending(ask(targets=[{"new_string": "x" * 100_000}]))
    shown = row["params"]["targets"][0]["new_string"]
    assert len(shown) < 34_000
    assert "sha256" in shown


async def test_nobody_answers_and_the_call_says_how_to_wait_on(autojump_clock: MockClock) -> None:
    desk = Desk(timeout_s=120)
    fault = await desk.refused(Slug.CONFIRMATION_PENDING, ask())
    assert trio.current_time() == pytest.approx(120)
    assert fault.retryable
    assert fault.data["id"] == desk.rows[0]["id"]
    assert fault.next_call is not None
    assert (fault.next_call.method, fault.next_call.params) == ("remove_file", {"path": "x.txt"})


async def test_a_client_that_waits_less_is_answered_sooner(autojump_clock: MockClock) -> None:
    desk = Desk(timeout_s=120)
    await desk.refused(Slug.CONFIRMATION_PENDING, ask(), timeout_s=3)
    assert trio.current_time() == pytest.approx(3)
    await desk.refused(Slug.CONFIRMATION_PENDING, ask(), timeout_s=0)
    assert trio.current_time() == pytest.approx(3)


async def test_a_denied_call_is_denied(autojump_clock: MockClock) -> None:
    desk = Desk()
    async with trio.open_nursery() as nursery:
        calls = Calls(desk, nursery)
        await calls.start(ask())
        await calls.start(ask())
        desk.answer("deny")
    assert calls.outcomes == ["confirmation_denied"] * 2
    assert desk.rows == []


async def test_an_identical_call_joins_the_request(autojump_clock: MockClock) -> None:
    desk = Desk()
    first = await desk.left_pending(ask())
    await trio.sleep(500)
    second = await desk.left_pending(ask())
    assert second["id"] == first["id"]
    assert [kind for kind, _ in desk.events] == ["approval.requested"]


async def test_an_identical_call_uses_the_answer_and_only_one_does(autojump_clock: MockClock) -> None:
    desk = Desk()
    await desk.left_pending(ask())
    desk.answer("once")
    assert (await desk.all.wait(ask())).by == "once"
    await desk.refused(Slug.CONFIRMATION_PENDING, ask(), 1)


async def test_of_two_calls_that_wait_only_one_uses_the_answer(autojump_clock: MockClock) -> None:
    desk = Desk(timeout_s=10)
    async with trio.open_nursery() as nursery:
        calls = Calls(desk, nursery)
        await calls.start(ask())
        await calls.start(ask())
        desk.answer("once")
    assert sorted(calls.outcomes) == ["confirmation_pending", "once"]
    assert trio.current_time() == pytest.approx(10)


async def test_an_answer_that_nobody_waited_for_denies_the_next_call_once(autojump_clock: MockClock) -> None:
    desk = Desk()
    await desk.left_pending(ask())
    desk.answer("deny")
    await desk.refused(Slug.CONFIRMATION_DENIED, ask())
    await desk.refused(Slug.CONFIRMATION_PENDING, ask(), 1)


@pytest.mark.parametrize("answered", [False, True])
async def test_after_ten_minutes_request_and_answer_are_gone(autojump_clock: MockClock, answered: bool) -> None:
    desk = Desk()
    row = await desk.left_pending(ask())
    if answered:
        desk.answer("once")
    await trio.sleep(600)
    assert desk.rows == []
    with pytest.raises(Fault) as caught:
        desk.all.answer(PERSON, row["id"], row["digest"], "once")
    assert caught.value.slug is Slug.UNKNOWN_APPROVAL
    assert (await desk.left_pending(ask()))["id"] != row["id"]


async def test_a_request_lives_as_long_as_a_call_waits_for_it(autojump_clock: MockClock) -> None:
    desk = Desk(timeout_s=3_600)
    async with trio.open_nursery() as nursery:
        calls = Calls(desk, nursery)
        await calls.start(ask())
        await trio.sleep(3_000)
        desk.answer("once")
    assert calls.outcomes == ["once"]


async def test_a_cancelled_call_leaves_its_request(autojump_clock: MockClock) -> None:
    desk = Desk()
    with trio.move_on_after(1):
        await desk.all.wait(ask())
    desk.answer("once")
    assert (await desk.all.wait(ask())).by == "once"


# What makes a call another one


@pytest.mark.parametrize(
    "other",
    [
        ask("y.txt"),
        ask(sha256="bb"),
        ask(method="restore_file"),
        ask(force=True),
        ask(actor=OTHER),
        replace(ask(), target=Target(b"/w/elsewhere", "aa", (1, 2))),
    ],
)
async def test_an_answer_counts_for_no_other_call(autojump_clock: MockClock, other: Question) -> None:
    desk = Desk()
    await desk.left_pending(ask())
    desk.answer("once")
    await desk.refused(Slug.CONFIRMATION_PENDING, other, 1)
    assert (await desk.all.wait(ask())).by == "once"


async def test_the_order_of_arguments_makes_no_other_call(autojump_clock: MockClock) -> None:
    desk = Desk()
    first = await desk.left_pending(ask(a=1, b={"c": 1, "d": 2}))
    second = await desk.left_pending(ask(b={"d": 2, "c": 1}, a=1))
    assert first["digest"] == second["digest"]


async def test_a_file_exchanged_for_its_twin_is_asked_for_anew(autojump_clock: MockClock) -> None:
    desk = Desk()
    first = await desk.left_pending(ask())
    desk.answer("once")
    second = await desk.left_pending(ask(identity=(1, 3)))
    assert second["id"] != first["id"]
    await desk.refused(Slug.CONFIRMATION_PENDING, ask(), 1)


async def test_a_call_whose_target_was_exchanged_while_it_waits_ends_in_conflict(autojump_clock: MockClock) -> None:
    desk = Desk(timeout_s=10)
    async with trio.open_nursery() as nursery:
        calls = Calls(desk, nursery)
        await calls.start(ask())
        await calls.start(ask(identity=(1, 3)))
        assert calls.outcomes == ["conflict"]
        desk.answer("once")
    assert calls.outcomes == ["conflict", "once"]


@pytest.mark.parametrize(
    "now", [ask(sha256="bb"), ask(identity=(1, 3)), ask(identity=(2, 2)), ask(force=True), ask("y.txt")]
)
async def test_what_changed_between_answer_and_act_is_a_conflict(autojump_clock: MockClock, now: Question) -> None:
    desk = Desk()
    await desk.left_pending(ask())
    desk.answer("once")
    granted = await desk.all.wait(ask())
    granted.check_again(ask())
    with pytest.raises(Fault) as caught:
        granted.check_again(now)
    assert caught.value.slug is Slug.CONFLICT
    await desk.refused(Slug.CONFIRMATION_PENDING, ask(), 1)


# Modes


async def test_operators_are_never_asked() -> None:
    for mode in ("ask", "allow", "deny"):
        desk = Desk(mode=mode, reachable=False)
        granted = await desk.all.wait(ask(actor=PERSON, always=True))
        assert granted.by == "operator"
        granted.check_again(ask(sha256="bb"))


async def test_mode_allow_asks_nobody() -> None:
    granted = await Desk(mode="allow", reachable=False).all.wait(ask())
    assert granted.by == "mode"
    granted.check_again(ask(sha256="bb"))


async def test_mode_allow_still_asks_for_sensitive_reads_and_urls(autojump_clock: MockClock) -> None:
    desk = Desk(mode="allow")
    await desk.refused(Slug.CONFIRMATION_PENDING, ask(always=True))
    await Desk(mode="allow", reachable=False).refused(Slug.CONFIRMATION_UNAVAILABLE, ask(always=True))


@pytest.mark.parametrize("always", [False, True])
async def test_mode_deny_denies_all_and_asks_nobody(autojump_clock: MockClock, always: bool) -> None:
    desk = Desk(mode="deny")
    fault = await desk.refused(Slug.CONFIRMATION_DENIED, ask(always=always))
    assert "daemon.approvals.mode" in fault.message
    assert (desk.rows, trio.current_time()) == ([], 0.0)


async def test_without_an_operators_socket_nobody_can_be_asked(autojump_clock: MockClock) -> None:
    fault = await Desk(reachable=False).refused(Slug.CONFIRMATION_UNAVAILABLE, ask())
    assert "daemon.operator_socket" in fault.message
    assert trio.current_time() == 0.0


# A whole task


async def allowed_for_task(desk: Desk, task: Task = TASK) -> None:
    await desk.left_pending(ask(task=task))
    desk.answer("task")
    assert (await desk.all.wait(ask(task=task))).by == "task"


async def test_an_answer_for_the_task_counts_for_this_session_and_method(autojump_clock: MockClock) -> None:
    desk = Desk()
    await allowed_for_task(desk)
    granted = await desk.all.wait(ask("y.txt", task=TASK))
    assert granted.by == "task"
    with pytest.raises(Fault, match="changed after"):
        granted.check_again(ask("y.txt", sha256="bb"))
    for other in (
        ask(method="restore_file", task=TASK),
        ask(actor=OTHER, task=TASK),
        ask("z.txt", task=replace(TASK, task_id="t-2")),
        ask("z.txt"),
        ask(".env", task=TASK, always=True),
    ):
        await desk.refused(Slug.CONFIRMATION_PENDING, other, 1)


async def test_the_task_answer_releases_the_calls_it_covers(autojump_clock: MockClock) -> None:
    desk = Desk(timeout_s=10)
    async with trio.open_nursery() as nursery:
        calls = Calls(desk, nursery)
        for question in (ask("a", task=TASK), ask("b", task=TASK), ask("c"), ask("d", task=TASK, always=True)):
            await calls.start(question)
        desk.answer("task")
        await wait_all_tasks_blocked()
        assert calls.outcomes == ["once", "once"]
    assert calls.outcomes[2:] == ["confirmation_pending"] * 2


async def test_the_tasks_end_ends_it_and_naming_the_task_again_brings_nothing_back(autojump_clock: MockClock) -> None:
    desk = Desk()
    await allowed_for_task(desk)
    reopened = replace(TASK, opens_scope=False)
    await desk.refused(Slug.CONFIRMATION_PENDING, ask("y.txt", task=reopened), 1)
    desk.all.end_task("s-1")
    await desk.refused(Slug.CONFIRMATION_PENDING, ask("z.txt", task=TASK), 1)


async def test_after_thirty_minutes_the_task_is_asked_for_again(autojump_clock: MockClock) -> None:
    desk = Desk()
    await allowed_for_task(desk)
    start = trio.current_time()
    await trio.sleep(1_790)
    assert (await desk.all.wait(ask("y.txt", task=TASK))).by == "task"
    await trio.sleep(start + 1_801 - trio.current_time())
    await desk.refused(Slug.CONFIRMATION_PENDING, ask("z.txt", task=TASK), 1)


@pytest.mark.parametrize("question", [ask(), ask(task=replace(TASK, opens_scope=False)), ask(task=TASK, always=True)])
async def test_the_task_is_not_offered_without_one_nor_for_what_is_always_asked(
    autojump_clock: MockClock, question: Question
) -> None:
    desk = Desk()
    row = await desk.left_pending(question)
    assert row["answers"] == ["once", "deny"]
    with pytest.raises(Fault) as caught:
        desk.answer("task")
    assert caught.value.slug is Slug.INVALID_PARAMS
    assert desk.rows[0]["id"] == row["id"]


# Who may answer


async def test_an_agent_neither_sees_nor_answers_requests(autojump_clock: MockClock) -> None:
    desk = Desk()
    row = await desk.left_pending(ask())
    with pytest.raises(Fault) as listed:
        desk.all.pending(AGENT)
    with pytest.raises(Fault) as answered:
        desk.all.answer(AGENT, row["id"], row["digest"], "once")
    assert {listed.value.slug, answered.value.slug} == {Slug.OPERATOR_ONLY}
    assert desk.rows[0]["id"] == row["id"]
    assert desk.recorded == []


async def test_an_unknown_or_answered_request_is_unknown(autojump_clock: MockClock) -> None:
    desk = Desk()
    row = await desk.left_pending(ask())
    desk.answer("once")
    for request_id in ("a-none", "", row["id"]):
        with pytest.raises(Fault) as caught:
            desk.all.answer(PERSON, request_id, row["digest"], "deny")
        assert caught.value.slug is Slug.UNKNOWN_APPROVAL
    assert (await desk.all.wait(ask())).by == "once"


@pytest.mark.parametrize("digest", ["", "0" * 64, "é\ud800"])
async def test_the_digest_must_be_the_one_that_was_shown(autojump_clock: MockClock, digest: str) -> None:
    desk = Desk()
    row = await desk.left_pending(ask())
    with pytest.raises(Fault) as caught:
        desk.all.answer(PERSON, row["id"], digest, "once")
    assert caught.value.slug is Slug.CONFLICT
    assert desk.rows[0]["id"] == row["id"]


async def test_an_answer_that_does_not_exist_decides_nothing(autojump_clock: MockClock) -> None:
    desk = Desk()
    row = await desk.left_pending(ask())
    with pytest.raises(Fault) as caught:
        desk.all.answer(PERSON, row["id"], row["digest"], "yes")  # type: ignore[arg-type]
    assert caught.value.slug is Slug.INVALID_PARAMS
    assert desk.rows


async def test_each_answer_is_recorded_with_the_pid_and_its_ancestors(autojump_clock: MockClock) -> None:
    desk = Desk()
    desk.processes.update({900: Process(800, "picoclawctl"), 800: Process(700, "bash"), 700: Process(1, "sshd")})
    row = await desk.left_pending(ask(task=TASK))
    desk.answer("deny")
    assert desk.recorded == [
        Approval(
            id=row["id"],
            digest=row["digest"],
            method="remove_file",
            path="/w/x.txt",
            answer="deny",
            session_id="s-1",
            client="bot",
            objective="tidy up",
            pid=900,
            ancestors=(800, 700),
        )
    ]


def family(desk: Desk, parents: dict[int, int]) -> None:
    desk.agents = [AGENT.peer_pid]
    desk.processes.update({pid: Process(parent, "x") for pid, parent in parents.items()})


RELATED: list[dict[int, int]] = [
    {900: 800, 501: 800, 800: 1},  # brother
    {900: 801, 801: 800, 501: 800, 800: 1},  # child of a brother
    {900: 501, 501: 800, 800: 1},  # child
    {900: 801, 801: 501, 501: 800, 800: 1},  # grandchild
]


@pytest.mark.parametrize("parents", RELATED)
async def test_an_answer_from_an_agents_process_tree_is_warned_of(
    autojump_clock: MockClock, parents: dict[int, int]
) -> None:
    desk = Desk()
    family(desk, parents)
    await desk.left_pending(ask())
    assert "shares its parent" in desk.answer("once")["warning"]
    assert desk.recorded[0].warning is not None
    assert (await desk.all.wait(ask())).by == "once"


@pytest.mark.parametrize("parents", RELATED)
async def test_or_refused_where_that_is_wanted(autojump_clock: MockClock, parents: dict[int, int]) -> None:
    desk = Desk(same_ancestor="refuse")
    family(desk, parents)
    await desk.left_pending(ask(task=TASK))
    for answer in ("once", "task"):
        with pytest.raises(Fault) as caught:
            desk.answer(answer)
        assert caught.value.slug is Slug.OPERATOR_ONLY
    assert [entry.answer for entry in desk.recorded] == ["refused", "refused"]
    await desk.refused(Slug.CONFIRMATION_PENDING, ask(task=TASK), 1)
    assert desk.answer("deny")["answer"] == "deny"


async def test_the_agents_own_process_cannot_answer_where_that_is_refused(autojump_clock: MockClock) -> None:
    desk = Desk(same_ancestor="refuse")
    desk.agents = [PERSON.peer_pid]
    await desk.left_pending(ask())
    with pytest.raises(Fault, match="agent's own"):
        desk.answer("once")


@pytest.mark.parametrize(
    "parents",
    [
        {900: 800, 501: 700, 800: 600, 700: 600, 600: 1},  # two shells of one terminal
        {900: 1, 501: 1},  # orphans
        {},  # both gone
    ],
)
async def test_a_person_beside_the_agent_is_not_suspected(autojump_clock: MockClock, parents: dict[int, int]) -> None:
    desk = Desk(same_ancestor="refuse")
    family(desk, parents)
    await desk.left_pending(ask())
    assert desk.answer("once")["warning"] is None


async def test_what_the_session_manager_started_is_not_related(autojump_clock: MockClock) -> None:
    desk = Desk(same_ancestor="refuse")
    family(desk, {900: 800, 501: 800})
    desk.processes[800] = Process(1, "systemd")
    await desk.left_pending(ask())
    assert desk.answer("once")["warning"] is None


# Bounds and ends


async def test_a_session_has_16_unanswered_requests(autojump_clock: MockClock) -> None:
    desk = Desk()
    for number in range(16):
        await desk.refused(Slug.CONFIRMATION_PENDING, ask(str(number)), 0)
    await desk.refused(Slug.OVERLOADED, ask("more"), 0)
    await desk.refused(Slug.CONFIRMATION_PENDING, ask("0"), 0)
    await desk.refused(Slug.CONFIRMATION_PENDING, ask("more", actor=OTHER), 0)
    desk.answer("deny")
    await desk.refused(Slug.CONFIRMATION_PENDING, ask("more"), 0)


async def test_all_requests_together_keep_64_mib(autojump_clock: MockClock) -> None:
    desk = Desk()
    text = "x" * (confirm.KEPT_BYTES_MAX // 3)
    for number in range(2):
        await desk.refused(Slug.CONFIRMATION_PENDING, ask(str(number), content=text), 0)
    await desk.refused(Slug.OVERLOADED, ask("2", content=text), 0)
    desk.all.end_session("s-1")
    await desk.refused(Slug.CONFIRMATION_PENDING, ask("2", content=text), 0)


async def test_a_sessions_end_takes_its_requests_answers_and_scope_along(autojump_clock: MockClock) -> None:
    desk = Desk()
    await allowed_for_task(desk)
    await desk.left_pending(ask("answered"))
    desk.answer("once")
    await desk.left_pending(ask("theirs", actor=OTHER))
    async with trio.open_nursery() as nursery:
        calls = Calls(desk, nursery)
        await calls.start(ask("waits"))
        desk.all.end_session("s-1")
    assert calls.outcomes == ["cancelled"]
    assert [row["session_id"] for row in desk.rows] == ["s-2"]
    for question in (ask("answered"), ask("y.txt", task=TASK)):
        await desk.refused(Slug.CONFIRMATION_PENDING, question, 1)


async def test_operators_are_told_of_every_step(autojump_clock: MockClock) -> None:
    desk = Desk()
    await desk.left_pending(ask("a"))
    desk.answer("once")
    await desk.left_pending(ask("b"))
    desk.all.end_session("s-1")
    await desk.left_pending(ask("c"))
    await trio.sleep(600)
    assert desk.rows == []
    assert [(kind, params.get("answer") or params.get("reason")) for kind, params in desk.events] == [
        ("approval.requested", "a removal is confirmed"),
        ("approval.answered", "once"),
        ("approval.requested", "a removal is confirmed"),
        ("approval.withdrawn", "session ended"),
        ("approval.requested", "a removal is confirmed"),
        ("approval.withdrawn", "expired"),
    ]
    assert not any("params" in params or "diff" in params for _, params in desk.events)


# Processes


def test_a_childs_first_ancestor_is_this_process() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert ancestors(child.pid)[0] == os.getpid()
        finally:
            child.kill()


def test_a_process_whose_name_looks_like_the_end_of_its_name_is_read_right(tmp_path: Path) -> None:
    sleep = shutil.which("sleep")
    assert sleep is not None
    program = tmp_path / "x) S 1 (y"
    shutil.copy(sleep, program)
    with subprocess.Popen([program, "60"]) as child:
        try:
            assert read_process(child.pid) == Process(os.getpid(), "x) S 1 (y")
        finally:
            child.kill()


def test_a_process_that_is_gone_has_no_ancestors() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait(10)
    assert read_process(child.pid) is None
    assert ancestors(child.pid) == ()


@pytest.mark.parametrize("read", [lambda pid: Process(pid + 1, "x"), lambda pid: Process(pid, "x")])
def test_a_chain_without_an_end_is_cut(read: Callable[[int], Process | None]) -> None:
    assert len(ancestors(5, read)) == ancestry.ANCESTORS_MAX


def test_an_operators_grant_is_checked_no_further() -> None:
    Granted("digest", Target(b"/w/x"), "operator").check_again(ask())
