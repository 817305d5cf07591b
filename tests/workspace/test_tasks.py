"""Tasks: one current task a session, ids that nobody takes from another, and no scope for what had ended."""

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.workspace.actors import Actor, Kind, Role
from picoclawd.workspace.tasks import CURRENT, Tasks


def actor(session_id: str) -> Actor:
    return Actor(session_id, Role.AGENT, Kind.AGENT, "test", 1)


ONE, TWO = actor("s-1"), actor("s-2")


def refused(slug: Slug, tasks: Tasks, who: Actor, task_id: str) -> Fault:
    with pytest.raises(Fault) as caught:
        tasks.begin(who, "", task_id)
    assert caught.value.slug is slug
    return caught.value


def test_a_task_is_current_from_its_begin_to_its_end() -> None:
    tasks = Tasks()
    task = tasks.begin(ONE, "tidy up")
    assert task.opens_scope
    assert tasks.current("s-1") == task
    assert tasks.current("s-2") is None
    assert tasks.is_open(task.task_id)
    assert tasks.end(ONE, task.task_id) == task
    assert tasks.current("s-1") is None
    assert not tasks.is_open(task.task_id)


def test_ids_that_are_made_up_here_differ() -> None:
    tasks = Tasks()
    assert len({tasks.begin(actor(f"s-{number}"), "").task_id for number in range(50)}) == 50


def test_beginning_another_task_ends_the_one_before() -> None:
    tasks = Tasks()
    tasks.begin(ONE, "", "a")
    tasks.begin(ONE, "", "b")
    assert not tasks.is_open("a")
    current = tasks.current("s-1")
    assert current is not None
    assert current.task_id == "b"


@pytest.mark.parametrize("ended", [False, True])
def test_a_task_that_another_session_began_is_not_taken_over(ended: bool) -> None:
    tasks = Tasks()
    tasks.begin(ONE, "", "mine")
    if ended:
        tasks.end_session("s-1")
    fault = refused(Slug.INVALID_PARAMS, tasks, TWO, "mine")
    assert fault.data["path"] == "$.task_id"
    assert tasks.current("s-2") is None
    assert tasks.is_open("mine") is not ended


def test_a_task_of_an_earlier_run_belongs_to_the_session_that_history_names() -> None:
    tasks = Tasks(recorded_by={"old": "s-0", "ours": "s-1"}.get)
    refused(Slug.INVALID_PARAMS, tasks, ONE, "old")
    assert not tasks.begin(ONE, "", "ours").opens_scope


def test_an_own_ended_task_goes_on_and_opens_no_scope() -> None:
    tasks = Tasks()
    tasks.begin(ONE, "first", "a")
    tasks.end(ONE)
    again = tasks.begin(ONE, "second", "a")
    assert (again.task_id, again.objective, again.opens_scope) == ("a", "second", False)
    assert not tasks.begin(ONE, "third", "a").opens_scope


def test_an_own_running_task_named_again_stays_as_it_is() -> None:
    tasks = Tasks()
    first = tasks.begin(ONE, "first", "a")
    again = tasks.begin(ONE, "better said", "a")
    assert again.opens_scope
    assert (again.begun_at, again.objective) == (first.begun_at, "better said")
    assert tasks.end(ONE, "a") == again
    assert not tasks.is_open("a")


@pytest.mark.parametrize("task_id", ["", " ", "x" * 65, "a\nb", "a\x1b[0m", CURRENT])
def test_an_id_is_short_and_prints_and_does_not_mean_something_else(task_id: str) -> None:
    refused(Slug.INVALID_PARAMS, Tasks(), ONE, task_id)


def test_an_id_of_64_characters_is_taken() -> None:
    assert Tasks().begin(ONE, "", "x" * 64).task_id == "x" * 64


@pytest.mark.parametrize("objective", ["x" * 201, "a\nb"])
def test_an_objective_is_short_and_prints(objective: str) -> None:
    tasks = Tasks()
    with pytest.raises(Fault) as caught:
        tasks.begin(ONE, objective)
    assert caught.value.slug is Slug.INVALID_PARAMS
    assert caught.value.data["path"] == "$.objective"
    assert tasks.current("s-1") is None


def test_a_begin_that_is_refused_leaves_the_running_task_alone() -> None:
    tasks = Tasks()
    tasks.begin(TWO, "", "theirs")
    mine = tasks.begin(ONE, "", "mine")
    refused(Slug.INVALID_PARAMS, tasks, ONE, "theirs")
    assert tasks.current("s-1") == mine


def test_only_the_current_task_can_be_ended() -> None:
    tasks = Tasks()
    tasks.begin(ONE, "", "a")
    for who, task_id in ((ONE, "b"), (TWO, "a"), (TWO, None), (TWO, CURRENT)):
        with pytest.raises(Fault) as caught:
            tasks.end(who, task_id)
        assert caught.value.slug is Slug.UNKNOWN_TASK
    assert tasks.end(ONE, CURRENT).task_id == "a"
    with pytest.raises(Fault, match="has ended"):
        tasks.end(ONE, "a")


def test_a_sessions_end_ends_its_task() -> None:
    tasks = Tasks()
    task = tasks.begin(ONE, "")
    assert tasks.end_session("s-1") == task
    assert tasks.end_session("s-1") is None
    assert not tasks.is_open(task.task_id)


def test_current_names_the_running_task_of_that_session_alone() -> None:
    tasks = Tasks()
    task = tasks.begin(ONE, "tidy up")
    assert tasks.named("s-1", CURRENT) == task.task_id
    assert tasks.named("s-2", "t-any") == "t-any"
    with pytest.raises(Fault) as caught:
        tasks.named("s-2", CURRENT)
    assert caught.value.slug is Slug.UNKNOWN_TASK


def test_a_task_is_known_while_it_runs_and_after_it_ended() -> None:
    tasks = Tasks()
    task = tasks.begin(ONE, "tidy up")
    assert tasks.knows(task.task_id)
    tasks.end(ONE)
    assert tasks.knows(task.task_id)
    assert not tasks.knows("t-other")
