"""Options that several commands share, and the numbers that options take."""

import argparse

from picoclawd.client.wire import CALL_TIMEOUT_S


def common(
    command: argparse.ArgumentParser, as_json: str = "print the whole result, or the error object, as JSON"
) -> None:
    """`--json` and `--timeout`."""
    command.add_argument("--json", action="store_true", help=as_json)
    text = f"give up on an answer (default {CALL_TIMEOUT_S:g})"
    command.add_argument("--timeout", type=seconds, default=CALL_TIMEOUT_S, metavar="SECONDS", help=text)


def dry_run(command: argparse.ArgumentParser) -> None:
    """`--dry-run`, for what takes effect."""
    command.add_argument("--dry-run", action="store_true", help="say what would happen; write nothing")


def operator(command: argparse.ArgumentParser) -> None:
    """`--operator`, for what speaks to the agents' socket otherwise."""
    command.add_argument("--operator", action="store_true", help="speak to the operator's socket")


def seconds(text: str) -> float:
    """A number of seconds above 0."""
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above 0")
    return number


def positive(text: str) -> int:
    """A whole number above 0."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def count(text: str) -> int:
    """A whole number from 0 on."""
    if (number := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number
