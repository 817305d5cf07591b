"""restore_file: back to a version, or to before a task, and what is refused with the file as it is."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from picoclawd.errors import Slug
from picoclawd.workspace import questions
from picoclawd.workspace.actors import Kind, Role
from picoclawd.workspace.workspace import Options
from tests.house import House
from tests.tools.past import Asking, begin_task, versions, with_history

SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"


@pytest.fixture
def past(make_house: Callable[..., House], tmp_path: Path) -> House:
    return with_history(make_house, tmp_path)


async def edit(house: House, name: str, old: str, new: str, session: Any = None) -> int:
    answer = await house.call("edit_file", session=session, path=name, old_text=old, new_text=new)
    version = answer["data"]["version"]
    assert isinstance(version, int)
    return version


async def test_a_version_is_the_state_right_after_it_and_a_restore_is_a_version_too(past: House) -> None:
    path = past.write("f.txt", b"0\n", mode=0o640)
    made = [await edit(past, "f.txt", f"{n}\n", f"{n + 1}\n") for n in range(3)]
    answer = await past.call("restore_file", version=made[0])
    (row,) = answer["data"]["files"]
    assert path.read_bytes() == b"1\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert row == {"path": "f.txt", "action": "modified", "version": made[-1] + 1, "restorable": True}
    assert answer["content"] == f"Restore(version {made[0]})\nmodified f.txt (version {row['version']})"
    await past.call("restore_file", version=made[-1])
    assert path.read_bytes() == b"3\n"
    await past.call("restore_file", version=row["version"])
    assert path.read_bytes() == b"1\n"


async def test_a99_what_took_the_name_of_a_removed_file_is_not_lost(past: House) -> None:
    path = past.write("f.txt", b"1")
    removed = (await past.call("remove_file", path="f.txt"))["data"]["version"]
    past.write("f.txt", b"2")
    await past.fault(Slug.CONFLICT, "restore_file", version=removed)
    assert path.read_bytes() == b"2"
    path.unlink()
    await past.call("write_file", path="f.txt", content="2")  # known to history, so it may make room, and come back
    await past.call("restore_file", version=removed)
    assert path.read_bytes() == b"1"
    before = (await past.call("file_history", path="f.txt"))["data"]["versions"][0]["version"]
    await past.call("restore_file", version=before - 1)
    assert path.read_bytes() == b"2"


async def test_the_version_of_a_removal_brings_the_file_back_as_often_as_one_likes(past: House) -> None:
    path = past.write("d/f.txt", b"x\n", mode=0o755)
    removed = (await past.call("remove_file", path="d/f.txt"))["data"]["version"]
    path.parent.rmdir()
    for _ in range(2):
        await past.call("restore_file", version=removed)
        assert path.read_bytes() == b"x\n"
        assert path.stat().st_mode & 0o777 == 0o755
        await past.call("remove_file", path="d/f.txt")
    await past.call("write_file", path="d/f.txt", content="new\n")
    await past.call("restore_file", version=removed)
    assert path.read_bytes() == b"x\n"


async def test_a_version_that_is_there_already_changes_nothing_and_asks_nobody(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path, options=Options(approvals=questions.Settings(reachable=False)))
    house.write("f.txt", b"0\n")
    version = await edit(house, "f.txt", "0", "1")
    (row,) = (await house.call("restore_file", version=version))["data"]["files"]
    assert (row["action"], row["version"]) == ("unchanged", None)
    assert versions(house, "f.txt") == [version]


async def test_a_task_is_undone_created_files_go_removed_ones_come_back(past: House) -> None:
    a, b, c = past.write("A.txt", b"A0\n"), past.root / "B.txt", past.write("C.txt", b"C0\n")
    task = begin_task(past)
    await edit(past, "A.txt", "A0", "A1")
    await edit(past, "A.txt", "A1", "A2")
    await past.call("write_file", path="B.txt", content="B1\n")
    await past.call("remove_file", path="C.txt")
    answer = await past.call("restore_file", task_id="current")
    rows = answer["data"]["files"]
    assert [(row["path"], row["action"]) for row in rows] == [
        ("A.txt", "modified"),
        ("B.txt", "removed"),
        ("C.txt", "created"),
    ]
    assert answer["content"].splitlines()[0] == f"Restore(task {task})"
    assert (a.read_bytes(), b.exists(), c.read_bytes()) == (b"A0\n", False, b"C0\n")
    await past.call("restore_file", version=rows[0]["version"] - 2)  # undo the undo: of B, by its creation
    again = (await past.call("restore_file", task_id=task))["data"]["files"]
    assert [row["action"] for row in again].count("unchanged") >= 2


async def test_with_a_path_only_that_file_of_the_task_is_undone(past: House) -> None:
    a, b = past.write("A.txt", b"0\n"), past.write("B.txt", b"0\n")
    task = begin_task(past)
    await edit(past, "A.txt", "0", "1")
    await edit(past, "B.txt", "0", "1")
    answer = await past.call("restore_file", task_id=task, path="./A.txt")
    assert answer["content"].splitlines()[0] == "Restore(./A.txt)"
    assert (a.read_bytes(), b.read_bytes()) == (b"0\n", b"1\n")
    await past.fault(Slug.NOT_FOUND, "restore_file", task_id=task, path="C.txt")


async def test_what_names_no_state_is_refused(past: House) -> None:
    past.write("a.txt", b"0\n")
    past.write("b.txt", b"0\n")
    version = await edit(past, "a.txt", "0", "1")
    await past.fault(Slug.INVALID_PARAMS, "restore_file")
    await past.fault(Slug.INVALID_PARAMS, "restore_file", path="a.txt")
    await past.fault(Slug.INVALID_PARAMS, "restore_file", version=0)
    await past.fault(Slug.INVALID_PARAMS, "restore_file", version="one")
    await past.fault(Slug.INVALID_PARAMS, "restore_file", version=version, path="b.txt")
    await past.fault(Slug.UNKNOWN_VERSION, "restore_file", version=version + 100)
    await past.fault(Slug.UNKNOWN_VERSION, "restore_file", version=2**53 - 1)
    await past.fault(Slug.INVALID_PARAMS, "restore_file", version=2**64)
    await past.fault(Slug.UNKNOWN_TASK, "restore_file", task_id="t-none")
    await past.fault(Slug.UNKNOWN_TASK, "restore_file", task_id="current")
    assert versions(past, "a.txt") == [version]


async def test_version_wins_over_task(past: House) -> None:
    path = past.write("a.txt", b"0\n")
    first = await edit(past, "a.txt", "0", "1")
    await edit(past, "a.txt", "1", "2")
    await past.call("restore_file", version=first, task_id="t-none")
    assert path.read_bytes() == b"1\n"


async def test_a_task_that_changed_nothing_has_nothing_to_undo(past: House) -> None:
    task = begin_task(past)
    answer = await past.call("restore_file", task_id=task)
    assert answer["data"]["files"] == []
    assert "nothing to undo" in answer["content"]


async def test_an_outside_change_is_a_conflict_until_it_is_forced_and_then_it_is_recorded(past: House) -> None:
    path = past.write("a.txt", b"0\n")
    first = await edit(past, "a.txt", "0", "1")
    await edit(past, "a.txt", "1", "2")
    path.write_bytes(b"outside\n")
    fault = await past.fault(Slug.CONFLICT, "restore_file", version=first)
    assert "force: true" in fault.message
    assert fault.data["changed_by"] == "outside"
    assert path.read_bytes() == b"outside\n"
    await past.call("restore_file", version=first, force=True)
    assert path.read_bytes() == b"1\n"
    external = versions(past, "a.txt")[-2]
    await past.call("restore_file", version=external)
    assert path.read_bytes() == b"outside\n"


async def test_an_outside_removal_is_a_conflict_too(past: House) -> None:
    path = past.write("a.txt", b"0\n")
    first = await edit(past, "a.txt", "0", "1")
    await edit(past, "a.txt", "1", "2")
    path.unlink()
    await past.fault(Slug.CONFLICT, "restore_file", version=first)
    assert not path.exists()
    await past.call("restore_file", version=first, force=True)
    assert path.read_bytes() == b"1\n"


async def test_going_back_over_versions_of_others_needs_no_force(past: House) -> None:
    path = past.write("a.txt", b"0\n")
    other = past.session(Role.AGENT)
    first = await edit(past, "a.txt", "0", "1")
    await edit(past, "a.txt", "1", "2", session=other)
    await past.call("restore_file", version=first)
    assert path.read_bytes() == b"1\n"


async def test_a_task_does_not_undo_what_another_session_changed_after_it(past: House) -> None:
    a, b = past.write("A.txt", b"0\n"), past.write("B.txt", b"0\n")
    other = past.session(Role.AGENT)
    task = begin_task(past)
    await edit(past, "A.txt", "0", "1")
    await edit(past, "B.txt", "0", "1")
    await edit(past, "A.txt", "1", "2", session=other)
    answer = await past.call("restore_file", task_id=task)
    failed, done = answer["data"]["files"]
    assert (failed["action"], failed["error"]["error"], done["action"]) == ("failed", "conflict", "modified")
    assert failed["error"]["changed_by"]["session_id"] == other.session_id
    assert failed["error"]["outcome"] == "not_applied"
    assert "force: true" in answer["content"]
    assert (a.read_bytes(), b.read_bytes()) == (b"2\n", b"0\n")
    await past.call("restore_file", task_id=task, force=True)
    assert a.read_bytes() == b"0\n"


async def test_the_policy_of_today_counts(make_house: Callable[..., House], tmp_path: Path) -> None:
    house = with_history(make_house, tmp_path, unprotect=(r"^\.env$",))
    path = house.write(".env", b"0\n")
    first = await edit(house, ".env", "0", "1")
    await edit(house, ".env", "1", "2")
    rules = house.rooted.policy.rules
    house.rooted.policy = type(house.rooted.policy)(type(rules)(workspace=rules.workspace))
    fault = await house.fault(Slug.PROTECTED_PATH, "restore_file", version=first)
    assert ".env" not in fault.message
    assert path.read_bytes() == b"2\n"


async def test_nothing_is_restored_over_a_directory_or_through_a_link(past: House) -> None:
    path, other = past.write("a.txt", b"0\n"), past.write("o.txt", b"other\n")
    first = await edit(past, "a.txt", "0", "1")
    await edit(past, "a.txt", "1", "2")
    path.unlink()
    path.symlink_to("o.txt")
    await past.fault(Slug.CONFLICT, "restore_file", version=first, force=True)
    assert other.read_bytes() == b"other\n"
    path.unlink()
    path.mkdir()
    await past.fault(Slug.NOT_A_FILE, "restore_file", version=first, force=True)
    assert path.is_dir()


async def test_nothing_is_restored_behind_a_directory_that_became_a_link(past: House) -> None:
    past.write("d/a.txt", b"0\n")
    first = await edit(past, "d/a.txt", "0", "1")
    (past.root / "d").rename(past.root / "e")
    (past.root / "d").symlink_to("e")
    moved = past.write("e/a.txt", b"moved\n")
    await past.fault(Slug.CONFLICT, "restore_file", version=first, force=True)
    assert moved.read_bytes() == b"moved\n"


async def test_unsaved_text_in_an_editor_keeps_the_file(past: House) -> None:
    path = past.write("a.txt", b"0\n")
    first = await edit(past, "a.txt", "0", "1")
    await edit(past, "a.txt", "1", "2")
    past.workspace.editors.dirty(past.operator.actor, past, os.fsencode(path))
    await past.fault(Slug.OPEN_IN_EDITOR, "restore_file", version=first)
    assert path.read_bytes() == b"2\n"


async def test_what_is_not_kept_says_why(past: House) -> None:
    path = past.write("a.txt", b"0\n")
    first = await edit(past, "a.txt", "0", "1")
    await edit(past, "a.txt", "1", "2")
    history = past.workspace.journal.history
    assert history is not None
    await trio.to_thread.run_sync(history.purge, b"a.txt")
    await past.fault(Slug.UNKNOWN_VERSION, "restore_file", version=first)
    assert path.read_bytes() == b"2\n"


async def test_a_removed_file_whose_trash_was_emptied_cannot_come_back_and_says_so(past: House) -> None:
    past.write("a.txt", b"0\n")
    data = (await past.call("remove_file", path="a.txt"))["data"]
    await trio.Path(data["moved_to"]).unlink()
    fault = await past.fault(Slug.HISTORY_UNAVAILABLE, "restore_file", version=data["version"])
    assert fault.data["restorable"] is False
    assert not (past.root / "a.txt").exists()


async def test_a_large_file_comes_back_out_of_the_trash_and_only_to_a_free_name(past: House) -> None:
    content = b"x" * (2 * 1024 * 1024)
    path = past.write("big.bin", content)
    version = (await past.call("remove_file", path="big.bin"))["data"]["version"]
    await past.call("restore_file", version=version)
    assert path.read_bytes() == content


async def test_without_a_history_nothing_can_be_restored(house: House) -> None:
    await house.fault(Slug.HISTORY_UNAVAILABLE, "restore_file", version=1)
    await house.fault(Slug.HISTORY_UNAVAILABLE, "restore_file", task_id="t-1")


async def test_a_subagent_restores_nothing(past: House) -> None:
    path = past.write("a.txt", b"0\n")
    first = await edit(past, "a.txt", "0", "1")
    await edit(past, "a.txt", "1", "2")
    leg = past.workspace.sessions.connect(Role.AGENT, os.getpid())
    past.workspace.sessions.open(leg, "leg", Kind.SUBAGENT)
    await past.fault(Slug.DISABLED_FOR_ROLE, "restore_file", session=leg, version=first)
    assert path.read_bytes() == b"2\n"


async def test_a_dry_run_shows_the_masked_diff_and_changes_nothing(past: House) -> None:
    path = past.write("a.txt", f"token = {SECRET}\nzero\n")
    first = await edit(past, "a.txt", "zero", "one")
    await edit(past, "a.txt", "one", "two")
    answer = await past.dry("restore_file", version=first)
    assert "would be modified: a.txt" in answer["content"]
    assert "-two\n+one" in answer["content"]
    assert SECRET not in str(answer)
    assert answer["data"]["dry_run"] is True
    assert path.read_text().endswith("two\n")


async def test_one_question_covers_the_whole_task(make_house: Callable[..., House], tmp_path: Path) -> None:
    house = with_history(make_house, tmp_path, confirm_write_globs=("B.txt",))
    house.write("A.txt", b"0\n")
    house.write("B.txt", b"0\n")
    task = begin_task(house)
    await edit(house, "A.txt", "0", "1")
    await edit(house, "B.txt", "0", "1")
    house.workspace.confirmations.settings = questions.Settings()
    async with trio.open_nursery() as nursery:
        asking = Asking(house, nursery)
        await asking.start("restore_file", task_id=task)
        (row,) = asking.rows
        assert row["call"] == f"Restore(task {task})"
        assert "--- a/A.txt" in row["diff"]
        assert "--- a/B.txt" in row["diff"]
        asking.answer("once")
    assert [each["action"] for each in asking.outcomes[0]["data"]["files"]] == ["modified", "modified"]
    assert (house.root / "B.txt").read_bytes() == b"0\n"


async def test_a_file_that_changes_while_a_person_is_asked_is_not_restored(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path)
    path = house.write("a.txt", b"0\n")
    first = await edit(house, "a.txt", "0", "1")
    await edit(house, "a.txt", "1", "2")
    house.workspace.confirmations.settings = questions.Settings()
    async with trio.open_nursery() as nursery:
        asking = Asking(house, nursery)
        await asking.start("restore_file", version=first, force=True)
        path.write_bytes(b"precious\n")
        asking.answer("once")
    assert asking.outcomes[0].slug is Slug.CONFLICT
    assert path.read_bytes() == b"precious\n"


async def test_no_answer_and_a_no_restore_nothing(make_house: Callable[..., House], tmp_path: Path) -> None:
    house = with_history(make_house, tmp_path)
    path = house.write("a.txt", b"0\n")
    first = await edit(house, "a.txt", "0", "1")
    await edit(house, "a.txt", "1", "2")
    for settings, slug in (
        (questions.Settings(timeout_s=0.01), Slug.CONFIRMATION_PENDING),
        (questions.Settings(mode="deny"), Slug.CONFIRMATION_DENIED),
        (questions.Settings(reachable=False), Slug.CONFIRMATION_UNAVAILABLE),
    ):
        house.workspace.confirmations.settings = settings
        await house.fault(slug, "restore_file", version=first)
        assert path.read_bytes() == b"2\n"
    await house.call("restore_file", session=house.operator, version=first)
    assert path.read_bytes() == b"1\n"


async def test_a_late_yes_counts_for_the_next_identical_call_and_for_that_alone(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path)
    path = house.write("a.txt", b"0\n")
    first = await edit(house, "a.txt", "0", "1")
    await edit(house, "a.txt", "1", "2")
    house.workspace.confirmations.settings = questions.Settings(timeout_s=0.01)
    await house.fault(Slug.CONFIRMATION_PENDING, "restore_file", version=first)
    operator = house.operator.actor
    (row,) = house.workspace.confirmations.pending(operator)
    house.workspace.confirmations.answer(operator, row["id"], row["digest"], "once")
    await house.fault(Slug.CONFIRMATION_PENDING, "restore_file", version=first, force=True)
    await house.call("restore_file", version=first)
    assert path.read_bytes() == b"1\n"
    await house.call("write_file", path="a.txt", content="2\n", overwrite=True)
    await house.fault(Slug.CONFIRMATION_PENDING, "restore_file", version=first)
    assert path.read_bytes() == b"2\n"


async def test_a_file_outside_that_may_be_written_is_restored_there(
    make_house: Callable[..., House], tmp_path: Path
) -> None:
    house = with_history(make_house, tmp_path, allow_write=("/out/",), allow_read=("/out/",))
    path = tmp_path / "out" / "o.txt"
    path.write_bytes(b"0\n")
    first = await edit(house, str(path), "0", "1")
    removed = (await house.call("remove_file", path=str(path)))["data"]["version"]
    for version, content in ((removed, b"1\n"), (first, b"1\n")):
        (row,) = (await house.call("restore_file", version=version))["data"]["files"]
        assert (row["path"], path.read_bytes()) == (str(path), content)
