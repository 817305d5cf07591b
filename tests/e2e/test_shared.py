"""Several agents and a person on one workspace, over the sockets."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Client, Daemon

ASK = {"daemon.approvals": {"mode": "ask", "timeout_s": 5}, "tools.confirm_write_globs": ["*.cfg"]}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path) as daemon:
        yield daemon


def events(client: Client, wanted: int) -> list[dict[str, Any]]:
    """The next notifications of a connection."""
    found: list[dict[str, Any]] = []
    while len(found) < wanted:
        line = client.line()
        if "method" in line:
            found.append({"kind": line["method"], **line["params"]})
    return found


# Sessions and tasks


def test_a_resumed_session_keeps_what_it_read_and_its_task(daemon: Daemon) -> None:
    daemon.write("f.txt", "a\n")
    first = daemon.client()
    opened = first.call("session.open", client="one")
    task = first.call("task.begin", objective="tidy")["task_id"]
    first.call("read_file", path="f.txt")
    first.close()
    second = daemon.client()
    resumed = resume(second, opened["resume"])
    assert resumed["session_id"] == opened["session_id"]
    assert resumed["task_id"] == task
    second.call("edit_file", path="f.txt", targets=[{"old_string": "a", "new_string": "b"}])
    assert daemon.client().error("session.open", resume=opened["resume"]).slug == "unknown_session"


def resume(client: Client, token: str) -> dict[str, Any]:
    """Take a session up again, once the daemon has noticed that its connection is gone."""
    end = time.monotonic() + 10
    while True:
        try:
            return client.call("session.open", resume=token)
        except Exception as error:
            if getattr(error, "slug", None) != "session_in_use" or time.monotonic() > end:
                raise
            time.sleep(0.01)


def test_a_token_opens_nothing_for_the_other_role_or_while_its_session_lives(daemon: Daemon) -> None:
    agent = daemon.client()
    token = agent.call("session.open", client="one")["resume"]
    assert daemon.operator().error("session.open", resume=token).slug == "unknown_session"
    assert daemon.client().error("session.open", resume=token).slug == "session_in_use"


def test_a_task_of_another_session_is_not_taken_over_even_after_a_restart(daemon: Daemon) -> None:
    first = daemon.client()
    first.call("task.begin", objective="mine", task_id="t-1")
    first.call("write_file", path="f.txt", content="1")
    assert daemon.client().error("task.begin", objective="yours", task_id="t-1").slug == "invalid_params"
    daemon.stop()
    daemon.start()
    assert daemon.client().error("task.begin", objective="yours", task_id="t-1").slug == "invalid_params"
    assert daemon.client().error("task.end", task_id="t-1").slug == "unknown_task"


def test_a_closed_session_is_over_and_the_connection_goes_on(daemon: Daemon) -> None:
    client = daemon.client()
    opened = client.call("session.open", client="one", kind="subagent")
    client.call("task.begin", objective="tidy")
    assert client.call("session.close")["closed"] == opened["session_id"]
    info = client.call("session.info")
    assert info["session_id"] != opened["session_id"]
    assert (info["kind"], info["task_id"], info["client"]) == ("subagent", None, "")
    assert daemon.client().error("session.open", resume=opened["resume"]).slug == "unknown_session"


# Freshness among agents


def test_an_editors_words_on_one_file_count_in_the_order_sent(daemon: Daemon) -> None:
    daemon.write("f.txt", "1\n")
    editor, agent = daemon.operator(), daemon.client()
    for last in ("dirty", "clean") * 5:
        others = ("clean", "dirty") if last == "dirty" else ("dirty", "clean")
        said = [*others * 10, last]
        by_name = [{"path": "f.txt"}, {"path_bytes": "%66.txt"}]
        numbers = [editor.start(f"editor.{word}", by_name[turn % 2]) for turn, word in enumerate(said)]
        answers = [editor.line() for _ in numbers]
        assert [answer["id"] for answer in answers] == numbers
        if last == "dirty":
            assert agent.error("append_file", path="f.txt", content="x").slug == "open_in_editor"
        else:
            agent.call("append_file", path="f.txt", content="x")


def test_a59_an_overwrite_of_what_somebody_else_changed_is_refused_with_who_and_what(daemon: Daemon) -> None:
    path = daemon.write("f.txt", "1\n2\n")
    one, two = daemon.client(), daemon.client()
    two.call("session.open", client="other")
    one.call("read_file", path="f.txt")
    two.call("edit_file", path="f.txt", old_text="1", new_text="one")
    refused = one.error("write_file", path="f.txt", content="mine\n", overwrite=True)
    assert refused.slug == "not_fresh"
    assert refused.data["changed_by"]["client"] == "other"
    assert "+one" in refused.message
    assert path.read_text() == "one\n2\n"
    one.call("edit_file", path="f.txt", old_text="2", new_text="two")
    assert path.read_text() == "one\ntwo\n"


def test_a58_a_touch_and_a_rewrite_of_the_same_bytes_are_no_change(daemon: Daemon) -> None:
    path = daemon.write("f.txt", "1\n")
    client = daemon.client()
    client.call("read_file", path="f.txt")
    os.utime(path)
    client.call("edit_file", path="f.txt", targets=[{"old_string": "1", "new_string": "2"}])
    daemon.write("g.txt", "2\n").rename(path)
    client.call("edit_file", path="f.txt", targets=[{"old_string": "2", "new_string": "3"}])
    assert path.read_text() == "3\n"


def test_a61_an_own_write_is_a_fresh_read_until_a_formatter_comes(daemon: Daemon) -> None:
    path = daemon.write("f.txt", "a\nb\n")
    client = daemon.client()
    client.call("read_file", path="f.txt")
    client.call("edit_file", path="f.txt", targets=[{"old_string": "a", "new_string": "A"}])
    client.call("edit_file", path="f.txt", targets=[{"old_string": "b", "new_string": "B"}])
    path.write_text("A\n\nB\n")
    refused = client.error("edit_file", path="f.txt", targets=[{"old_string": "B", "new_string": "b"}])
    assert (refused.slug, refused.data["changed_by"]) == ("not_fresh", "outside")
    again = client.call(
        "edit_file",
        path="f.txt",
        targets=[{"old_string": "B", "new_string": "b"}],
        if_match=refused.data["sha256"],
    )
    assert again["data"]["action"] == "modified"


def test_a_restart_forgets_what_was_read_and_says_so(daemon: Daemon) -> None:
    daemon.write("f.txt", "1\n")
    daemon.client().call("read_file", path="f.txt")
    daemon.stop()
    daemon.start()
    refused = daemon.client().error("edit_file", path="f.txt", content="2\n")
    assert refused.slug == "not_fresh"
    assert "restarted" in refused.message


# Events


def test_who_did_what_is_told_and_can_be_asked_for_later(daemon: Daemon) -> None:
    listener, writer = daemon.client(), daemon.client()
    writer.call("session.open", client="writer")
    subscribed = listener.call("events.subscribe", kinds=["file.changed"], paths=["*.txt"])
    writer.call("write_file", path="f.txt", content="1")
    writer.call("write_file", path="f.md", content="1")
    (event,) = events(listener, 1)
    assert (event["path"], event["action"], event["by"]["client"]) == ("f.txt", "create", "writer")
    page = listener.call("changes.since", cursor=subscribed["cursor"])
    assert [change["path"] for change in page["changes"]] == ["f.txt", "f.md"]
    assert listener.call("changes.since", cursor=page["cursor"])["changes"] == []
    listener.call("events.unsubscribe", subscription=subscribed["subscription"])
    assert listener.error("events.unsubscribe", subscription=subscribed["subscription"]).slug == "not_found"
    daemon.stop()
    daemon.start()
    after = daemon.client().call("changes.since", cursor=page["cursor"])
    assert (after["fresh_instance"], after["changes"]) == (True, [])
    assert daemon.client().error("changes.since", cursor="nonsense").slug == "bad_cursor"


def test_changes_by_other_programs_are_told(daemon: Daemon) -> None:
    (daemon.root / "dir").mkdir()
    listener = daemon.client()
    wait_for_watcher(listener)
    listener.call("events.subscribe")
    path = daemon.write("dir/f.txt", "1")
    (event,) = events(listener, 1)
    assert (event["path"], event["action"], event["by"]) == ("dir/f.txt", "create", "outside")
    path.unlink()
    (event,) = events(listener, 1)
    assert (event["path"], event["action"], event["by"]) == ("dir/f.txt", "delete", "outside")


def test_the_end_of_a_tools_file_is_told_also_where_its_directory_was_not_watched_yet(daemon: Daemon) -> None:
    """Its coming, which was told, and its going were no difference to the next look at the directory."""
    listener = daemon.client()
    wait_for_watcher(listener)
    listener.call("events.subscribe", paths=["f.txt"])
    for number in range(3):
        (daemon.root / f"new{number}").mkdir()
        listener.call("write_file", path=f"new{number}/f.txt", content="1")
        (daemon.root / f"new{number}/f.txt").unlink()
        told = [note["params"]["action"] for note in listener.notes]
        listener.notes.clear()
        told += [event["action"] for event in events(listener, 2 - len(told))]
        assert told == ["create", "delete"]


def wait_for_watcher(client: Client) -> None:
    end = time.monotonic() + 20
    while client.call("workspace.status")["data"]["watcher"]["state"] != "ok":
        assert time.monotonic() < end
        time.sleep(0.02)


# Approvals, and an agent that wants to give itself one


def test_no_agent_approves_itself(tmp_path: Path) -> None:
    with Daemon(tmp_path, ASK) as daemon:
        agent, other, operator = daemon.client(), daemon.client(), daemon.operator()
        number = agent.start("write_file", {"path": "a.cfg", "content": "1"})
        request = pending(operator)
        for client in (other, agent):
            answer = {"id": request["id"], "digest": request["digest"], "answer": "once"}
            assert client.error("approvals.answer", **answer).slug == "operator_only"
            assert client.error("approvals.list").slug == "operator_only"
            assert client.error("events.subscribe", kinds=["approval.*"]).slug == "operator_only"
        wrong = operator.error("approvals.answer", id=request["id"], digest="0" * 64, answer="once")
        assert wrong.slug == "conflict"
        assert operator.error("approvals.answer", id="a-0", digest="0", answer="once").slug == "unknown_approval"
        assert not (daemon.root / "a.cfg").exists()
        operator.call("approvals.answer", id=request["id"], digest=request["digest"], answer="once")
        assert "result" in agent.answer(number)
        again = agent.start("write_file", {"path": "a.cfg", "content": "2", "overwrite": True})
        assert pending(operator)["id"] != request["id"], "an answer counts once"
        assert agent.answer(again)["error"]["data"]["error"] == "confirmation_pending"
        assert (daemon.root / "a.cfg").read_text() == "1"


def pending(operator: Client) -> dict[str, Any]:
    """The one request that waits for a person."""
    end = time.monotonic() + 10
    while not (found := operator.call("approvals.list")["pending"]):
        assert time.monotonic() < end
        time.sleep(0.02)
    (request,) = found
    assert isinstance(request, dict)
    return request


def test_an_answer_for_a_task_ends_with_the_task_and_a_reopened_one_opens_nothing(tmp_path: Path) -> None:
    with Daemon(tmp_path, ASK) as daemon:
        agent, operator = daemon.client(), daemon.operator()
        agent.call("task.begin", objective="configure", task_id="t")
        number = agent.start("write_file", {"path": "a.cfg", "content": "1"})
        request = pending(operator)
        operator.call("approvals.answer", id=request["id"], digest=request["digest"], answer="task")
        assert "result" in agent.answer(number)
        agent.call("write_file", path="b.cfg", content="1")
        agent.call("task.end")
        agent.call("task.begin", objective="configure", task_id="t")
        number = agent.start("write_file", {"path": "c.cfg", "content": "1"})
        assert pending(operator)["answers"] == ["once", "deny"]
        assert agent.answer(number)["error"]["data"]["error"] == "confirmation_pending"


def test_requests_die_with_their_session(tmp_path: Path) -> None:
    with Daemon(tmp_path, ASK) as daemon:
        agent, operator = daemon.client(), daemon.operator()
        agent.start("write_file", {"path": "a.cfg", "content": "1"})
        pending(operator)
        agent.close()
        end = time.monotonic() + 10
        while operator.call("approvals.list")["pending"]:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert not (daemon.root / "a.cfg").exists()


# What outlives the daemon


def test_an_outcome_can_be_asked_for_after_the_connection_was_lost(daemon: Daemon) -> None:
    client = daemon.client()
    client.call("write_file", path="f.txt", content="1", _meta={"op": "op-1"})
    client.error("edit_file", path="f.txt", old_text="nothing", new_text="x", _meta={"op": "op-2"})
    client.close()
    daemon.stop(signal.SIGKILL)
    daemon.start()
    again = daemon.client()
    assert again.call("outcome.get", op="op-1")["outcome"] == "applied"
    assert again.call("outcome.get", op="op-2")["outcome"] == "not_applied"


def test_a_damaged_database_is_set_aside_and_said_so(daemon: Daemon) -> None:
    daemon.client().call("write_file", path="f.txt", content="1")
    daemon.stop()
    (database,) = (daemon.directory / "state").rglob("history.db")
    database.write_bytes(b"nonsense" * 4096)
    daemon.start()
    made = daemon.client().call("write_file", path="g.txt", content="1")
    assert made["data"]["restorable"]
    assert "set aside" in daemon.log()
    assert list(database.parent.glob("history.db.corrupt-*"))


def test_edits_go_on_where_the_state_directory_is_full(tmp_path: Path) -> None:
    state = tmp_path / "small"
    state.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k,mode=0700", "none", str(state)], capture_output=True, timeout=20
    )
    if mounted.returncode:
        pytest.skip("no tmpfs may be mounted here")
    try:
        with Daemon(tmp_path, {"daemon.state_dir": str(state / "s")}) as daemon:
            client = daemon.client()
            path = daemon.write("f.txt", "0\n")
            answers = []
            for number in range(12):
                text = os.urandom(60_000).hex()
                answers.append(client.call("write_file", path="f.txt", content=text, overwrite=True)["data"])
                assert path.read_text() == text, number
            assert answers[0]["restorable"]
            assert not answers[-1]["restorable"]
            assert "space" in answers[-1]["reason"]
            client.call("edit_file", path="f.txt", content="small\n")
            assert path.read_text() == "small\n"
    finally:
        subprocess.run(["umount", str(state)], check=True, timeout=20)


# History, for the person


def test_a_patch_of_one_session_is_taken_by_git(daemon: Daemon) -> None:
    client, operator = daemon.client(), daemon.operator()
    client.call("session.open", client="one")
    session_id = client.call("session.info")["session_id"]
    daemon.write("f.txt", "a\nb\n")
    subprocess.run(["cp", "-r", str(daemon.root), str(daemon.directory / "copy")], check=True, timeout=20)
    client.call("edit_file", path="f.txt", old_text="a", new_text="A")
    client.call("write_file", path="new/g.txt", content="g")
    operator.call("write_file", path="mine.txt", content="not the agent's")
    patch = operator.call("history.diff", session_id=session_id)["content"]
    copy = daemon.directory / "copy"
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=copy, check=True, timeout=20)
    assert (copy / "f.txt").read_text() == "A\nb\n"
    assert (copy / "new/g.txt").read_text() == "g"
    assert not (copy / "mine.txt").exists()
    assert client.error("history.diff", session_id=session_id).slug == "operator_only"
    assert operator.error("history.diff").slug == "invalid_params"


def test_blame_names_who_brought_each_line(daemon: Daemon) -> None:
    one, two, operator = daemon.client(), daemon.client(), daemon.operator()
    one.call("session.open", client="one")
    two.call("session.open", client="two")
    path = daemon.write("f.txt", "a\nb\n")
    one.call("edit_file", path="f.txt", old_text="b", new_text="b\nc")
    two.call("edit_file", path="f.txt", old_text="a", new_text="A")
    path.write_text("A\nb\nc\noutside\n")
    lines = operator.call("history.blame", path="f.txt")["data"]["lines"]
    assert [(line["line"], line["client"]) for line in lines] == [
        ("A", "two"),
        ("b", None),
        ("c", "one"),
        ("outside", None),
    ]


def test_a_person_can_have_a_path_forgotten(daemon: Daemon) -> None:
    client, operator = daemon.client(), daemon.operator()
    client.call("write_file", path="d/f.txt", content="1")
    client.call("edit_file", path="d/f.txt", old_text="1", new_text="2")
    assert operator.call("history.purge", path="d")["purged"] == 2
    assert operator.call("history.diff", **{"from": "2000-01-01"})["content"] == ""


def test_metrics_are_prometheus_text(daemon: Daemon) -> None:
    text = daemon.client().call("metrics")["content"]
    assert re.search(r"^# TYPE picoclawd_sessions gauge\npicoclawd_sessions [1-9]$", text, re.MULTILINE)
    assert text.endswith("\n")
