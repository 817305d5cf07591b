"""The write transaction: what is recorded, who is asked, who is told."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.errors import Fault, Slug
from picoclawd.history.query import Filter
from picoclawd.history.records import HistoryError
from picoclawd.workspace import questions
from picoclawd.workspace.workspace import Options
from tests.house import House

ASK = Options(approvals=questions.Settings(timeout_s=20))


def rows(house: House, name: str) -> list[tuple[Any, ...]]:
    """What history says of a file, oldest first."""
    made = house.history.versions(Filter(paths=[name.encode()]), 100)
    return [(each.action, each.tool, each.state) for each in reversed(made)]


def told(house: House) -> list[dict[str, Any]]:
    """A list that fills with every event that an operator is told of."""
    events: list[dict[str, Any]] = []

    def deliver(method: str, params: object) -> bool:
        assert isinstance(params, dict)
        events.append({"kind": method, **params})
        return True

    house.workspace.feed.subscribe(object(), house.operator.actor, deliver)
    return events


async def test_every_change_is_a_version_with_its_author(recorded: House) -> None:
    recorded.workspace.tasks.begin(recorded.agent.actor, "tidy up", "t1")
    made = await recorded.call("write_file", path="f.txt", content="1\n")
    await recorded.call("append_file", path="f.txt", content="2\n")
    edited = await recorded.call("edit_file", path="f.txt", old_text="1\n", new_text="one\n")
    assert made["data"]["restorable"] and edited["data"]["restorable"]
    assert edited["data"]["version"] == made["data"]["version"] + 2
    assert rows(recorded, "f.txt") == [
        ("create", "write_file", "done"),
        ("append", "append_file", "done"),
        ("modify", "edit_file", "done"),
    ]
    newest = recorded.history.version(edited["data"]["version"])
    assert (newest.session_id, newest.client) == (recorded.agent.session_id, "test")
    assert (newest.task_id, newest.objective) == ("t1", "tidy up")
    assert recorded.history.content_before(newest.version) == b"1\n2\n"
    assert recorded.history.content_after(newest.version) == b"one\n2\n"


async def test_what_somebody_else_did_in_between_is_recorded_before_our_change(recorded: House) -> None:
    await recorded.call("write_file", path="f.txt", content="1\n")
    recorded.write("f.txt", "theirs\n")
    await recorded.call("edit_file", path="f.txt", old_text="theirs", new_text="ours")
    assert [action for action, _, _ in rows(recorded, "f.txt")] == ["create", "external", "modify"]


async def test_a_refused_change_leaves_no_version(recorded: House) -> None:
    recorded.write("f.txt", "1\n")
    await recorded.fault(Slug.NO_MATCH, "edit_file", path="f.txt", old_text="nothing", new_text="x")
    await recorded.call("write_file", path="f.txt", content="1\n")
    assert rows(recorded, "f.txt") == []


async def test_a_dry_run_changes_and_records_nothing(recorded: House) -> None:
    recorded.write("f.txt", "1\n")
    events = told(recorded)
    await recorded.dry("edit_file", path="f.txt", old_text="1", new_text="2")
    assert (recorded.root / "f.txt").read_text() == "1\n"
    assert (rows(recorded, "f.txt"), events) == ([], [])


async def test_a_commit_that_fails_is_a_version_that_never_was(
    recorded: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded.write("f.txt", "1\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("picoclawd.files.temps.write_all", full)
    fault = await recorded.fault(Slug.IO_ERROR, "edit_file", path="f.txt", old_text="1", new_text="2")
    assert fault.data["errno_name"] == "ENOSPC"
    assert rows(recorded, "f.txt") == []
    assert (recorded.root / "f.txt").read_text() == "1\n"
    assert recorded.history.open_intents() == []


async def test_without_a_history_edits_go_on_and_say_why_they_cannot_be_undone(house: House) -> None:
    made = await house.call("write_file", path="f.txt", content="1\n")
    assert (made["data"]["version"], made["data"]["restorable"]) == (None, False)
    assert "no history" in made["data"]["reason"]


async def test_a_history_that_takes_nothing_stops_no_edit(recorded: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(intent: object) -> None:
        raise HistoryError("no space is left for the history")

    monkeypatch.setattr(recorded.history, "begin", refuse)
    made = await recorded.call("write_file", path="f.txt", content="1\n")
    assert not made["data"]["restorable"]
    assert made["data"]["reason"] == "no space is left for the history"
    assert (recorded.root / "f.txt").read_text() == "1\n"


async def test_the_clients_own_name_for_a_change_tells_its_outcome(recorded: House) -> None:
    await recorded.call("write_file", op="op-1", path="f.txt", content="1\n")
    assert recorded.history.outcome("op-1") == "applied"
    assert recorded.history.outcome("op-2") == "not_applied"


async def test_the_audit_log_has_a_line_for_each_change_and_no_content(recorded: House, tmp_path: Path) -> None:
    recorded.write("f.txt", "before\n")
    await recorded.call("edit_file", path="f.txt", old_text="before", new_text="after")
    line = (tmp_path / "state" / "audit.ndjson").read_text()
    assert '"tool":"edit_file"' in line and '"outcome":"applied"' in line
    assert "before" not in line and "after\n" not in line.replace("sha256_after", "")


async def test_the_feed_names_who_did_it_before_the_answer(recorded: House) -> None:
    events = told(recorded)
    await recorded.call("write_file", path="f.txt", content="1\n")
    await recorded.call("edit_file", path="f.txt", old_text="1", new_text="2")
    assert [(event["path"], event["action"]) for event in events] == [("f.txt", "create"), ("f.txt", "modify")]
    assert events[0]["by"] == {"session_id": recorded.agent.session_id, "client": "test", "tool": "write_file"}
    assert events[1]["version"] == events[0]["version"] + 1


async def test_an_own_write_is_a_fresh_read(recorded: House) -> None:
    await recorded.call("write_file", path="f.txt", content="a\nb\n")
    await recorded.call("edit_file", path="f.txt", targets=[{"old_string": "a", "new_string": "A"}])
    await recorded.call("edit_file", path="f.txt", targets=[{"old_string": "b", "new_string": "B"}])
    assert (recorded.root / "f.txt").read_text() == "A\nB\n"


async def test_unsaved_text_in_an_editor_keeps_agents_away_but_not_the_editor(recorded: House) -> None:
    path = recorded.write("f.txt", "1\n")
    editor = object()
    recorded.workspace.editors.dirty(recorded.operator.actor, editor, recorded.rooted.workspace + b"/f.txt")
    fault = await recorded.fault(Slug.OPEN_IN_EDITOR, "edit_file", path="f.txt", old_text="1", new_text="2")
    assert fault.retryable
    assert "unsaved" in (await recorded.call("read_file", path="f.txt"))["content"]
    await recorded.call("edit_file", session=recorded.operator, path="f.txt", old_text="1", new_text="2")
    recorded.workspace.editors.disconnect(editor)
    await recorded.call("edit_file", path="f.txt", old_text="2", new_text="3")
    assert path.read_text() == "3\n"


# Confirmation


async def asked(house: House) -> dict[str, Any]:
    """The one request that waits for a person, once there is one."""
    heard = trio.Event()

    def deliver(method: str, params: object) -> bool:
        heard.set()
        return True

    listener = object()
    confirmations, feed = house.workspace.confirmations, house.workspace.feed
    feed.subscribe(listener, house.operator.actor, deliver, ["approval.requested"])
    if not confirmations.pending(house.operator.actor):
        with trio.fail_after(10):
            await heard.wait()
    feed.disconnect(listener)
    (request,) = confirmations.pending(house.operator.actor)
    return request


async def answered(house: House, answer: Any, *, before: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Wait until a call waits for a person, do something, and answer it; the request as it was listed."""
    request = await asked(house)
    before()
    house.workspace.confirmations.answer(house.operator.actor, request["id"], request["digest"], answer)
    return request


async def test_a_person_sees_the_call_and_its_diff_and_lets_it_go_on(make_house: Callable[..., House]) -> None:
    house = make_house(options=ASK, confirm_write_globs=("*.cfg",))
    path = house.write("a.cfg", "x = 1\n")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: house.call("edit_file", path="a.cfg", old_text="x = 1", new_text="x = 2"))
        request = await answered(house, "once")
    assert path.read_text() == "x = 2\n"
    assert (request["method"], request["params"]["new_text"]) == ("edit_file", "x = 2")
    assert "-x = 1" in request["diff"] and "+x = 2" in request["diff"]
    assert house.workspace.locks.statistics() == []


async def test_a_file_that_changed_while_a_person_was_asked_is_left_alone(make_house: Callable[..., House]) -> None:
    house = make_house(options=ASK, confirm_write_globs=("*.cfg",))
    path = house.write("a.cfg", "x = 1\n")

    async def edit() -> None:
        await house.fault(Slug.CONFLICT, "edit_file", path="a.cfg", old_text="x = 1", new_text="x = 2")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(edit)
        await answered(house, "once", before=lambda: path.write_text("x = 1\ny = 1\n"))
    assert path.read_text() == "x = 1\ny = 1\n"


async def test_no_means_no_and_nothing_is_made(make_house: Callable[..., House]) -> None:
    house = make_house(options=ASK, confirm_write_globs=("sub/**",))

    async def write() -> None:
        await house.fault(Slug.CONFIRMATION_DENIED, "write_file", path="sub/deep/a.cfg", content="1")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await answered(house, "deny")
    assert os.listdir(house.root) == []


async def test_what_would_fail_anyway_is_not_asked_for(make_house: Callable[..., House]) -> None:
    house = make_house(options=ASK, confirm_write_globs=("*.cfg",))
    house.write("a.cfg", "x = 1\n")
    await house.fault(Slug.NO_MATCH, "edit_file", path="a.cfg", old_text="nothing", new_text="x")
    assert house.workspace.confirmations.pending(house.operator.actor) == []


async def test_nobody_is_asked_of_a_dry_run_or_of_a_persons_own_call(make_house: Callable[..., House]) -> None:
    house = make_house(options=ASK, confirm_write_globs=("*.cfg",))
    house.write("a.cfg", "x = 1\n")
    await house.dry("edit_file", path="a.cfg", old_text="x = 1", new_text="x = 2")
    await house.call("edit_file", session=house.operator, path="a.cfg", old_text="x = 1", new_text="x = 3")
    assert (house.root / "a.cfg").read_text() == "x = 3\n"


async def test_the_lock_is_free_while_a_person_is_asked(make_house: Callable[..., House]) -> None:
    house = make_house(options=ASK, confirm_write_globs=("*.cfg",))
    path = house.write("a.cfg", "x = 1\n")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: _stale(house))
        await asked(house)
        with trio.fail_after(10):
            await house.call("append_file", session=house.operator, path="a.cfg", content="y = 1\n")
        await answered(house, "once")
    assert path.read_text() == "x = 1\ny = 1\n"


async def _stale(house: House) -> None:
    with pytest.raises(Fault) as caught:
        await house.call("edit_file", path="a.cfg", old_text="x = 1", new_text="x = 2")
    assert caught.value.slug is Slug.CONFLICT


async def test_a_daemon_that_stops_takes_no_change(recorded: House) -> None:
    recorded.workspace.changer.closing = True
    await recorded.fault(Slug.SHUTTING_DOWN, "write_file", path="f.txt", content="1")


# Sensitive reads


async def test_a_sensitive_read_is_asked_for_even_where_all_is_allowed(make_house: Callable[..., House]) -> None:
    house = make_house(options=Options(approvals=questions.Settings(mode="allow", timeout_s=20)))
    house.write(".env", "K=1\n")
    answers: list[dict[str, Any]] = []

    async def read() -> None:
        answers.append(await house.call("read_files", files=[{"path": ".env"}]))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        request = await answered(house, "once")
    assert "1\tK=1" in answers[0]["content"]
    assert "task" not in request["answers"]
    denied = await house.call("read_files", session=house.operator, files=[{"path": ".env"}])
    assert "1\tK=1" in denied["content"]


async def test_a_sensitive_file_that_was_exchanged_while_a_person_was_asked_is_not_read(
    make_house: Callable[..., House],
) -> None:
    house = make_house(options=ASK)
    path = house.write(".env", "K=1\n")
    answers: list[dict[str, Any]] = []

    async def read() -> None:
        answers.append(await house.call("read_files", files=[{"path": ".env"}]))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await answered(house, "once", before=lambda: path.write_text("SECRET=2\n"))
    assert "SECRET" not in str(answers)
    assert answers[0]["data"]["files"][0]["error"]["error"] == "conflict"
