from typing import Any

import pytest

from picoclawd.client import schema


def test_properties_follow_their_references() -> None:
    root = {
        "properties": {"mode": {"$ref": "#/$defs/Mode", "default": "a"}},
        "$defs": {"Mode": {"enum": ["a", "b"]}},
    }
    assert schema.properties(root) == {"mode": {"enum": ["a", "b"], "default": "a"}}


def test_a_circle_of_references_ends() -> None:
    root: dict[str, Any] = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}
    assert schema.types(schema.properties(root)["a"], root) == []


def test_a_reference_to_nothing_says_nothing() -> None:
    root: dict[str, Any] = {"properties": {"a": {"$ref": "#/$defs/Gone"}}}
    assert schema.properties(root) == {"a": {}}


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        ({"type": "integer"}, ["integer"]),
        ({"type": ["integer", "null"]}, ["integer", "null"]),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, ["boolean", "null"]),
        ({"oneOf": [{"type": "array"}, {"type": "string"}]}, ["array", "string"]),
        ({"enum": ["a"]}, ["string"]),
        ({"enum": [1]}, []),
        ({}, []),
    ],
)
def test_the_types_of_a_property(part: dict[str, Any], kinds: list[str]) -> None:
    assert schema.types(part, {}) == kinds


@pytest.mark.parametrize(
    ("text", "kinds", "value"),
    [
        ("12", ["integer"], 12),
        ("-3", ["integer", "null"], -3),
        ("12", ["string"], "12"),
        ("12", ["integer", "string"], "12"),
        ("12", [], "12"),
        ("12", ["number"], 12),
        ("1.5", ["number"], 1.5),
        ("1.5", ["integer"], "1.5"),
        ("true", ["boolean"], True),
        ("false", ["boolean", "null"], False),
        ("true", ["integer"], "true"),
        ("1", ["boolean"], "1"),
        ("yes", ["boolean"], "yes"),
        ("null", ["integer", "null"], None),
        ("null", ["integer"], "null"),
        ('["a"]', ["array"], ["a"]),
        ('{"a": 1}', ["object"], {"a": 1}),
        ("a,b", ["array"], "a,b"),
        ("", ["integer"], ""),
    ],
)
def test_a_text_becomes_what_the_schema_asks_for(text: str, kinds: list[str], value: Any) -> None:
    found = schema.from_text(text, kinds)
    assert found == value
    assert type(found) is type(value)
