"""The commands `restore` and `undo`: bring files back to what history keeps of them."""

from picoclawd.client import desk, history, output, times
from picoclawd.client.desk import Desk
from picoclawd.client.failures import CALL_FAILED, OK, Failure, RpcError, UsageFault

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import Any

    Call = tuple[str, dict[str, Any]]

_PAGE = 100  # versions looked at in one go for the newest agent change: it is nearly always among the first
_LOOKED_MAX = 10_000  # and after so many there is none that a person still has in mind
_CONFLICT = "conflict"
_FORCE = "Add --force to undo also what somebody else changed since; that is recorded, too."


class NothingToUndo(Failure):
    """No recorded change is left that could be undone."""

    slug = "nothing_to_undo"


def restore(args: "argparse.Namespace") -> int:
    """`picoclawctl restore VERSION` and `picoclawctl restore --task ID [PATH]`."""
    params = {"version": _version(args.target)} if args.task is None else {"task_id": args.task}
    with Desk(args) as at:
        at.introduce()
        if args.task is not None and args.target is not None:
            params.update(at.path_params(args.target))
        result = _call(args, at, ("restore_file", params), dry_run=args.dry_run)
    return finish(result, args.json)


def run(args: "argparse.Namespace") -> int:
    """`picoclawctl undo`: show what it does, ask, and do it."""
    if args.path is not None and (args.task or args.session or args.last):
        raise UsageFault("undo takes a PATH, or one of --task, --session and --last; restore --task ID PATH takes both")
    with Desk(args) as at:
        at.introduce()
        heading, chosen = _chosen(args, at)
        trial = _call(args, at, chosen, dry_run=True)
        if args.dry_run:
            if not args.json:
                output.show_rows([heading])
            return finish(trial, args.json)
        if not (files := trial["data"]["files"]):
            raise NothingToUndo("nothing of that is recorded, so there is nothing to undo")
        if all(row.get("error") or row["action"] == "unchanged" for row in files):
            return finish(trial, args.json)  # there is nothing to say yes to
        at.confirm(f"{heading}\n{desk.patch(trial['content'])}", "undo this")
        return finish(_call(args, at, chosen), args.json)


def finish(result: "dict[str, Any]", as_json: bool) -> int:
    """Print what became of the files; exit code 1 where one of them could not be brought back."""
    output.show_result(result, as_json)
    failed = [row for row in result["data"]["files"] if row.get("error")]
    if failed and not as_json:
        output.complain(f"{len(failed)} of {len(result['data']['files'])} files were left as they are")
        if any(_slug(row["error"]) == _CONFLICT for row in failed):
            output.complain(_FORCE)
    return CALL_FAILED if failed else OK


def newest_change(versions: "Iterable[dict[str, Any]]", spared: "set[str]") -> "dict[str, Any] | None":
    """The newest change by an agent that was not undone yet; `versions` are newest first.

    `spared` are sessions whose changes are not an agent's: the person's own. A restore that brought a file back to
    the state before some change undid that one and all between: they are passed over, so that one undo after the
    other goes back in time.
    """
    undone_to: dict[str, str] = {}
    for version in versions:
        path = str(version["path"])
        if path in undone_to:
            if _before(version) == undone_to[path]:
                del undone_to[path]
        elif version["action"] == "restore":
            if (state := _after(version)) is not None:
                undone_to[path] = state
        elif version["action"] != "external" and version.get("session_id") not in spared:
            return version
    return None


def _chosen(args: "argparse.Namespace", at: Desk) -> "tuple[str, Call]":
    """What is to be undone, as one escaped line, and the call that does it."""
    if args.task is not None:
        return f"all that task {output.one_line(args.task)} changed", ("history.undo", {"task_id": args.task})
    if args.session is not None:
        return f"all that session {output.one_line(args.session)} changed", (
            "history.undo",
            {"session_id": args.session},
        )
    if args.last is not None:
        return f"all that was changed in the last {args.last}", ("history.undo", {"from": times.before_now(args.last)})
    version = _newest(args, at)
    return _heading(version, at), _undoing(version, at)


def _newest(args: "argparse.Namespace", at: Desk) -> "dict[str, Any]":
    sessions = at.call("workspace.status")["data"]["sessions"]
    spared = {str(row["session_id"]) for row in sessions if row["role"] == "operator"}
    wanted = {"mode": "list", **({} if args.path is None else {"path": [at.path(args.path)]})}
    found = history.versions(at, wanted, page=_PAGE)
    version = newest_change((each for each, _ in zip(found, range(_LOOKED_MAX), strict=False)), spared)
    if version is None:
        raise NothingToUndo(
            f"no change of an agent is recorded{'' if args.path is None else f' of {args.path}'} that is not undone"
        )
    return version


def _undoing(version: "dict[str, Any]", at: Desk) -> "Call":
    """The call that brings a version's file to the state right before it.

    A version names the state right after a change, or of a deletion the one before it; so where neither this change
    nor the one before it is a version of the wanted state, history is asked to undo all of the file from this change
    on, which is this change.
    """
    if version["action"] == "delete":
        return "restore_file", {"version": version["version"]}
    name = {"path_bytes": version["path_bytes"]} if "path_bytes" in version else {"path": version["path"]}
    before = {"mode": "list", **name, "before": version["version"], "limit": 1}
    previous = at.call("file_history", before)["data"]["versions"]
    if previous and previous[0]["action"] != "delete":
        return "restore_file", {"version": previous[0]["version"]}
    return "history.undo", {"from": times.iso(version["changed_at"]), **name}


def _heading(version: "dict[str, Any]", at: Desk) -> str:
    objective = f", objective {version['objective']}" if version.get("objective") else ""
    what = f"v{version['version']} {version.get('tool') or version['action']} {at.shown(str(version['path']))}"
    return output.one_line(f"{what} by {history.who_text(version)}, {times.shown(version['changed_at'])}{objective}")


def _version(target: str | None) -> int:
    """The number of a version, written as history lists it or without the v."""
    digits = (target or "").removeprefix("v")
    if not (digits.isascii() and digits.isdigit()):
        raise UsageFault("restore takes a VERSION that history lists, or --task ID with an optional PATH")
    return int(digits)


def _call(args: "argparse.Namespace", at: Desk, call: "Call", *, dry_run: bool = False) -> "Any":
    """Make the call, with `--force` where that is given; a refusal that it would lift says so."""
    method, params = call
    try:
        return at.call(method, {**params, "force": True} if args.force else params, dry_run=dry_run)
    except RpcError as error:
        if error.slug == _CONFLICT and not args.force:
            error.args = (f"{error}\n{_FORCE}",)
        raise


def _slug(error: "Any") -> str:
    return str(error.get("error", "")) if isinstance(error, dict) else str(error)


def _after(version: "dict[str, Any]") -> str | None:
    """The state after a change: its hash, "" for no file, None for one that nobody hashed."""
    return version.get("sha256_after") or ("" if version.get("size") is None else None)


def _before(version: "dict[str, Any]") -> str | None:
    """The state before a change, likewise. Only what creates or brings back finds no file."""
    return version.get("sha256_before") or ("" if version["action"] in ("create", "restore") else None)
