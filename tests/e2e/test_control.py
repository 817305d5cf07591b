"""picoclawctl beside two agents: the person sees what they do, answers what they ask, and undoes what went wrong."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import needs
from tests.e2e.daemon import Client, Daemon

DEADLINE_S = 30.0


def soon(holds: Callable[[], Any]) -> Any:
    """What `holds` gives once it is true."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := holds()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
    return found


def agent(daemon: Daemon, name: str, objective: str | None = None) -> tuple[Client, str]:
    """An agent's connection, and its task ("" without an objective)."""
    client = daemon.client()
    client.call("session.open", client=name)
    return client, client.call("task.begin", objective=objective)["task_id"] if objective else ""


def rows(done: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def following(daemon: Daemon, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """A `tail` that has subscribed; interrupted at the end."""
    command = [sys.executable, "-m", "picoclawd.client", "tail", *options]
    env = {**daemon.env, "PICOCLAWD_OPERATOR_SOCKET": str(daemon.operator_socket)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            with daemon.operator() as person:
                soon(lambda: "picoclawd_subscriptions 1\n" in person.call("metrics")["content"])
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]") -> str:
    """What a tail said until the interrupt."""
    process.send_signal(signal.SIGINT)
    shown, complained = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, complained) == (130, "")
    return shown


def test_tail_shows_who_did_what(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, following(daemon, "--json") as process:
        ada, _ = agent(daemon, "ada")
        ada.call("write_file", path="a.txt", content="one\n")
        daemon.write("outside.txt", "by hand\n")
        assert process.stdout is not None
        events: list[dict[str, Any]] = []
        while not any(event.get("path") == "outside.txt" for event in events):
            events.append(json.loads(process.stdout.readline()))
        changes = {event["path"]: event for event in events if event["event"] == "file.changed"}
        assert changes["a.txt"]["by"]["client"] == "ada"
        assert (changes["a.txt"]["action"], changes["a.txt"]["version"]) == ("create", 1)
        assert changes["outside.txt"]["by"] == "outside"
        assert [event["client"] for event in events if event["event"] == "session.opened"] == ["ada"]
        ended(process)


def test_tail_for_people_is_narrowed_and_escaped(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon, following(daemon, "*.txt", "--kind", "file.changed") as process:
        ada, _ = agent(daemon, "ada")
        ada.call("write_file", path="a.py", content="no\n")
        ada.call("write_file", path="a\x1b[2J.txt", content="yes\n")
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "create  a\\x1b[2J.txt v2  ada (" in line and line.endswith(") write_file\n")
        assert ended(process) == ""


def test_a_call_waits_for_approve_and_is_gone_after_deny(tmp_path: Path) -> None:
    with Daemon(tmp_path, {"tools.confirm_write_globs": [".envrc"]}) as daemon:
        ada, _ = agent(daemon, "ada", "set it up")
        waiting = ada.start("write_file", {"path": ".envrc", "content": "export A=1\n"})
        (request,) = soon(lambda: rows(daemon.control("approvals", "--json")))
        assert (request["client"], request["objective"]) == ("ada", "set it up")
        shown = daemon.control("approvals", request["id"][:5]).stdout
        assert "+export A=1" in shown and "(claimed)" in shown
        assert daemon.control("approve", request["id"]).returncode == 4, "nobody is at a terminal"
        assert daemon.control("approve", request["id"], "--dry-run").returncode == 0
        assert not (daemon.root / ".envrc").exists()
        assert daemon.control("approve", request["id"][2:6], "--yes").returncode == 0
        assert "result" in ada.answer(waiting)
        assert (daemon.root / ".envrc").read_text() == "export A=1\n"
        waiting = ada.start("append_file", {"path": ".envrc", "content": "export B=2\n"})
        (request,) = soon(lambda: rows(daemon.control("approvals", "--json")))
        assert daemon.control("deny", request["id"], "-y").returncode == 0
        assert ada.answer(waiting)["error"]["data"]["error"] == "confirmation_denied"
        assert daemon.control("deny", request["id"], "-y").returncode == 1
        assert (daemon.root / ".envrc").read_text() == "export A=1\n"


def test_whom_each_line_comes_from_and_who_is_there(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        daemon.write("a.txt", "one\ntwo\n")
        ada, task = agent(daemon, "ada", "translate")
        ada.call("edit_file", path="a.txt", old_text="two", new_text="zwei")
        lines = rows(daemon.control("blame", "a.txt", "--json"))
        assert [(row["line_no"], row["line"], row["client"], row["task_id"]) for row in lines] == [
            (1, "one", None, None),
            (2, "zwei", "ada", task),
        ]
        assert "zwei" in daemon.control("blame", "a.txt").stdout
        assert "ada" in [row["client"] for row in rows(daemon.control("sessions", "--json"))]
        assert "picoclawd_sessions" in daemon.control("metrics").stdout


def test_a_task_is_one_patch_that_git_applies_and_one_commit(tmp_path: Path) -> None:
    needs("git")
    who = {f"GIT_{role}_{key}": "x@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    env = {**who, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    with Daemon(tmp_path, env=env) as daemon:

        def git(*arguments: str, cwd: Path = daemon.root, given: str | None = None) -> str:
            command = ["git", *arguments]
            done = subprocess.run(
                command, cwd=cwd, input=given, capture_output=True, text=True, env=daemon.env, timeout=30
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        daemon.write("kept.txt", "one\ntwo\n")
        daemon.write("other.txt", "other\n")
        copy = tmp_path / "copy"
        shutil.copytree(daemon.root, copy)
        ada, task = agent(daemon, "ada", "count in German")
        bob, _ = agent(daemon, "bob", "something else")
        ada.call("edit_file", path="kept.txt", old_text="two", new_text="zwei")
        ada.call("write_file", path="neu/drei.txt", content="drei\n")
        bob.call("edit_file", path="other.txt", old_text="other", new_text="another")
        assert daemon.control("diff", "--task", task, "--commit", "-m", "x").returncode == 1, "no repository"
        patch = daemon.control("diff", "--task", task)
        assert patch.returncode == 0, patch.stderr
        git("apply", "-", cwd=copy, given=patch.stdout)
        assert (copy / "kept.txt").read_text() == "one\nzwei\n"
        assert (copy / "neu/drei.txt").read_text() == "drei\n"
        assert (copy / "other.txt").read_text() == "other\n"
        git("init", "--quiet")
        (daemon.root / "kept.txt").write_text("one\ntwo\n")
        git("add", "kept.txt", "other.txt")
        git("commit", "--quiet", "-m", "first")
        (daemon.root / "kept.txt").write_text("one\nzwei\n")
        done = daemon.control("diff", "--task", task, "--commit", "-m", "count")
        assert done.returncode == 0, done.stderr
        assert git("show", "--format=%s", "--name-only").split() == ["count", "kept.txt", "neu/drei.txt"]
        bob_session = bob.call("session.info")["session_id"]
        daemon.write("other.txt", "another\nline\n")
        done = daemon.control("diff", "--session", bob_session, "--commit")
        assert done.returncode == 0, done.stderr
        assert "as they are on disk now" in done.stderr
        assert git("show", "--format=%s", "--name-only").split("\n")[0] == "something else"


def test_history_lists_and_purge_forgets(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        ada, task = agent(daemon, "ada", "write")
        bob, _ = agent(daemon, "bob")
        ada.call("write_file", path="d/a.txt", content="1\n")
        bob.call("append_file", path="d/a.txt", content="2\n")
        ada.call("write_file", path="b.txt", content="1\n")
        listed = rows(daemon.control("history", "--json"))
        assert [(row["version"], row["path"], row["client"]) for row in listed] == [
            (3, "b.txt", "ada"),
            (2, "d/a.txt", "bob"),
            (1, "d/a.txt", "ada"),
        ]
        assert [row["version"] for row in rows(daemon.control("history", "--task", task, "--json"))] == [3, 1]
        bob_session = bob.call("session.info")["session_id"]
        assert [row["version"] for row in rows(daemon.control("history", "--session", bob_session, "--json"))] == [2]
        assert [row["version"] for row in rows(daemon.control("history", "d/a.txt", "--json"))] == [2, 1]
        assert rows(daemon.control("history", "--to", "2020-01-01", "--json")) == []
        assert daemon.control("history").stdout.splitlines()[1].split()[-4:] == ["create", "2", "b.txt", "write"]
        assert daemon.control("diff", "d/a.txt").returncode == 0
        assert daemon.control("history", "purge", "d").returncode == 4
        assert daemon.control("history", "purge", "d", "--dry-run").stdout.startswith("would forget 2 ")
        assert daemon.control("history", "purge", "d", "--yes").returncode == 0
        assert [row["version"] for row in rows(daemon.control("history", "--json"))] == [3]


def test_restore_brings_back_a_version_and_a_task(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        path = daemon.write("a.txt", "0\n")
        ada, task = agent(daemon, "ada", "count")
        for number in range(3):
            ada.call("edit_file", path="a.txt", old_text=f"{number}\n", new_text=f"{number + 1}\n")
        ada.call("write_file", path="new.txt", content="new\n")
        assert daemon.control("restore", "v1", "--dry-run").returncode == 0
        assert path.read_text() == "3\n"
        assert daemon.control("restore", "v1").returncode == 0
        assert path.read_text() == "1\n"
        path.write_text("outside\n")
        refused = daemon.control("restore", "--task", task)
        assert refused.returncode == 1 and "--force" in refused.stderr
        assert path.read_text() == "outside\n"
        assert daemon.control("restore", "--task", task, "a.txt", "--force").returncode == 0
        assert path.read_text() == "0\n"
        assert daemon.control("restore", "99").returncode == 1


def test_undo_goes_back_step_by_step(tmp_path: Path) -> None:
    with Daemon(tmp_path, {"daemon.approvals": {"mode": "allow"}}) as daemon:
        path, gone = daemon.write("a.txt", "0\n"), daemon.write("gone.txt", "dear\n")
        ada, _ = agent(daemon, "ada", "count")
        ada.call("edit_file", path="a.txt", old_text="0", new_text="1")
        ada.call("write_file", path="new.txt", content="new\n")
        ada.call("edit_file", path="a.txt", old_text="1", new_text="2")
        ada.call("remove_file", path="gone.txt")
        assert daemon.control("undo").returncode == 4
        assert not gone.exists()
        dry = daemon.control("undo", "--dry-run")
        assert dry.returncode == 0 and "gone.txt" in dry.stdout
        assert daemon.control("undo", "--yes").returncode == 0
        assert gone.read_text() == "dear\n"
        done = daemon.control("undo", "--yes")
        assert done.returncode == 0 and "+1" in done.stdout, "its diff is shown first"
        assert path.read_text() == "1\n"
        assert daemon.control("undo", "-y").returncode == 0
        assert not (daemon.root / "new.txt").exists()
        assert daemon.control("undo", "-y").returncode == 0
        assert path.read_text() == "0\n"
        assert daemon.control("undo", "-y").returncode == 1, "nothing is left"


@pytest.mark.parametrize("which", ["task", "session", "last"])
def test_undo_takes_back_all_of_a_task_a_session_or_some_minutes(tmp_path: Path, which: str) -> None:
    with Daemon(tmp_path) as daemon:
        path = daemon.write("a.txt", "0\n")
        ada, task = agent(daemon, "ada", "count")
        ada.call("edit_file", path="a.txt", old_text="0", new_text="1")
        ada.call("write_file", path="new.txt", content="new\n")
        session_id = ada.call("session.info")["session_id"]
        chosen = {"task": ["--task", task], "session": ["--session", session_id], "last": ["--last", "10m"]}[which]
        assert daemon.control("undo", *chosen, "--dry-run").returncode == 0
        assert path.read_text() == "1\n"
        done = daemon.control("undo", *chosen, "--yes")
        assert done.returncode == 0, done.stderr
        assert path.read_text() == "0\n"
        assert not (daemon.root / "new.txt").exists()
        undone = rows(daemon.control("history", "--json"))[:2]
        assert [(row["action"], row["client"]) for row in undone] == [("restore", "picoclawctl undo")] * 2
