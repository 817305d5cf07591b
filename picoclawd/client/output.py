"""Print results and failures: content to stdout, what went wrong and what to type next to stderr."""

import json
import os
import sys

from picoclawd.client.failures import Failure, RpcError

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def show_result(result: "Any", as_json: bool) -> None:
    """Print a result's `content`; the whole result as JSON where it has none, or where `as_json` asks for it."""
    if not as_json and isinstance(result, dict) and isinstance(result.get("content"), str):
        show_text(result["content"])
    else:
        show_json(result)


def show_json(value: "Any") -> None:
    """Print JSON, indented for people; `jq` does not mind."""
    show_text(json.dumps(value, ensure_ascii=False, indent=2))


def show_lines(rows: "Iterable[Any]") -> None:
    """Print each row as one line of JSON (NDJSON), and see that it gets there at once."""
    for row in rows:
        show_text(json.dumps(row, ensure_ascii=False))
    sys.stdout.flush()


def show_rows(rows: "Iterable[str]") -> None:
    """Print rows that are escaped already, and may have colours of ours."""
    sys.stdout.writelines(row + "\n" for row in rows)
    sys.stdout.flush()


def show_text(text: str) -> None:
    """Print text to stdout, ending in a newline: escaped on a terminal, verbatim into a pipe or file."""
    if sys.stdout.isatty():
        text = escape(text)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def show_failure(failure: Failure, as_json: bool, operator: bool) -> None:
    """Print a failure to stderr with its next call as a command to paste; with `as_json` its object to stdout."""
    if as_json:
        show_json(failure.as_json())
        return
    lines = [str(failure) or failure.slug]
    data = failure.data if isinstance(failure, RpcError) else {}
    if isinstance(data.get("available"), list):
        lines.append(f"available: {', '.join(map(str, data['available']))}")
    if isinstance(data.get("next"), dict):
        lines.append(f"next: {command(data['next'], operator)}")
    complain("\n".join(lines))


def complain(text: str) -> None:
    """Print a line or more to stderr, always escaped: it is a terminal, or it is kept as a log."""
    sys.stderr.write(escape(text) + "\n")


def command(call: "dict[str, Any]", operator: bool) -> str:
    """A call as a `picoclawctl` command that a shell takes as it stands, on lines without control characters."""
    import shlex  # only a failure with a next call needs it: start-up time

    params = call.get("params")
    words = ["picoclawctl", "call", str(call.get("method", ""))]
    if isinstance(params, dict) and all(_is_plain(key, value) for key, value in params.items()):
        words += [_word(key, value) for key, value in params.items()]
    elif params:
        words += ["--params", json.dumps(params)]
    if operator:
        words.append("--operator")
    return " ".join(shlex.quote(word) for word in words)


def wants_colour(choice: str = "auto") -> bool:
    """Whether to colour stdout: `auto` is for a terminal that can, unless NO_COLOR is set."""
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return choice == "always" or (choice == "auto" and sys.stdout.isatty() and not plain)


def width() -> int | None:
    """The columns of the terminal that stdout is; None for a pipe or a file."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None


def escape(text: str) -> str:
    """Escape what could drive a terminal or forge a log line."""
    from picoclawd.text import display  # it pulls in dataclasses, 10 ms that a piped call does not need

    return display.terminal(text)


def one_line(text: str) -> str:
    """Escape a text that must stay on its line, on a terminal and in a pipe: what a client says of itself, a name."""
    from picoclawd.text import display  # as above

    return display.log_line(text)


def _is_plain(key: str, value: "Any") -> bool:
    return key.isidentifier() and (not isinstance(value, str) or value.isprintable())


def _word(key: str, value: "Any") -> str:
    if isinstance(value, str):
        return f"{key}=@{value}" if value.startswith("@") else f"{key}={value}"
    return f"{key}:={json.dumps(value)}"
