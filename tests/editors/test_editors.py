"""What an editor does beside agents, in Neovim and in Emacs, each without a screen beside a real daemon."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.text import display
from tests.e2e.daemon import Client, Daemon
from tests.editors.driven import STRANGE, Editor, is_refused, wait_for

BEFORE = "one\ntwo\n"


@pytest.fixture
def agent(daemon: Daemon) -> Iterator[Client]:
    with daemon.client() as client:
        client.call("session.open", client="claude")
        yield client
        client.call("session.close")  # what still waits for an answer goes with it


@pytest.fixture
def file(daemon: Daemon, request: pytest.FixtureRequest) -> str:
    """The name of a file of this test alone."""
    name = f"{request.node.name.translate({ord(sign): '-' for sign in '[]'})}.txt"
    daemon.write(name, BEFORE)
    return name


def opened(editor: Editor, daemon: Daemon, name: str | bytes) -> bytes:
    path = os.path.join(os.fsencode(daemon.root), os.fsencode(name))
    editor.open(path)
    editor.connected()
    return path


def overwrite(agent: Client, name: str, content: str) -> None:
    agent.call("write_file", path=name, content=content, overwrite=True)


def test_an_agents_edit_appears_in_a_buffer_that_is_saved(
    editor: Editor, daemon: Daemon, agent: Client, file: str
) -> None:
    path = opened(editor, daemon, file)
    overwrite(agent, file, "three\n")
    assert f"{file}: reloaded, changed by claude (write_file, session s-" in editor.said("reloaded")
    assert editor.text(path) == "three\n"


def test_a_file_that_is_reached_through_a_link_is_the_same_file(
    editor: Editor, daemon: Daemon, agent: Client, file: str, scratch: Path
) -> None:
    (scratch / "link").symlink_to(daemon.root)
    path = os.fsencode(scratch / "link" / file)
    editor.open(path)
    editor.connected()
    overwrite(agent, file, "three\n")
    editor.said(f"{file}: reloaded")
    assert editor.text(path) == "three\n"
    editor.type("mine ")
    wait_for(lambda: is_refused(agent, file), "kept away")


def test_a_burst_of_edits_ends_with_the_last_text(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    path = opened(editor, daemon, file)
    for number in range(50):  # one of them lies between a reload's reading and its end
        overwrite(agent, file, f"{number}\n")
    wait_for(lambda: editor.text(path) == "49\n", "the last text")


def test_unsaved_text_is_kept_and_the_person_told(editor: Editor, daemon: Daemon, file: str) -> None:
    path = opened(editor, daemon, file)
    editor.type("mine ")
    daemon.write(file, "theirs\n")
    assert "changed by a program outside picoclawd" in editor.said("your unsaved text is kept")
    assert editor.text(path) == "mine one\ntwo\n"


def test_a_buffer_that_is_saved_again_by_undo_catches_up(editor: Editor, daemon: Daemon, file: str) -> None:
    path = opened(editor, daemon, file)
    editor.type("mine ")
    daemon.write(file, "theirs\n")
    editor.said("your unsaved text is kept")
    editor.undo()
    editor.said("reloaded")
    assert editor.text(path) == "theirs\n"


def test_agents_are_kept_away_from_unsaved_text_until_it_is_saved(
    editor: Editor, daemon: Daemon, agent: Client, file: str
) -> None:
    path = opened(editor, daemon, file)
    assert not is_refused(agent, file)
    editor.type("mine ")
    wait_for(lambda: is_refused(agent, file), "kept away")
    editor.save()
    wait_for(lambda: not is_refused(agent, file), "let in again")
    overwrite(agent, file, "three\n")
    editor.said("reloaded")
    assert editor.text(path) == "three\n"


@pytest.mark.parametrize("way", ["undo", "drop"])
def test_unsaved_text_that_is_gone_keeps_nobody_away(
    editor: Editor, daemon: Daemon, agent: Client, file: str, way: str
) -> None:
    opened(editor, daemon, file)
    editor.type("mine ")
    wait_for(lambda: is_refused(agent, file), "kept away")
    editor.undo() if way == "undo" else editor.drop()
    wait_for(lambda: not is_refused(agent, file), "let in again")


def test_an_own_save_is_no_news(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    other = f"other-{file}"
    daemon.write(other, BEFORE)
    opened(editor, daemon, other)
    opened(editor, daemon, file)
    subscriber = daemon.operator()
    subscriber.call("events.subscribe", paths=[file])
    editor.type("mine ")
    editor.save()
    while (note := subscriber.line()["params"])["path"] != file or note["by"] != "outside":
        pass  # the save comes back
    overwrite(agent, other, "three\n")  # which the editor is told of after that
    editor.said(f"{other}: reloaded")
    assert not any(f" {file}" in line for line in editor.log().splitlines())


def test_a_removed_file_stays_in_its_buffer(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    path = opened(editor, daemon, file)
    overwrite(agent, file, "three\n")  # what comes and goes between two looks of the daemon is no news
    editor.said("reloaded")
    (daemon.root / file).unlink()
    assert f"{file}: gone from the disk" in editor.said("removed by a program outside picoclawd")
    assert editor.text(path) == "three\n"


def test_a_file_that_did_not_exist_appears(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    (daemon.root / file).unlink()
    path = opened(editor, daemon, file)
    agent.call("write_file", path=file, content="new\n")
    editor.said("reloaded")
    assert editor.text(path) == "new\n"


def test_who_names_the_last_change_and_the_change_of_a_line(
    editor: Editor, daemon: Daemon, agent: Client, file: str
) -> None:
    opened(editor, daemon, file)
    agent.call("task.begin", objective="count to two")
    agent.call("edit_file", path=file, old_text="one", new_text="ONE")
    editor.said("reloaded")
    editor.command("who")
    said = editor.said("; line 1: ")
    assert "by claude (edit_file): count to two" in said
    assert said.rstrip().endswith("by claude")


def test_history_diff_and_restore(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    path = opened(editor, daemon, file)
    overwrite(agent, file, "three\n")
    overwrite(agent, file, "four\n")
    wait_for(lambda: editor.text(path) == "four\n", "reloaded")
    editor.command("history")
    rows = editor.shows("history", "by claude (write_file)").splitlines()[1:]
    assert len(rows) == 2
    older = rows[1].split()[0].removeprefix("v")
    editor.open(path)
    editor.command("diff", older)
    diff = editor.shows("diff", "@@")
    assert "-three" in diff and "+four" in diff
    editor.open(path)
    editor.answers(False)
    editor.command("restore", older)
    assert "would be modified" in editor.shows("restore", "+three")
    editor.said("nothing was restored")
    assert (daemon.root / file).read_text() == "four\n"
    editor.open(path)
    editor.answers(True)
    editor.command("restore", older)
    wait_for(lambda: editor.text(path) == "three\n", "restored")
    assert (daemon.root / file).read_text() == "three\n"
    editor.said("changed by you (restore_file)")


def test_nothing_is_restored_over_unsaved_text(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    overwrite(agent, file, "three\n")
    version = agent.call("file_history", path=file)["data"]["versions"][0]["version"]
    path = opened(editor, daemon, file)
    editor.type("mine ")
    editor.command("restore", str(version))
    editor.said("has unsaved text")
    assert editor.text(path) == "mine three\n"
    assert (daemon.root / file).read_text() == "three\n"


def pending_removal(editor: Editor, agent: Client, file: str) -> tuple[int, str]:
    """The number of a call that waits for the person, and the id under which the editor shows it."""
    call = agent.start("remove_file", {"path": file})
    assert "asked by claude" in editor.said(f"Remove({file}) waits for you")
    editor.command("approvals")
    shown = editor.shows("approvals", f"Remove({file})")
    head = next(line for line in shown.splitlines() if f"Remove({file})" in line)
    assert "client     claude  (claimed)" in shown
    return call, head.split()[0]


def test_a_pending_removal_is_approved(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    opened(editor, daemon, file)
    call, shown_id = pending_removal(editor, agent, file)
    editor.command("approve", shown_id)
    assert "result" in agent.answer(call)
    assert not (daemon.root / file).exists()
    editor.said(f"approved: Remove({file})")
    editor.shows("approvals", "Nothing waits")
    editor.said(f"{file}: gone from the disk")


def test_a_removed_file_is_brought_back(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    path = opened(editor, daemon, file)
    daemon.operator().call("remove_file", path=file)
    editor.said(f"{file}: gone from the disk")
    editor.command("history")
    row = editor.shows("history", "  delete ").splitlines()[1]
    editor.open(path)
    editor.answers(True)
    editor.command("restore", row.split()[0].removeprefix("v"))
    wait_for((daemon.root / file).exists, "brought back")
    editor.said("reloaded, changed by you (restore_file)")
    assert editor.text(path) == BEFORE


def test_a_pending_removal_is_denied(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    opened(editor, daemon, file)
    call, shown_id = pending_removal(editor, agent, file)
    editor.command("deny", shown_id)
    assert agent.answer(call)["error"]["data"]["error"] == "confirmation_denied"
    assert (daemon.root / file).read_text() == BEFORE
    editor.said(f"denied: Remove({file})")


def test_a_request_that_was_not_shown_cannot_be_answered(
    editor: Editor, daemon: Daemon, agent: Client, file: str
) -> None:
    opened(editor, daemon, file)
    call = agent.start("remove_file", {"path": file})
    operator = daemon.operator()
    [request] = wait_for(lambda: operator.call("approvals.list")["pending"], "a request")
    editor.command("approve", request["id"])
    editor.said("was not shown to you yet")
    assert (daemon.root / file).exists()
    editor.command("deny", request["id"])  # now it was
    assert "error" in agent.answer(call)


@pytest.mark.parametrize("goes", ["other", "own"])
def test_the_cursor_stays_with_its_request_when_the_list_changes(
    editor: Editor, daemon: Daemon, agent: Client, file: str, goes: str
) -> None:
    daemon.write(f"2-{file}", BEFORE)
    opened(editor, daemon, file)
    first = agent.start("remove_file", {"path": file})
    editor.said(f"Remove({file})")
    second = agent.start("remove_file", {"path": f"2-{file}"})
    editor.said(f"Remove(2-{file})")
    editor.command("approvals")
    editor.shows("approvals", f"Remove(2-{file})")
    editor.go_to("approvals", f"Remove(2-{file})" if goes == "other" else f"Remove({file})")
    operator = daemon.operator()
    pending = [each for each in operator.call("approvals.list")["pending"] if file in each["call"]]
    operator.call("approvals.answer", id=pending[0]["id"], digest=pending[0]["digest"], answer="deny")
    assert "error" in agent.answer(first)
    wait_for(lambda: f"Remove({file})" not in editor.view("approvals"), "one request left")
    editor.deny_here("approvals")
    if goes == "other":
        assert "error" in agent.answer(second)
        return
    assert pending[1]["id"] in [each["id"] for each in operator.call("approvals.list")["pending"]]


def test_a_search_leads_to_its_lines(editor: Editor, daemon: Daemon, file: str) -> None:
    word = f"needle{len(file)}{type(editor).__name__}"
    daemon.write(file, f"hay\n{word} 1\nhay\n{word} 2\n")
    opened(editor, daemon, file)
    editor.command("search", f"{word} [12]")
    editor.said("2 lines match")
    assert editor.results() == [(file, 2), (file, 4)]


def test_a_bad_pattern_is_a_message(editor: Editor, daemon: Daemon, file: str) -> None:
    opened(editor, daemon, file)
    editor.command("search", "(")
    assert "picoclawd: " in editor.said("missing")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"new\nline \x1b[31m.txt", r"new\nline \x1b[31m.txt"),
        ("gpj.\u202eexe.txt".encode(), r"gpj.\u202eexe.txt"),
        (b"caf\xe9.txt", r"caf\xe9.txt"),
        (b"50% [off] $HOME `id` 'q'.txt", "50% [off] $HOME `id` 'q'.txt"),
    ],
    ids=["controls", "bidi", "no-utf-8", "specials"],
)
def test_hostile_names_are_shown_escaped_and_still_reached(
    editor: Editor, daemon: Daemon, agent: Client, name: bytes, shown: str
) -> None:
    path = os.path.join(os.fsencode(daemon.root), name)
    with open(path, "wb") as file:
        file.write(b"one\n")
    opened(editor, daemon, name)
    encoded = "".join(f"%{byte:02X}" for byte in name)
    agent.call("write_file", path_bytes=encoded, content="two\n", overwrite=True)
    said = editor.said("reloaded")
    assert f"{shown}: reloaded" in said
    assert editor.text(path) == "two\n"
    editor.command("history")
    assert "by claude" in editor.shows("history", "write_file")
    editor.command("search", "^two$")
    editor.said("match ^two$")
    assert f"{shown}" in editor.found()


def test_a_diff_is_shown_escaped(editor: Editor, daemon: Daemon, agent: Client, file: str) -> None:
    overwrite(agent, file, "one\tand \x1b[2J\u202etwo\n")
    version = agent.call("file_history", path=file)["data"]["versions"][0]["version"]
    daemon.write(file, "three\n")
    opened(editor, daemon, file)
    editor.command("diff", str(version))
    assert "-one\tand \\x1b[2J\\u202etwo\n" in editor.shows("diff", "three")


def test_names_are_shown_as_the_daemon_shows_them(editor: Editor) -> None:
    assert [editor.shown(text) for text in STRANGE] == [display.name(text.encode()) for text in STRANGE]
