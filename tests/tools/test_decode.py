"""Parameters are bent only where models err, and what is wrong is named by its place."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from picoclawd.errors import Fault, Slug
from picoclawd.tools._decode import decode


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
