"""The `picoclawctl` command: its parser, its dispatch, and the one guard that no traceback passes."""

import argparse
import os
import sys

from picoclawd.client import output
from picoclawd.client.failures import CALL_FAILED, INTERRUPTED, OK, Failure
from picoclawd.client.wire import CALL_TIMEOUT_S

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_EPILOG = """exit codes: 0 done; 1 the call failed; 2 usage or configuration; 3 no daemon;
4 confirmation needed or declined; 130 interrupted"""


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command and return its exit code. Only argparse's own usage errors and `--help` leave by SystemExit."""
    _prepare_streams()
    args = parse(argv)
    try:
        code = run(args)
        sys.stdout.flush()
    except Failure as failure:
        output.show_failure(failure, getattr(args, "json", False), getattr(args, "operator", False))
        code = failure.exit_code
    except BrokenPipeError:
        _discard_stdout()
        return OK  # the reader has what it wanted
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as exc:  # noqa: BLE001 - the one guard: a person gets no traceback
        return _bug(exc)
    return code


def run(args: argparse.Namespace) -> int:
    """Run the chosen command. Each is imported when it is chosen: a `call` must start in 25 ms."""
    match args.command:
        case "call" | "status":
            from picoclawd.client import call

            return call.run(args) if args.command == "call" else call.status(args)
        case "read" | "ls" | "edit":
            from picoclawd.client import files

            return {"read": files.read, "ls": files.ls, "edit": files.edit}[args.command](args)
        case "tools":
            from picoclawd.client import catalog

            return catalog.tools(args)
        case "doctor":
            from picoclawd.client import doctor

            return doctor.run(args)
        case "mcp":
            from picoclawd.client import mcp

            return mcp.run(args)
        case "demo":
            from picoclawd.client import demo

            return demo.run(args)
        case _:
            from picoclawd.client import versions

            return versions.run(args)


def parse(argv: "Sequence[str] | None") -> argparse.Namespace:
    """Parse a command line; options may stand between the words of a `call`, which argparse alone does not allow."""
    words = sys.argv[1:] if argv is None else list(argv)
    top = parser(words[0] if words else "")
    args, rest = top.parse_known_args(words)
    if rest and (args.command != "call" or any(word.startswith("-") for word in rest)):
        top.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        args.arguments += rest
    return args


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
    command.add_argument("--operator", action="store_true", help="speak to the operator's socket")
    _dry_run(command)
    _common(command)


def _read(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH")
    for name in ("--offset", "--length", "--start-line", "--max-lines"):
        command.add_argument(name, type=int, metavar="N")
    command.add_argument("--mode", choices=("bytes", "lines"))
    _common(command)


def _ls(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH", nargs="?", default="")
    for name in ("--limit", "--offset"):
        command.add_argument(name, type=int, metavar="N")
    _common(command)


def _edit(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH")
    command.add_argument("--old", metavar="TEXT", help="what to replace, which must occur once; @FILE, @- for stdin")
    command.add_argument("--new", metavar="TEXT", help="what replaces it; @FILE, @- for stdin")
    command.add_argument("--patch", metavar="PATCH", help="a V4A patch; @FILE, @- for stdin")
    _dry_run(command)
    _common(command)


def _tools(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", nargs="?")
    _common(command)


def _doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the checks as JSON")


def _mcp(command: argparse.ArgumentParser) -> None:
    command.add_argument("--subagent", action="store_true", help="open the session as a subagent's")
    command.add_argument("--workspace", metavar="DIR", help="use the daemon of DIR, not of the current directory")
    text = "send structured content beside the text (auto: not to hosts that then hide the text)"
    command.add_argument("--structured", choices=("auto", "always", "never"), default="auto", help=text)


def _demo(command: argparse.ArgumentParser) -> None:
    command.add_argument("--keep", action="store_true", help="leave the temporary workspace behind")
    command.add_argument("--fast", action="store_true", help="without pauses")


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the whole result, or the error object, as JSON")
    text = f"give up on an answer (default {CALL_TIMEOUT_S:g})"
    command.add_argument("--timeout", type=_seconds, default=CALL_TIMEOUT_S, metavar="SECONDS", help=text)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return seconds


def _dry_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dry-run", action="store_true", help="say what would happen; write nothing")


_COMMANDS: "dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]" = {
    "call": ("call any method: call METHOD [key=value ...]", _call),
    "tools": ("list the tools, or show one with its parameters", _tools),
    "status": ("what the daemon is doing", _common),
    "read": ("read a file", _read),
    "ls": ("list a directory", _ls),
    "edit": ("edit a file: --old TEXT --new TEXT, or --patch @FILE", _edit),
    "doctor": ("check the installation; each fault with the command that mends it", _doctor),
    "mcp": ("serve the tools to an MCP host over stdin and stdout", _mcp),
    "demo": ("watch two agents work in a temporary workspace, about 10 seconds", _demo),
    "version": ("print the client's version, and the daemon's where one runs", _common),
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
