"""The commands of the person beside the agents: their options, and which module runs each.

They speak to the operator's socket.
"""

from picoclawd.client import options

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_ROWS = "print a line of JSON for each row, or the error object"


def run(args: "argparse.Namespace") -> int:
    """Run the chosen command. Each module is imported when one of its commands is chosen."""
    match args.command:
        case "tail":
            from picoclawd.client import tail

            return tail.run(args)
        case "sessions":
            from picoclawd.client import sessions

            return sessions.run(args)
        case "approvals" | "approve" | "deny":
            from picoclawd.client import approvals

            return approvals.listed(args) if args.command == "approvals" else approvals.answer(args)
        case "diff":
            from picoclawd.client import patches

            return patches.run(args)
        case "history" | "blame":
            from picoclawd.client import history

            return history.run(args) if args.command == "history" else history.blame(args)
        case _:
            from picoclawd.client import undo

            return undo.restore(args) if args.command == "restore" else undo.run(args)


def _tail(command: "argparse.ArgumentParser") -> None:
    command.add_argument("arguments", metavar="GLOB", nargs="*", help="only files whose path matches: '*.py', 'src/**'")
    text = "only these events: file.changed, approval.*, session.*; may be given again"
    command.add_argument("--kind", dest="kinds", action="append", metavar="KIND", default=[], help=text)
    options.common(command, "print a line of JSON for each event")


def _sessions(command: "argparse.ArgumentParser") -> None:
    options.common(command, _ROWS)


def _approvals(command: "argparse.ArgumentParser") -> None:
    command.add_argument("id", metavar="ID", nargs="?", help="show this one whole; a unique beginning is enough")
    command.add_argument("--diff", action="store_true", help="show each one whole, with its diff")
    options.common(command, _ROWS)


def _approve(command: "argparse.ArgumentParser") -> None:
    _deny(command)
    text = "allow this method for this session until its task ends, 30 minutes at most"
    command.add_argument("--task", action="store_true", help=text)


def _deny(command: "argparse.ArgumentParser") -> None:
    command.add_argument("id", metavar="ID", help="as approvals lists it; a unique beginning is enough")
    _takes_effect(command)


def _history(command: "argparse.ArgumentParser") -> None:
    command.add_argument("arguments", metavar="PATH", nargs="*", help="only these; or: purge PATH, to forget a path")
    command.add_argument("--task", metavar="ID", help="only changes of this task")
    command.add_argument("--session", metavar="ID", help="only changes of this session")
    text = "a local date, a date and time, or ISO 8601"
    command.add_argument("--from", dest="from_time", metavar="TIME", help=f"from then on: {text}")
    command.add_argument("--to", dest="to_time", metavar="TIME", help="before then")
    command.add_argument("--before", type=options.positive, metavar="VERSION", help="only versions before this one")
    command.add_argument("--limit", type=options.positive, default=50, metavar="N", help="rows at most (default 50)")
    _takes_effect(command, "purge: ")


def _diff(command: "argparse.ArgumentParser") -> None:
    text = "only this file; alone: the file on disk against its newest version"
    command.add_argument("path", metavar="PATH", nargs="?", help=text)
    _whose(command)
    command.add_argument(
        "--commit", action="store_true", help="commit the files of the patch, as they are on disk, in git"
    )
    text = "the commit's message (default: the objective of the task)"
    command.add_argument("-m", "--message", metavar="TEXT", help=text)
    options.dry_run(command)
    options.common(command)


def _blame(command: "argparse.ArgumentParser") -> None:
    command.add_argument("path", metavar="PATH")
    options.common(command, _ROWS)


def _restore(command: "argparse.ArgumentParser") -> None:
    text = "the version that history lists: the file is then as it was right after that change (before a deletion)"
    command.add_argument("target", metavar="VERSION", nargs="?", help=f"{text}; with --task a PATH")
    command.add_argument(
        "--task", metavar="ID", help="bring all files of this task, or PATH, to before its first change"
    )
    _force(command)
    options.dry_run(command)
    options.common(command)


def _undo(command: "argparse.ArgumentParser") -> None:
    command.add_argument("path", metavar="PATH", nargs="?", help="the last agent change of this file")
    chosen = _whose(command, from_time=False)
    chosen.add_argument("--last", metavar="DURATION", help="all that was changed in this time: 30s, 10m, 2h, 1d")
    _force(command)
    _takes_effect(command)


def _whose(command: "argparse.ArgumentParser", *, from_time: bool = True) -> "argparse._MutuallyExclusiveGroup":
    chosen = command.add_mutually_exclusive_group()
    chosen.add_argument("--task", metavar="ID", help="the changes of this task")
    chosen.add_argument("--session", metavar="ID", help="the changes of this session")
    if from_time:
        chosen.add_argument("--from", dest="from_time", metavar="TIME", help="the changes from this local time on")
    return chosen


def _force(command: "argparse.ArgumentParser") -> None:
    command.add_argument("--force", action="store_true", help="also where somebody else changed a file since")


def _takes_effect(command: "argparse.ArgumentParser", when: str = "") -> None:
    command.add_argument("-y", "--yes", action="store_true", help=f"{when}do not ask")
    options.dry_run(command)
    options.common(command)


OPTIONS: "dict[str, Callable[[argparse.ArgumentParser], None]]" = {
    "tail": _tail,
    "sessions": _sessions,
    "approvals": _approvals,
    "approve": _approve,
    "deny": _deny,
    "history": _history,
    "diff": _diff,
    "blame": _blame,
    "restore": _restore,
    "undo": _undo,
}
