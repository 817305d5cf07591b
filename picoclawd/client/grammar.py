"""What the command line takes, read off its parser: for the manual and for completion, which so never fall behind."""

import argparse

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Iterator

_FILES = frozenset({"PATH", "DIR", "FILE", "PATCH", "GLOB"})  # what such a word may be completed with


class Word:
    """An option (`flags`) or an argument (no flags) of a command.

    `metavar` is "" for a switch; `choices` are the only values there are; `many` says that it may be repeated.
    """

    __slots__ = ("choices", "flags", "help", "is_file", "many", "metavar", "required")

    def __init__(self, action: argparse.Action) -> None:
        self.flags = list(action.option_strings)
        self.help = "" if action.help in (None, argparse.SUPPRESS) else " ".join(str(action.help).split())
        self.choices = [str(choice) for choice in action.choices or ()]
        name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
        self.metavar = "" if action.nargs == 0 else "|".join(self.choices) or name
        self.many = action.nargs in ("*", "+")
        self.required = not self.flags and action.nargs not in ("?", "*")
        self.is_file = name in _FILES


class Command:
    """One command: its name, what it does, its options and its arguments."""

    __slots__ = ("arguments", "help", "name", "options")

    def __init__(self, name: str, parser: argparse.ArgumentParser) -> None:
        self.name = name
        self.help = parser.description or ""
        words = [Word(action) for action in parser._actions]  # argparse has no public way to list them
        self.options = [word for word in words if word.flags]
        self.arguments = [word for word in words if not word.flags]


def commands(top: argparse.ArgumentParser) -> "Iterator[Command]":
    """Every command of the whole parser, in its order."""
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, parser in action.choices.items():
                yield Command(name, parser)
