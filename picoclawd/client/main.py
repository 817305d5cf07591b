"""The `picoclawctl` command: its parser, its dispatch, and the one guard that no traceback passes."""

import argparse
import os
import sys

from picoclawd.client import options, output
from picoclawd.client.failures import CALL_FAILED, INTERRUPTED, NO_DAEMON, OK, USAGE, Failure

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_EPILOG = """options stand behind the command; --json, --dry-run, --operator and --timeout before it, too
exit codes: 0 done; 1 the call failed; 2 usage or configuration; 3 no daemon;
4 confirmation needed or declined; 130 interrupted.
search and find as rg: 0 matched; 1 nothing matched; 2 any error"""

_AS_RG = frozenset({"search", "find"})
_BEFORE = ("--json", "--dry-run", "--operator", "--timeout")  # these may stand before the command, too


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command and return its exit code. Only argparse's own usage errors and `--help` leave by SystemExit."""
    _prepare_streams()
    args = parse(argv)
    try:
        code = run(args)
        sys.stdout.flush()
    except Failure as failure:
        output.show_failure(failure, getattr(args, "json", False), getattr(args, "operator", False))
        code = _failed(args.command, failure.exit_code)
    except BrokenPipeError:
        _discard_stdout()
        return OK  # the reader has what it wanted
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as exc:  # noqa: BLE001 - the one guard: a person gets no traceback
        return _failed(args.command, _bug(exc))
    return code


def run(args: argparse.Namespace) -> int:
    """Run the chosen command. Each is imported when it is chosen: a `call` must start in 25 ms."""
    match args.command:
        case "call" | "status" | "metrics":
            from picoclawd.client import call

            return {"call": call.run, "status": call.status, "metrics": call.metrics}[args.command](args)
        case "search" | "find":
            from picoclawd.client import search

            return search.search(args) if args.command == "search" else search.find(args)
        case "read" | "ls" | "edit":
            from picoclawd.client import files

            return {"read": files.read, "ls": files.ls, "edit": files.edit}[args.command](args)
        case "tools":
            from picoclawd.client import catalog

            return catalog.tools(args)
        case "doctor":
            if args.why is not None:
                from picoclawd.client import why

                return why.run(args)
            from picoclawd.client import doctor

            return doctor.run(args)
        case "mcp":
            from picoclawd.client import mcp

            return mcp.run(args)
        case "web":
            from picoclawd.client.web import command

            return command.run(args)
        case "mcp-config" | "manual" | "completion":
            return _write_out(args)
        case "demo":
            from picoclawd.client import demo

            return demo.run(args)
        case "version":
            from picoclawd.client import versions

            return versions.run(args)
        case _:
            from picoclawd.client import people

            return people.run(args)


def _write_out(args: argparse.Namespace) -> int:
    """The commands that write what other programs read: hosts, man, shells."""
    if args.command == "mcp-config":
        from picoclawd.client import mcp_config

        return mcp_config.run(args)
    if args.command == "manual":
        from picoclawd.client import manual

        return manual.run(args, parser())
    from picoclawd.client import completion

    return completion.run(args, parser())


def parse(argv: "Sequence[str] | None") -> argparse.Namespace:
    """Parse a command line; options may stand between words (`arguments`), and those that most commands share before
    the command, which argparse alone does not allow."""
    words = _command_first(sys.argv[1:] if argv is None else list(argv))
    top = parser(words[0] if words else "")
    if words and words[0].startswith("-") and words[0] not in ("-h", "--help"):
        top.error(_misplaced(words[0].partition("=")[0]))
    args, rest = top.parse_known_args(words)
    unknown = [word for word in rest if word.startswith("-")]
    if unknown:
        top.error(_unknown(args.command, unknown))
    if rest and not hasattr(args, "arguments"):
        words_left = " ".join(map(repr, rest))
        top.error(f"{args.command} has no place for {words_left}: see `picoclawctl {args.command} -h`")
    if rest:
        args.arguments += rest
    return args


def _command_first(words: "list[str]") -> "list[str]":
    """The words with shared options behind the command that they stand before."""
    count = 0
    while count < len(words) and words[count].partition("=")[0] in _BEFORE:
        count += 2 if words[count] == "--timeout" else 1
    return [*words[count : count + 1], *words[:count], *words[count + 1 :]]


def _misplaced(option: str) -> str:
    if option in _BEFORE:
        return f"a COMMAND is missing behind {option}"
    return f"{option} stands before the command: write picoclawctl COMMAND {option}"


def _unknown(command: str, options: "list[str]") -> str:
    return (
        f"{command} takes no {' '.join(options)}; its options stand behind it, and "
        f"picoclawctl {command} --help lists them"
    )


def parser(only: str = "") -> argparse.ArgumentParser:
    """The whole command line; where `only` names a command, just that one: the others would cost a `call` 10 ms."""
    top = argparse.ArgumentParser(
        prog="picoclawctl",
        description="Ask the picoclawd daemon that serves this directory.",
        epilog=_EPILOG,
        formatter_class=_formatter,
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (text, add_options) in _COMMANDS.items():
        if name == only or only not in _COMMANDS:
            add_options(commands.add_parser(name, help=text, description=text, formatter_class=_formatter))
    return top


def _call(command: argparse.ArgumentParser) -> None:
    command.add_argument("method", metavar="METHOD")
    command.add_argument("arguments", metavar="key=value", nargs="*", help="also key:=JSON, key=@FILE, key=@- (stdin)")
    command.add_argument("--params", metavar="JSON", help="all params at once, as JSON text or @FILE")
    options.operator(command)
    options.dry_run(command)
    options.common(command)


def _read(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH")
    for name in ("--offset", "--length", "--start-line", "--max-lines"):
        command.add_argument(name, type=int, metavar="N")
    command.add_argument("--mode", choices=("bytes", "lines"))
    options.common(command)


def _ls(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH", nargs="?", default="")
    for name in ("--limit", "--offset"):
        command.add_argument(name, type=int, metavar="N")
    options.common(command)


def _edit(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH")
    command.add_argument("--old", metavar="TEXT", help="what to replace, which must occur once; @FILE, @- for stdin")
    command.add_argument("--new", metavar="TEXT", help="what replaces it; @FILE, @- for stdin")
    command.add_argument("--patch", metavar="PATCH", help="a V4A patch; @FILE, @- for stdin")
    options.dry_run(command)
    options.common(command)


def _search(command: argparse.ArgumentParser) -> None:
    command.add_argument("pattern", metavar="PATTERN", help="RE2 regular expression; after -- where it begins with -")
    command.add_argument("arguments", metavar="PATH", nargs="*", help="a file or directory (default: this directory)")
    command.add_argument("-g", "--glob", metavar="GLOB", help="only files whose name matches")
    command.add_argument("-C", "--context", type=options.count, metavar="N", help="lines around each match, 20 at most")
    shape = command.add_mutually_exclusive_group()
    shape.add_argument("-c", "--count", action="store_true", help="only the number of matching lines of each file")
    shape.add_argument("-l", "--files-with-matches", action="store_true", help="only the names of matching files")
    _paged(command)


def _find(command: argparse.ArgumentParser) -> None:
    text = "a PATTERN (part of a path, or a glob; none: every file), then a PATH; with --list only a PATH"
    command.add_argument("arguments", metavar="PATTERN PATH", nargs="*", help=text)
    modes = command.add_mutually_exclusive_group()
    for mode, does in (
        ("list", "list a directory, with what is ignored"),
        ("glob", "files by name, newest first"),
        ("search", "files whose contents match the RE2 regular expression PATTERN, with counts"),
    ):
        modes.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, help=does)
    command.add_argument("-g", "--files", dest="glob", metavar="GLOB", help="--search: only these files")
    command.add_argument("-U", "--multiline", action="store_true", help="--search: match across lines")
    command.add_argument("-r", "--recursive", action="store_true", help="--list: also what is below")
    _paged(command)


def _paged(command: argparse.ArgumentParser) -> None:
    amount = command.add_mutually_exclusive_group()
    amount.add_argument("--limit", type=options.positive, metavar="N", help="results at most (default 50)")
    amount.add_argument("--all", action="store_true", help="every result, page by page")
    command.add_argument("--offset", type=options.count, default=0, metavar="N", help="results to skip")
    command.add_argument("--newest", action="store_true", help="the file that was modified last comes first")
    text = "trust the watcher: faster on large trees, and may lag behind other programs"
    command.add_argument("--watched", action="store_true", help=text)
    command.add_argument("-0", "--null", action="store_true", help="end each name with a NUL byte, for xargs -0")
    command.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    options.operator(command)
    options.common(command)


def _status(command: argparse.ArgumentParser) -> None:
    command.add_argument("--watch", action="store_true", help="show how far the index is, until it is ready")
    options.common(command)


def _tools(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="TOOL", nargs="?")
    options.common(command)


def _doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument("--why", metavar="PATH", help="explain why searches do, or do not, see this path")
    command.add_argument("--json", action="store_true", help="print the checks, or the explanation, as JSON")


def _mcp(command: argparse.ArgumentParser) -> None:
    command.add_argument("--subagent", action="store_true", help="open the session as a subagent's")
    text = "use the daemon of DIR (default: $CLAUDE_PROJECT_DIR, else the current directory)"
    command.add_argument("--workspace", metavar="DIR", help=text)
    text = "let the host ask you for confirmations; it then speaks with your voice. Default PATH: the daemon's"
    command.add_argument("--operator-socket", metavar="PATH", nargs="?", const="auto", help=text)
    command.add_argument(
        "--tools", choices=("picoclaw", "agenvoy", "all"), default="all", help="offer only these tools"
    )
    text = "send structured content beside the text (auto: not to hosts that then hide the text)"
    command.add_argument("--structured", choices=("auto", "always", "never"), default="auto", help=text)


def _web(command: argparse.ArgumentParser) -> None:
    command.add_argument("--port", type=int, default=0, metavar="N", help="listen here (default: any free port)")
    command.add_argument("--workspace", metavar="DIR", help="use the daemon of DIR, not of the current directory")
    command.set_defaults(operator=True)


def _mcp_config(command: argparse.ArgumentParser) -> None:
    command.add_argument("host", choices=("claude", "cursor", "vscode", "zed"), help="the program that is to use it")
    text = "the tools that the host is offered (default picoclaw)"
    command.add_argument("--tools", choices=("picoclaw", "agenvoy", "all"), default="picoclaw", help=text)
    text = "the workspace (default: the project that is open in the host)"
    command.add_argument("--workspace", metavar="DIR", help=text)
    command.add_argument("--json", action="store_true", help="claude: the entry for .mcp.json in place of the command")


def _manual(command: argparse.ArgumentParser) -> None:
    text = "roff is for man: picoclawctl manual --format roff | man -l -"
    command.add_argument("--format", choices=("markdown", "roff"), default="markdown", help=text)


def _completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _demo(command: argparse.ArgumentParser) -> None:
    command.add_argument("--keep", action="store_true", help="leave the temporary workspace behind")
    command.add_argument("--fast", action="store_true", help="without pauses")


def _metrics(command: argparse.ArgumentParser) -> None:
    options.operator(command)
    options.common(command)


def _for_people(name: str) -> "Callable[[argparse.ArgumentParser], None]":
    """The options of a command of `people`, which only those commands import: start-up time."""

    def add_options(command: argparse.ArgumentParser) -> None:
        from picoclawd.client import people

        people.OPTIONS[name](command)
        command.set_defaults(operator=True)

    return add_options


_COMMANDS: "dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]" = {
    "call": ("call any method: call METHOD [key=value ...]", _call),
    "tools": ("list the tools, or show one with its parameters", _tools),
    "status": ("what the daemon is doing; --watch until its index is ready", _status),
    "read": ("read a file", _read),
    "ls": ("list a directory", _ls),
    "edit": ("edit a file: --old TEXT --new TEXT, or --patch @FILE", _edit),
    "search": ("search contents with a regular expression, as rg does", _search),
    "find": ("find files by name, list a directory, or count matches", _find),
    "metrics": ("counters and gauges as Prometheus text", _metrics),
    "tail": ("follow changes, approvals and sessions until Ctrl-C", _for_people("tail")),
    "sessions": ("who is connected", _for_people("sessions")),
    "approvals": ("what waits for an answer of yours", _for_people("approvals")),
    "approve": ("allow a call that waits for you", _for_people("approve")),
    "deny": ("deny a call that waits for you", _for_people("deny")),
    "history": ("who changed what, newest first; history purge PATH forgets a path", _for_people("history")),
    "diff": ("changes as one patch for git apply, or as a commit", _for_people("diff")),
    "blame": ("which recorded change each line of a file comes from", _for_people("blame")),
    "restore": ("bring back a version, or undo a task", _for_people("restore")),
    "undo": ("undo the last agent change, a task, a session, or the last minutes", _for_people("undo")),
    "doctor": ("check the installation, or explain why a path is not searched: --why PATH", _doctor),
    "mcp": ("serve the tools to an MCP host over stdin and stdout", _mcp),
    "web": ("serve the operator's page on 127.0.0.1, for a browser on this machine", _web),
    "mcp-config": ("what to paste where so that an MCP host finds these tools", _mcp_config),
    "demo": ("watch two agents work in a temporary workspace, about 10 seconds", _demo),
    "manual": ("print the manual of all commands", _manual),
    "completion": ("print a script that completes commands and options in a shell", _completion),
    "version": ("print the client's version, and the daemon's where one runs", options.common),
}


def _formatter(prog: str) -> argparse.HelpFormatter:
    # Given a width, argparse does not import shutil to ask for it: 5 ms of each start.
    try:
        width = os.get_terminal_size().columns - 2
    except OSError:
        width = 78
    return argparse.RawDescriptionHelpFormatter(prog, width=width)


def _prepare_streams() -> None:
    # Answers are UTF-8 whatever the locale says; a lone surrogate must not end in a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _failed(command: str, code: int) -> int:
    """The exit code of a failure; 1 would say of a search that nothing matched."""
    return USAGE if command in _AS_RG and code != NO_DAEMON else code


def _discard_stdout() -> None:
    # Python flushes stdout once more at exit: into the broken pipe, with a complaint, unless it leads elsewhere.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _bug(exc: Exception) -> int:
    if os.environ.get("PICOCLAWD_DEBUG"):
        raise exc
    output.complain(
        f"picoclawctl failed: {type(exc).__name__}: {exc}\n"
        "This is a bug. PICOCLAWD_DEBUG=1 in front of the command shows where it happened."
    )
    return CALL_FAILED
