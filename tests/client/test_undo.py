import json
from typing import Any

import pytest

from picoclawd.client import undo
from picoclawd.client.main import main
from tests.client.fake import FakeDaemon, Refusal
from tests.client.past import Past, created, deleted, restore_answer, restored, version

DRY = {"_meta": {"dry_run": True}}


@pytest.mark.parametrize(
    ("rows", "newest"),
    [
        ([version(1), version(2)], 2),
        ([version(1), version(2, action="external", session_id=None)], 1),
        ([version(1), version(2, session_id="s-op")], 1),
        ([version(1), version(2), restored(3, "h1")], 1),
        ([version(1), version(2), restored(3, "h1"), restored(4, "h0")], None),
        ([version(1), version(2), restored(3, "h1"), restored(4, "h2", sha256_before="h1")], 2),
        ([version(1), version(2), restored(3, "h0"), version(4, sha256_before="h0")], 4),
        ([version(1), version(2, path="b"), restored(3, "h0")], 2),
        ([created(1), restored(2, None)], None),
        ([created(1), version(2), deleted(3), restored(4, "h2")], 2),
        ([version(1), restored(2, None, size=10)], 1),
        ([], None),
    ],
    ids=[
        "the newest",
        "not what came from outside",
        "not the person's own",
        "not what was undone",
        "not what was undone step by step",
        "what was undone and done again",
        "what was done after an undo",
        "an undo counts for its own file",
        "a creation that was undone",
        "a deletion that was undone",
        "a restore whose content nobody hashed undoes nothing that is known",
        "nothing",
    ],
)
def test_the_newest_change_is_found(rows: list[dict[str, Any]], newest: int | None) -> None:
    found = undo.newest_change(reversed(rows), {"s-op"})
    assert (None if found is None else found["version"]) == newest


def test_undo_shows_what_it_does_and_restores_the_version_before(
    operated: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    Past(operated, created(1), version(2, path="b.txt"), version(3))
    assert main(["undo", "--yes"]) == 0
    assert operated.asked("restore_file") == [{"version": 1, **DRY}, {"version": 1}]
    shown = capsys.readouterr().out
    assert shown.startswith("v3 edit_file a.txt by ada, 2026-05-01 ")
    assert shown.index(", objective tidy up\n") < shown.index("\n  -new\n  +old\n") < shown.index("\n-new\n+old")
    assert operated.asked("session.open") == [{"client": "picoclawctl undo"}]


@pytest.mark.parametrize(
    ("rows", "call"),
    [
        ([version(1), deleted(2)], ("restore_file", {"version": 2})),
        ([version(1)], ("history.undo", {"from": "2026-05-01T12:00:00.000+00:00", "path": "a.txt"})),
        ([created(1)], ("history.undo", {"from": "2026-05-01T12:00:00.000+00:00", "path": "a.txt"})),
        (
            [version(1), deleted(2), created(3)],
            ("history.undo", {"from": "2026-05-01T12:00:00.000+00:00", "path": "a.txt"}),
        ),
        (
            [version(1, path="caf\ufffd", path_bytes="caf%E9")],
            ("history.undo", {"from": "2026-05-01T12:00:00.000+00:00", "path_bytes": "caf%E9"}),
        ),
    ],
    ids=["a deletion", "a first version", "a creation", "a creation after a deletion", "a name that is not UTF-8"],
)
def test_the_state_before_a_change_is_asked_for(
    operated: FakeDaemon, rows: list[dict[str, Any]], call: tuple[str, dict[str, Any]]
) -> None:
    Past(operated, *rows)
    assert main(["undo", "-y"]) == 0
    method, params = call
    assert operated.asked(method) == [{**params, **DRY}, params]


@pytest.mark.parametrize(
    ("options", "params"), [(["--task", "t-1"], {"task_id": "t-1"}), (["--session", "s-1"], {"session_id": "s-1"})]
)
def test_a_task_or_a_session_is_undone(operated: FakeDaemon, options: list[str], params: dict[str, Any]) -> None:
    Past(operated)
    assert main(["undo", *options, "--yes", "--force"]) == 0
    assert operated.asked("history.undo") == [{**params, "force": True, **DRY}, {**params, "force": True}]


def test_the_last_minutes_are_undone_from_one_moment_on(operated: FakeDaemon) -> None:
    Past(operated)
    assert main(["undo", "--last", "10m", "--yes"]) == 0
    tried, done = operated.asked("history.undo")
    assert tried["from"] == done["from"], "what was shown is what is done"
    assert main(["undo", "--last", "soon"]) == 2


def test_the_last_change_of_one_file(operated: FakeDaemon) -> None:
    Past(operated, version(1), version(2), version(3, path="b.txt"))
    assert main(["undo", "a.txt", "--yes"]) == 0
    assert operated.asked("restore_file")[1] == {"version": 1}
    assert main(["undo", "a.txt", "--task", "t-1"]) == 2


def test_live_operators_are_no_agents(operated: FakeDaemon) -> None:
    rows = [{"session_id": "s-editor", "role": "operator"}, {"session_id": "s-1", "role": "agent"}]
    operated.handlers["workspace.status"] = lambda _: {"data": {"sessions": rows}}
    Past(operated, version(1), version(2), version(3, session_id="s-editor"))
    assert main(["undo", "--yes"]) == 0
    assert operated.asked("restore_file")[1] == {"version": 1}


def test_without_a_yes_nothing_is_undone(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    Past(operated, version(1), version(2))
    assert main(["undo"]) == 4
    assert operated.asked("restore_file") == [{"version": 1, **DRY}]
    assert "Add --yes" in capsys.readouterr().err


def test_a_dry_run_only_shows(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    past = Past(operated, version(1), version(2))
    assert main(["undo", "--dry-run"]) == 0
    assert main(["undo", "--dry-run", "--json"]) == 0
    assert operated.asked("restore_file") == [{"version": 1, **DRY}] * 2
    shown = capsys.readouterr().out
    assert shown.startswith("v2 edit_file a.txt by ada")
    assert json.loads(shown[shown.index("{") :]) == past.answer


def test_what_an_agent_says_of_itself_forges_nothing(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    past = Past(operated, version(1), version(2, client="a\x1b[2J", objective="x\nv9 of mine"))
    past.answer = {**past.answer, "content": "+\x1b]0;evil\x07"}
    assert main(["undo", "--dry-run"]) == 0
    heading, *_ = capsys.readouterr().out.splitlines()
    assert heading.endswith("x\\nv9 of mine") and "a\\x1b[2J" in heading


def test_nothing_left_to_undo_is_exit_code_1(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    Past(operated, version(1), restored(2, "h0"))
    assert main(["undo", "--yes"]) == 1
    assert "no change of an agent" in capsys.readouterr().err
    operated.handlers["history.undo"] = lambda _: {"content": "", "data": {"files": []}}
    assert main(["undo", "--session", "s-9", "--yes"]) == 1
    assert len(operated.asked("history.undo")) == 1


def test_a_file_that_stays_as_it_is_makes_it_exit_code_1(
    operated: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    past = Past(operated)
    failed = {"path": "b.txt", "action": "failed", "version": None, "error": {"error": "conflict", "message": "m"}}
    past.answer = restore_answer({"path": "a.txt", "action": "modified", "version": 9}, failed)
    assert main(["undo", "--task", "t-1", "--yes"]) == 1
    said = capsys.readouterr().err
    assert "1 of 2 files were left as they are" in said and "--force" in said
    assert len(operated.asked("history.undo")) == 2
    past.answer = restore_answer(failed)
    assert main(["undo", "--task", "t-1", "--yes", "--json"]) == 1
    assert len(operated.asked("history.undo")) == 3, "where nothing can be done nobody is asked"


def test_what_is_as_it_was_needs_no_yes(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    past = Past(operated)
    past.answer = restore_answer({"path": "a.txt", "action": "unchanged", "version": None})
    assert main(["undo", "--task", "t-1"]) == 0
    assert len(operated.asked("history.undo")) == 1


@pytest.mark.parametrize(
    ("words", "params"),
    [
        (["17"], {"version": 17}),
        (["v17", "--force"], {"version": 17, "force": True}),
        (["--task", "t-1"], {"task_id": "t-1"}),
        (["--task", "t-1", "a.txt"], {"task_id": "t-1", "path": "a.txt"}),
        (["a.txt", "--task", "t-1", "--dry-run"], {"task_id": "t-1", "path": "a.txt", **DRY}),
    ],
)
def test_restore_names_a_version_or_a_task(operated: FakeDaemon, words: list[str], params: dict[str, Any]) -> None:
    Past(operated)
    assert main(["restore", *words]) == 0
    assert operated.asked("restore_file") == [params]


@pytest.mark.parametrize("words", [[], ["a.txt"], ["v"], ["-1"], ["²"]])
def test_restore_of_no_version_is_wrong_usage(operated: FakeDaemon, words: list[str]) -> None:
    Past(operated)
    try:
        code = main(["restore", *words])
    except SystemExit as left:
        code = int(left.code or 0)
    assert code == 2
    assert operated.asked("restore_file") == []


def test_a_conflict_names_the_option_that_lifts_it(operated: FakeDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_: Any) -> Any:
        following = {"method": "file_history", "params": {"path": "a.txt"}}
        raise Refusal(-32004, "changed outside: pass force: true", error="conflict", next=following)

    Past(operated)
    operated.handlers["restore_file"] = refuse
    assert main(["restore", "1"]) == 1
    said = capsys.readouterr().err
    assert "Add --force" in said
    assert "next: picoclawctl call file_history path=a.txt --operator\n" in said
    assert main(["restore", "1", "--force"]) == 1
    assert "Add --force" not in capsys.readouterr().err
