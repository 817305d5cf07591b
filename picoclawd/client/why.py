"""`picoclawctl doctor --why PATH`: why searches do, or do not, see a path."""

from picoclawd.client import arguments, discover, files, output
from picoclawd.client.failures import OK

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from typing import Any

_ANSWER_TIMEOUT_S = 30.0  # it waits for an index that is being built
_WORDS = {"own": "git's or picoclawd's own"}  # where the daemon's one word says too little


def run(args: "argparse.Namespace") -> int:
    """Ask the daemon and print its answer; exit 0 whatever that is."""
    connection, endpoint = discover.connect("agent")
    path = files.workspace_path(args.why, endpoint.workspace, discover.start_directory(None)) or "."
    with connection:
        answer = connection.call("workspace.why", arguments.path_params(path), _ANSWER_TIMEOUT_S)
    if args.json:
        output.show_json(answer)
    else:
        output.show_text(explained(args.why, answer))
    return OK


def explained(path: str, answer: "dict[str, Any]") -> str:
    """The answer as a person reads it."""
    reason = _WORDS.get(answer["reason"], str(answer["reason"]).replace("_", " "))
    lines = [f"{path}: {'searched' if answer['searched'] else 'not searched'}: {reason}"]
    if answer["at"] not in ("", path, path.rstrip("/")):
        lines.append(f"decided at: {answer['at']}")
    if rule := answer["rule"]:
        lines.append(f"rule: {rule['file']}, line {rule['line']}: {rule['pattern']}")
    lines.append(f"next: {answer['next']}")
    return "\n".join(lines)
