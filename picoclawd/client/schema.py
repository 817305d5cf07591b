"""Read a tool's JSON Schema as far as a command line needs it: which properties, of which types."""

import json

TYPE_CHECKING = False  # see failures.py
if TYPE_CHECKING:
    from typing import Any

_REFS_MAX = 16  # a chain of local references longer than this is a circle


def properties(schema: "dict[str, Any]") -> "dict[str, dict[str, Any]]":
    """The properties of an object schema, each with its own local `$ref` followed."""
    return {name: follow(part, schema) for name, part in schema.get("properties", {}).items()}


def types(part: "dict[str, Any]", root: "dict[str, Any]") -> list[str]:
    """The JSON types that a property takes, in the schema's order; empty where it says nothing."""
    part = follow(part, root)
    found: list[str] = []
    named = part.get("type", [])
    for name in [named] if isinstance(named, str) else named:
        found.append(name)
    for branch in [*part.get("anyOf", []), *part.get("oneOf", [])]:
        found.extend(types(branch, root))
    if not found and "enum" in part:
        found.extend("string" for value in part["enum"][:1] if isinstance(value, str))
    return list(dict.fromkeys(found))


def from_text(text: str, kinds: list[str]) -> "Any":
    """The value that `text` means where a property takes `kinds`; the text itself where it fits none.

    A property that takes a string gets the text unchanged. What does not convert is left to the daemon, whose
    message names the property and what it takes.
    """
    if "string" in kinds or not kinds:
        return text
    if "boolean" in kinds and text in ("true", "false"):
        return text == "true"
    if "null" in kinds and text == "null":
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if _kind(value) in kinds or ("number" in kinds and _kind(value) == "integer") else text


def follow(part: "dict[str, Any]", root: "dict[str, Any]") -> "dict[str, Any]":
    """A part of a schema with its local `$ref` followed."""
    for _ in range(_REFS_MAX):
        ref = part.get("$ref")
        if not isinstance(ref, str) or not ref.startswith("#/"):
            return part
        target: Any = root
        for step in ref[2:].split("/"):
            target = target.get(step, {}) if isinstance(target, dict) else {}
        part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
    return part


def _kind(value: "Any") -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")
