"""What the daemon's methods take and answer, known without a daemon: for help, signatures and stubs.

An installed package has them as `methods.json`, made when it was built. A checkout asks `picoclawd methods`, which
takes half a second, once.
"""

import functools
import inspect
import json
import os
import subprocess
import sys

from picoclawd.client import naming, schema

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FILE = "methods.json"
_ASK_TIMEOUT_S = 60.0

# The client does these itself; `events` and `close` stand for them.
OWN = frozenset({"session.open", "session.close", "events.subscribe", "events.unsubscribe"})


@functools.cache
def load() -> "dict[str, dict[str, Any]]":
    """Each method by its Python name: `name`, `description`, `params` (a JSON Schema), and a tool's `title`, `data`
    and `hints`."""
    try:
        with open(os.path.join(os.path.dirname(__file__), FILE), encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        found = _ask()
    return {naming.python_name(row["name"]): row for row in found if row["name"] not in OWN}


def names() -> list[str]:
    """The Python names of all methods."""
    return sorted(load())


@functools.cache
def shown(name: str) -> "Callable[..., Any] | None":
    """A function that has the method's name, signature and docstring, for `help`; None for a name that is none."""
    row = load().get(name)
    if row is None:
        return None

    def method(self: "Any", **params: "Any") -> "Any":
        return getattr(self, name)(**params)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = docstring(row)
    method.__signature__ = signature(row)  # type: ignore[attr-defined] # inspect reads it
    return method


def docstring(row: "dict[str, Any]") -> str:
    """The description, and a line for each parameter."""
    params = schema.properties(row["params"])
    lines = [row["description"].strip()]
    if params:
        lines += ["", "Parameters:"]
        lines += [f"    {naming.keyword_of(key)}: {_note(part)}" for key, part in params.items()]
    lines += ["", "Of every method: timeout_s (seconds), progress (called with done, total, message)"]
    lines += ["and, where it changes something, dry_run (say what would happen) and op_id (a name for the call)."]
    if "data" in row and (found := schema.properties(row["data"])):
        lines += ["", f"The answer's data: {', '.join(found)}."]
    return "\n".join(lines)


def signature(row: "dict[str, Any]") -> inspect.Signature:
    """Keywords only: those that must be there first."""
    required = row["params"].get("required", [])
    found = schema.properties(row["params"])
    keywords = sorted(found, key=lambda key: key not in required)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for key in keywords:
        default = inspect.Parameter.empty if key in required else found[key].get("default", ...)
        annotation = annotation_of(found[key], row["params"])
        parameters.append(
            inspect.Parameter(
                naming.keyword_of(key), inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_Shown(annotation)
            )
        )
    return inspect.Signature(parameters, return_annotation=_Shown("Result" if "data" in row else "Any"))


def annotation_of(part: "dict[str, Any]", root: "dict[str, Any]") -> str:
    """A parameter's type as Python writes it."""
    part = schema.follow(part, root)
    if "enum" in part:
        return f"Literal[{', '.join(map(repr, part['enum']))}]"
    if "const" in part:
        return f"Literal[{part['const']!r}]"
    branches = [*part.get("anyOf", []), *part.get("oneOf", [])]
    if branches:
        return " | ".join(dict.fromkeys(annotation_of(branch, root) for branch in branches))
    kinds = [_python_type(kind, part, root) for kind in schema.types(part, root)]
    return " | ".join(dict.fromkeys(kinds)) or "Any"


class _Shown(str):
    """An annotation that is shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _python_type(kind: str, part: "dict[str, Any]", root: "dict[str, Any]") -> str:
    if kind == "array":
        items = part.get("items")
        return f"list[{annotation_of(items, root)}]" if isinstance(items, dict) else "list[Any]"
    simple = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    return simple.get(kind, "dict[str, Any]")


def _note(part: "dict[str, Any]") -> str:
    return " ".join(str(part.get("description", "")).split()) or "see the tool's description."


def _ask() -> "list[dict[str, Any]]":
    command = [sys.executable, "-m", "picoclawd", "methods"]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
    done = subprocess.run(command, env=env, capture_output=True, check=True, timeout=_ASK_TIMEOUT_S)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
