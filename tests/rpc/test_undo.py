"""history.undo, over the operator's socket."""

from pathlib import Path

from tests.e2e.daemon import Daemon


def test_a_session_a_task_and_the_last_minutes_are_taken_back(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        one, two, operator = daemon.client(), daemon.client(), daemon.operator()
        session = one.call("session.open", client="one")["session_id"]
        daemon.write("a.txt", "a\n")
        one.call("edit_file", path="a.txt", old_text="a", new_text="A")
        one.call("task.begin", objective="more", task_id="t")
        one.call("write_file", path="b.txt", content="b\n")
        two.call("write_file", path="c.txt", content="c\n")
        tried = operator.call("history.undo", session_id=session, _meta={"dry_run": True})
        assert "-A" in tried["content"] and (daemon.root / "b.txt").exists()
        operator.call("history.undo", task_id="t")
        assert not (daemon.root / "b.txt").exists()
        assert (daemon.root / "a.txt").read_text() == "A\n"
        done = operator.call("history.undo", session_id=session)
        assert {row["path"]: row["action"] for row in done["data"]["files"]}["a.txt"] == "modified"
        assert (daemon.root / "a.txt").read_text() == "a\n"
        operator.call("history.undo", **{"from": "2000-01-01"})
        assert not (daemon.root / "c.txt").exists()
        assert one.error("history.undo", task_id="t").slug == "operator_only"
        assert operator.error("history.undo").slug == "invalid_params"
        assert operator.error("history.undo", task_id="never").slug == "unknown_task"
        assert operator.error("history.undo", session_id="s-never").slug == "unknown_session"


def test_what_somebody_else_changed_since_needs_force(tmp_path: Path) -> None:
    with Daemon(tmp_path) as daemon:
        one, two, operator = daemon.client(), daemon.client(), daemon.operator()
        session = one.call("session.info")["session_id"]
        path = daemon.write("a.txt", "a\n")
        one.call("edit_file", path="a.txt", old_text="a", new_text="A")
        two.call("append_file", path="a.txt", content="two\n")
        (row,) = operator.call("history.undo", session_id=session)["data"]["files"]
        assert (row["action"], row["error"]["error"]) == ("failed", "conflict")
        assert path.read_text() == "A\ntwo\n"
        (row,) = operator.call("history.undo", session_id=session, force=True)["data"]["files"]
        assert (row["action"], path.read_text()) == ("modified", "a\n")
