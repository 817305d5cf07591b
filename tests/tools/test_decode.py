"""Parameters are bent only where models err, and what is wrong is named by its place."""

from contextlib import suppress
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, Slug
from picoclawd.tools import _registry
from picoclawd.tools._decode import decode
from picoclawd.tools._spec import AnyTool


class Item(msgspec.Struct, forbid_unknown_fields=True):
    line: int
    on: bool = False


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    path: str
    path_bytes: str | UnsetType = UNSET
    limit: Annotated[int, msgspec.Meta(ge=1)] = 5
    deep: bool | UnsetType = UNSET
    items: list[Item] = []
    text: str = ""
    either: int | str = 0


def decoded(**raw: Any) -> Params:
    return decode("tool", Params, {"path": "a", **raw})


@pytest.mark.parametrize(
    ("raw", "field", "value"),
    [
        ({"limit": 7}, "limit", 7),
        ({"limit": 7.0}, "limit", 7),
        ({"limit": "7"}, "limit", 7),
        ({"deep": "true"}, "deep", True),
        ({"deep": "false"}, "deep", False),
        ({"items": [{"line": "3", "on": "true"}, {"line": 4.0}]}, "items", [Item(3, True), Item(4)]),
        ({"text": "7"}, "text", "7"),
        ({"text": "true"}, "text", "true"),
    ],
)
def test_numbers_and_truth_may_come_as_models_write_them(raw: dict[str, Any], field: str, value: object) -> None:
    assert getattr(decoded(**raw), field) == value


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ({"limit": 0}, "$.limit"),
        ({"limit": 7.5}, "$.limit"),
        ({"limit": "seven"}, "$.limit"),
        ({"limit": "9" * 30}, "$.limit"),
        ({"limit": True}, "$.limit"),
        ({"limit": None}, "$.limit"),
        ({"limit": 2**53}, "$.limit"),
        ({"limit": -(2**64)}, "$.limit"),
        ({"limit": 1e40}, "$.limit"),
        ({"limit": str(2**53)}, "$.limit"),
        ({"items": [{"line": 1}, {"line": 2**63}]}, "$.items[1].line"),
        ({"deep": "yes"}, "$.deep"),
        ({"deep": 1}, "$.deep"),
        ({"text": 7}, "$.text"),
        ({"items": [{"line": 1}, {"line": "x"}]}, "$.items[1].line"),
        ({"items": [{}]}, "$.items[0]"),
        ({"items": {"line": 1}}, "$.items"),
        ({"path": 7}, "$.path"),
    ],
)
def test_nothing_else_is_bent_and_the_place_is_named(raw: dict[str, Any], path: str) -> None:
    with pytest.raises(Fault) as caught:
        decoded(**raw)
    assert caught.value.slug is Slug.INVALID_PARAMS
    assert caught.value.data["path"] == path
    assert caught.value.message.startswith("tool: `")


def test_a_number_that_no_system_call_takes_is_refused_before_it_gets_there() -> None:
    assert decoded(limit=2**53 - 1).limit == 2**53 - 1
    with pytest.raises(Fault) as caught:
        decoded(limit=2**53)
    assert caught.value.message == "tool: `limit`: at most 9007199254740991, and no less than its negative."


@pytest.mark.parametrize("tool", _registry.discover().values(), ids=lambda tool: tool.name)
@pytest.mark.parametrize("value", [None, {}, [], [[]], [{}], [None], 1.5, -1, 2**64, True, "", "x"], ids=repr)
def test_no_check_of_a_tool_stumbles_over_a_value_of_any_type(tool: AnyTool, value: object) -> None:
    """`edit_file` with an object for its `mode` was a bug: what is checked before it is decoded may be anything."""
    for name in tool.params.__struct_encode_fields__:
        for rest in ({}, dict.fromkeys(tool.params.__struct_encode_fields__, "x"), {"path": "x", "content": "x"}):
            raw = {**rest, name: value}
            with suppress(Fault):
                tool.check(tool.settings(), raw)
            with suppress(Fault):
                decode(tool.name, tool.params, raw)


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(Fault) as caught:
        decode("tool", Params, {})
    assert caught.value.data["path"] == "$.path"


def test_path_bytes_stand_in_for_the_path() -> None:
    found = decode("tool", Params, {"path_bytes": "caf%E9"})
    assert (found.path, found.path_bytes) == ("", "caf%E9")


def test_an_unknown_parameter_is_refused_with_what_may_be_meant() -> None:
    with pytest.raises(Fault) as caught:
        decoded(limits=3)
    assert "no parameter `limits`. Did you mean `limit`? It takes: path, path_bytes, limit," in caught.value.message
    with pytest.raises(Fault) as caught:
        decoded(**{"z" * 1000: 3})
    assert "Did you mean" not in caught.value.message
    assert len(caught.value.message) < 300
