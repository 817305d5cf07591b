"""What a client can learn of the methods: `tools.list`, and the OpenRPC document of `rpc.discover`."""

from collections.abc import Iterable
from typing import Any

import msgspec

from picoclawd.errors import CODES
from picoclawd.tools._call import Toolbox
from picoclawd.tools._spec import AnyTool

_WRITES_FOR_PEOPLE = "edit_file"
OPENRPC_VERSION = "1.3.2"  # spec.open-rpc.org


def schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a Struct, with what it refers to inlined under `$defs`."""
    (schema,), definitions = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    if not definitions:
        return schema
    own = definitions.pop(struct.__name__, schema)
    return {**own, "$defs": definitions} if definitions else own


def describe_tool(tool: AnyTool) -> dict[str, Any]:
    """One row of `tools.list`."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "params": schema_of(tool.params),
        "data": schema_of(tool.data),
        "hints": tool.hints.as_json(),
    }


def describe_tools(toolbox: Toolbox, output_dir: str | None = None) -> list[dict[str, Any]]:
    """All tools that are switched on, by name. `output_dir` is where files for the person go."""
    described = [describe_tool(tool) for tool, _settings in toolbox.entries.values()]
    for row in described:
        if output_dir is not None and row["name"] == _WRITES_FOR_PEOPLE:
            row["description"] += (
                f"\nA file made for the person, with no place asked for, goes to {output_dir}: give its full path."
            )
    return described


def openrpc(toolbox: Toolbox, methods: Iterable[tuple[str, str, type[msgspec.Struct]]], version: str) -> dict[str, Any]:
    """The OpenRPC document. `methods` are those beside the tools: name, summary, parameters."""
    described = [_method(tool.name, tool.title, tool.params) for tool, _settings in toolbox.entries.values()]
    described += [_method(name, summary, params) for name, summary, params in methods]
    return {
        "openrpc": OPENRPC_VERSION,
        "info": {"title": "picoclawd", "version": version},
        "methods": sorted(described, key=lambda method: str(method["name"])),
        "components": {
            "errors": {slug.value: {"code": code, "message": slug.value} for slug, code in CODES.items()},
        },
    }


def _method(name: str, summary: str, params: type[msgspec.Struct]) -> dict[str, Any]:
    schema = schema_of(params)
    required = schema.get("required", [])
    shared = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    return {
        "name": name,
        "summary": summary,
        "paramStructure": "either",
        "params": [
            {"name": key, "required": key in required, "schema": {**value, **shared}}
            for key, value in schema.get("properties", {}).items()
        ],
        "result": {"name": "result", "schema": {"type": "object"}},
    }
