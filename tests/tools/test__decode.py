"""Parameters as they come in, made into a tool's Struct."""

from typing import Any

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.rpc.door import ROWS
from picoclawd.tools import _registry
from picoclawd.tools._decode import decode
from picoclawd.tools.read_file import Params

STRUCTS = {name: tool.params for name, tool in _registry.discover().items()} | {row.name: row.params for row in ROWS}


@pytest.mark.parametrize("name", STRUCTS)
def test_a_parameter_that_there_is_not_is_refused_before_anything_else(name: str) -> None:
    raw: dict[str, Any] = {key: [[]] for key in STRUCTS[name].__struct_encode_fields__} | {"nonsense": 1}
    with pytest.raises(Fault) as caught:
        decode(name, STRUCTS[name], raw)
    assert (caught.value.slug, caught.value.data["path"]) == (Slug.INVALID_PARAMS, "$.nonsense")
    with pytest.raises(Fault, match="nonsense"):
        decode(name, STRUCTS[name], {"nonsense": 1})


def test_a_near_miss_is_told() -> None:
    with pytest.raises(Fault, match="Did you mean `offset`"):
        decode("read_file", Params, {"path": "a", "ofset": 1})


@pytest.mark.parametrize("given", [5, 5.0, "5"])
def test_an_integer_may_come_as_a_float_or_a_string(given: object) -> None:
    assert decode("read_file", Params, {"path": "a", "offset": given}) == Params(path="a", offset=5)


@pytest.mark.parametrize("given", [True, 5.5, "5.0", "1e3", None])
def test_nothing_else_becomes_an_integer(given: object) -> None:
    with pytest.raises(Fault) as caught:
        decode("read_file", Params, {"path": "a", "offset": given})
    assert caught.value.data["path"] == "$.offset"


def test_path_bytes_stand_in_for_the_path() -> None:
    assert decode("read_file", Params, {"path_bytes": "a"}) == Params(path="", path_bytes="a")
