"""What a client learns of the tools is complete: schemas that refer to nothing outside of themselves."""

import json
import re
from typing import Any

import msgspec
import pytest

from picoclawd.errors import Slug
from picoclawd.rpc.describe import describe_tools, openrpc, schema_of
from picoclawd.tools._call import Toolbox
from picoclawd.tools._registry import discover

TOOLBOX = Toolbox({name: (tool, tool.settings()) for name, tool in discover().items()})


class Inner(msgspec.Struct):
    n: int


class Outer(msgspec.Struct):
    inner: Inner
    text: str = ""


def references(schema: Any) -> set[str]:
    return set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(schema)))


def assert_whole(schema: dict[str, Any]) -> None:
    for reference in references(schema):
        found = re.fullmatch(r"#/\$defs/(\w+)", reference)
        assert found is not None and found[1] in schema["$defs"], reference


def test_a_schema_carries_what_it_refers_to() -> None:
    schema = schema_of(Outer)
    assert schema["required"] == ["inner"]
    assert schema["properties"]["inner"] == {"$ref": "#/$defs/Inner"}
    assert schema["$defs"]["Inner"]["properties"]["n"] == {"type": "integer"}
    assert "$defs" not in schema_of(Inner)


@pytest.mark.parametrize("row", describe_tools(TOOLBOX), ids=lambda row: str(row["name"]))
def test_every_tool_is_described_wholly(row: dict[str, Any]) -> None:
    assert row["title"] and row["description"]
    for part in ("params", "data"):
        assert row[part]["type"] == "object"
        assert_whole(row[part])
    assert set(row["hints"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


def test_openrpc_names_every_method_once_and_every_error() -> None:
    document = openrpc(TOOLBOX, [("ping", "Answer.", Inner), ("aaa", "First.", Outer)], "1.2.3")
    names = [method["name"] for method in document["methods"]]
    assert names == sorted([*TOOLBOX.names, "ping", "aaa"])
    assert document["info"]["version"] == "1.2.3"
    assert set(document["components"]["errors"]) == {slug.value for slug in Slug}
    for method in document["methods"]:
        for param in method["params"]:
            assert_whole(param["schema"])
    (first,) = (method for method in document["methods"] if method["name"] == "aaa")
    assert [(param["name"], param["required"]) for param in first["params"]] == [("inner", True), ("text", False)]
