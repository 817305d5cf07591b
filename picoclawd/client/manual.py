"""`picoclawctl manual`: every command with all its options, written out of the parser."""

from picoclawd.client import grammar, output
from picoclawd.client.failures import OK
from picoclawd.client.grammar import Command, Word

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse

_SUMMARY = "ask the picoclawd daemon that serves this directory"
_ENVIRONMENT = (
    ("PICOCLAWD_SOCKET", "the agents' socket, in place of the one that is found"),
    ("PICOCLAWD_OPERATOR_SOCKET", "the operator's socket, likewise"),
    ("PICOCLAWD_DEBUG", "shows where a bug happened"),
    ("NO_COLOR", "no colours"),
)


def run(args: "argparse.Namespace", parser: "argparse.ArgumentParser") -> int:
    """Print the manual."""
    found = list(grammar.commands(parser))
    notes = parser.epilog or ""
    output.show_text(roff(found, notes) if args.format == "roff" else markdown(found, notes))
    return OK


def markdown(commands: list[Command], notes: str) -> str:
    """The manual as Markdown."""
    parts = [f"# picoclawctl\n\n{_SUMMARY.capitalize()}.\n\n    picoclawctl COMMAND [options]\n"]
    parts.append("\n" + "\n".join(f"    {line}" for line in notes.splitlines()) + "\n")
    for command in commands:
        parts.append(f"\n## {command.name}\n\n{command.help}\n\n    {synopsis(command)}\n\n")
        rows = [*command.arguments, *command.options]
        parts += [f"- `{shown(word)}`{': ' + word.help if word.help else ''}\n" for word in rows]
    parts.append("\n## Environment\n\n")
    parts += [f"- `{name}`: {text}\n" for name, text in _ENVIRONMENT]
    return "".join(parts)


def roff(commands: list[Command], notes: str) -> str:
    """The manual as a page for man(1), in the macros of man(7)."""
    lines = [
        '.TH PICOCLAWCTL 1 "" picoclawd "User Commands"',
        ".SH NAME",
        f"picoclawctl \\- {_roff(_SUMMARY)}",
        ".SH SYNOPSIS",
        ".B picoclawctl",
        "COMMAND [options]",
        ".SH DESCRIPTION",
        *(_roff(line) + "\n.br" for line in notes.splitlines()),
        ".SH COMMANDS",
    ]
    for command in commands:
        lines += [f".SS {_roff(synopsis(command))}", _roff(command.help)]
        for word in (*command.arguments, *command.options):
            lines += [".TP", f"\\fB{_roff(shown(word))}\\fR", _roff(word.help) or "\\&"]
    lines.append(".SH ENVIRONMENT")
    for name, text in _ENVIRONMENT:
        lines += [".TP", f".B {name}", _roff(text)]
    return "\n".join(lines) + "\n"


def synopsis(command: Command) -> str:
    """How the command is called."""
    words = ["picoclawctl", command.name]
    for argument in command.arguments:
        name = f"{argument.metavar} ..." if argument.many else argument.metavar
        words.append(name if argument.required else f"[{name}]")
    return " ".join((*words, "[options]"))


def shown(word: Word) -> str:
    """An option with its value, or an argument."""
    if not word.flags:
        return word.metavar
    flags = ", ".join(word.flags)
    return f"{flags} {word.metavar}" if word.metavar else flags


def _roff(text: str) -> str:
    """A text without meaning for troff: no escapes, no requests at the start of a line, hyphens that can be copied."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
