"""The `tools` command: what the daemon offers, and what one tool takes."""

from picoclawd.client import discover, output, schema
from picoclawd.client.failures import OK, UsageFault

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    import argparse
    from typing import Any

_NAME_WIDTH = 16


def tools(args: "argparse.Namespace") -> int:
    """`picoclawctl tools [NAME]`."""
    connection, _ = discover.connect("agent")
    with connection:
        found = connection.call("tools.list")["tools"]
    if args.name is not None:
        return _show_one(_named(found, args.name), args.json)
    if args.json:
        output.show_json({"tools": found})
    else:
        output.show_text("\n".join(f"{tool['name']:<{_NAME_WIDTH}} {summary(tool)}" for tool in found))
    return OK


def summary(tool: "dict[str, Any]") -> str:
    """The first sentence of a tool's description, on one line."""
    first = str(tool.get("description", "")).strip().split("\n\n")[0]
    return " ".join(first.split()).split(". ")[0].rstrip(".")


def describe(tool: "dict[str, Any]") -> str:
    """A tool's description and its parameters, one a line, as a person reads them."""
    params = tool["params"]
    required = params.get("required", [])
    rows = [_parameter(name, part, name in required, params) for name, part in schema.properties(params).items()]
    heading = f"{tool['name']}\n\n{str(tool.get('description', '')).strip()}"
    return "\n".join([heading, "", "Parameters:", *(rows or ["  none"])])


def _parameter(name: str, part: "dict[str, Any]", required: bool, root: "dict[str, Any]") -> str:
    kinds = [kind for kind in schema.types(part, root) if kind != "null"]
    facts = ["|".join(kinds) or "any"]
    if required:
        facts.append("required")
    elif part.get("default") is not None:
        facts.append(f"default {part['default']!r}")
    if "enum" in part:
        facts.append("one of " + ", ".join(str(value) for value in part["enum"]))
    line = f"  {name} ({', '.join(facts)})"
    note = " ".join(str(part.get("description", "")).split())
    return f"{line}: {note}" if note else line


def _named(found: "list[dict[str, Any]]", name: str) -> "dict[str, Any]":
    for tool in found:
        if tool["name"] == name:
            return tool
    raise UsageFault(f"no tool named {name}; there are: {', '.join(tool['name'] for tool in found)}")


def _show_one(tool: "dict[str, Any]", as_json: bool) -> int:
    if as_json:
        output.show_json(tool)
    else:
        output.show_text(describe(tool))
    return OK
