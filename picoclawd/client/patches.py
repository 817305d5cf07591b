"""`picoclawctl diff`: recorded changes as one patch or one commit, or how a file differs from its newest version."""

from picoclawd.client import git, history, output
from picoclawd.client.desk import Desk
from picoclawd.client.failures import CALL_FAILED, OK, Failure, UsageFault

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from typing import Any

    Params = dict[str, Any]


def run(args: "argparse.Namespace") -> int:
    """Print the patch, or commit what it changed."""
    given = {"task_id": args.task, "session_id": args.session, "from": args.from_time}
    chosen = {key: value for key, value in given.items() if value is not None}
    if (args.message is not None or args.dry_run) and not args.commit:
        raise UsageFault("diff: -m and --dry-run belong to --commit")
    if not chosen and (args.path is None or args.commit):
        raise UsageFault("diff takes --task, --session or --from, or a PATH alone; --commit needs one of the three")
    with Desk(args) as desk:
        if not chosen:
            return _drift(args, desk)
        where = {} if args.path is None else {"path": desk.path(args.path)}
        result = desk.call("history.diff", {**chosen, **where})
        if args.commit:
            return _commit(args, desk, result, {**chosen, **where})
    return _show(args, result)


def _drift(args: "argparse.Namespace", desk: Desk) -> int:
    """One file: its newest recorded version against the disk."""
    result = desk.call("file_history", {"mode": "read", **desk.path_params(args.path)})
    if args.json:
        output.show_json(result)
    else:
        output.show_text(result["content"])
    return OK


def _show(args: "argparse.Namespace", result: "dict[str, Any]") -> int:
    if args.json:
        output.show_json(result)
    elif result["content"]:
        output.show_text(result["content"])
    elif not result["data"]["files"]:
        output.complain("no such change is recorded")
    missing = _complain_missing(result, args.json)
    return CALL_FAILED if missing else OK


def _complain_missing(result: "dict[str, Any]", as_json: bool) -> bool:
    """Say which files are not in the patch: what is left out in silence would be lost by whoever applies it."""
    missing = [row for row in result["data"]["files"] if row.get("missing")]
    if missing and not as_json:
        output.complain(
            "\n".join(f"not in the patch: {output.one_line(row['path'])}: {row['missing']}" for row in missing)
        )
    return bool(missing)


def _commit(args: "argparse.Namespace", desk: Desk, result: "dict[str, Any]", chosen: "Params") -> int:
    """Commit the files of the patch as they are on disk, and nothing else that is staged."""
    message = args.message or _objective(desk, chosen)
    work = git.WorkTree(desk.workspace())
    found = work.paths_of(result["content"])
    if not found.taken:
        raise Failure("nothing to commit: the patch changes no file that git looks at")
    if not work.is_undone_by(result["content"]):
        output.complain("warning: files changed again since; the commit has them as they are on disk now")
    if found.ignored:
        output.complain(f"left out, git ignores them: {', '.join(map(output.one_line, found.ignored))}")
    missing = _complain_missing(result, args.json)
    if args.dry_run:
        told = {"dry_run": True, "message": message, "paths": found.taken}
        text = [f"would commit: {output.one_line(message)}", *(f"  {output.one_line(path)}" for path in found.taken)]
    else:
        commit = work.commit(found.taken, message)
        told = {"commit": commit, "message": message, "paths": found.taken}
        text = [f"committed {commit}: {output.one_line(message)} ({len(found.taken)} files)"]
    if args.json:
        output.show_json(told)
    else:
        output.show_rows(text)
    return CALL_FAILED if missing else OK


def _objective(desk: Desk, chosen: "Params") -> str:
    """The one objective that all these changes were made for.

    Raises:
        UsageFault: there is none, or there are several.
    """
    asked: Params = {key: value for key, value in chosen.items() if key != "session_id"}
    session = chosen.get("session_id")
    of_them = (
        row for row in history.versions(desk, {"mode": "list", **asked}) if session in (None, row.get("session_id"))
    )
    found = {str(row.get("objective") or "") for row in of_them if row["action"] != "external"} - {""}
    if len(found) == 1:
        return found.pop()
    why = "no task was begun for them" if not found else f"they were made for {len(found)} objectives"
    raise UsageFault(f"these changes have no one objective: {why}.\nGive the commit's message with -m TEXT.")
