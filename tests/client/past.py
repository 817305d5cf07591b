"""A fake daemon's history: versions that file_history lists as the real one does, and the calls that restore."""

from typing import Any

from tests.client.fake import FakeDaemon


def version(number: int, **members: Any) -> dict[str, Any]:
    """One row of file_history: an edit of `a.txt` by ada that leaves the content `h<number>`."""
    return {
        "version": number,
        "path": "a.txt",
        "action": "modify",
        "size": 10,
        "sha256_before": f"h{number - 1}",
        "sha256_after": f"h{number}",
        "tool": "edit_file",
        "session_id": "s-1",
        "client": "ada",
        "task_id": "t-1",
        "objective": "tidy up",
        "changed_at": "2026-05-01T12:00:00.000+00:00",
        "restorable": True,
        "reason": None,
        **members,
    }


def created(number: int, **members: Any) -> dict[str, Any]:
    return version(number, action="create", sha256_before=None, **members)


def deleted(number: int, **members: Any) -> dict[str, Any]:
    return version(number, action="delete", size=None, sha256_after=None, **members)


def restored(number: int, to: str | None, **members: Any) -> dict[str, Any]:
    """A restore that left the content `to`; None: no file."""
    by = {"session_id": "s-op", "client": "picoclawctl undo", "task_id": None, "objective": None}
    state = {"action": "restore", "sha256_after": to, "size": None if to is None else 10, "tool": "restore_file"}
    return version(number, **{**by, **state, **members})


class Past:
    """Serves `rows`, oldest first, and answers every restore with `answer`."""

    def __init__(self, daemon: FakeDaemon, *rows: dict[str, Any]) -> None:
        self.rows = list(rows)
        self.answer = restore_answer()
        daemon.handlers["file_history"] = self._file_history
        daemon.handlers["restore_file"] = lambda _: self.answer
        daemon.handlers["history.undo"] = lambda _: self.answer

    def _file_history(self, params: dict[str, Any]) -> Any:
        assert params.get("mode", "list") == "list"
        wanted = params.get("path")
        paths = [wanted] if isinstance(wanted, str) else wanted
        found = [
            row
            for row in reversed(self.rows)
            if (paths is None or row["path"] in paths)
            and row["version"] < params.get("before", 1 << 60)
            and params.get("task_id") in (None, row["task_id"])
        ]
        rows, more = found[: params["limit"]], len(found) > params["limit"]
        return {"content": "", "data": {"versions": rows, "next_before": rows[-1]["version"] if more else None}}


def restore_answer(*files: dict[str, Any]) -> dict[str, Any]:
    rows = list(files) or [{"path": "a.txt", "action": "modified", "version": 99}]
    return {"content": "modified a.txt (version 99)\n-new\n+old", "data": {"files": rows}}
